"""The verdict of a run: its word is that of the worst finding, and it stands wherever the draws do."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import sgverify
from sgverify.advice.plans import costs
from sgverify.configuration import load_configuration
from sgverify.draws import Sampling

LOGISTIC = {"target.name": "logistic-regression", "target.dim": 2, "target.size": 32, "chains": 4}


def verdict(scheme: str = "sgld-euler", **settings: Any) -> dict[str, Any]:
    draws = sgverify.sample(scheme, {**LOGISTIC, **settings})
    assert draws.posterior.attrs["verdict"] == draws.attrs["verdict"]
    found: dict[str, Any] = json.loads(draws.attrs["verdict_json"])
    return found


def test_a_run_of_a_plan_is_to_be_trusted_and_a_short_one_is_not() -> None:
    found = verdict("sghmc-baoab", steps=3000)
    assert found["word"] == "TRUST" and found["next"] == "" and found["ess"] > 400 and found["width"] < 0.05
    # The slowest direction forgets in about as many steps as these.
    short = verdict("sghmc-baoab", steps=20, **{"schedule.step": 0.002})
    assert short["word"] == "DO NOT TRUST" and "forgets its start" in short["reason"]
    # Its remedy is long enough.
    steps = int(short["next"].split("steps=")[1].split()[0])
    assert steps > 1000


@pytest.mark.parametrize(("step", "word"), [(0.01, "TRUST"), (0.03, "CHECK"), (0.04, "DO NOT TRUST")])
def test_the_word_follows_the_predicted_width(step: float, word: str) -> None:
    found = verdict(steps=6000, burn_in=500, **{"schedule.step": step})
    share = found["width"]
    assert found["word"] == word
    assert (share <= 0.05, 0.05 < share <= 0.2, share > 0.2) == tuple(
        word == w for w in ("TRUST", "CHECK", "DO NOT TRUST")
    )


def test_chains_that_disagree_are_not_trusted_and_what_is_unknown_is_to_be_checked() -> None:
    # Two wells a barrier of 8 apart, in two coordinates: no chain crosses, and all of them agree.
    apart = {
        "target.name": "mixture",
        "target.means": [[-4.0, 0.0], [4.0, 0.0]],
        "chains": 2,
        "steps": 4000,
        "schedule.step": 0.05,
    }
    draws = sgverify.sample("sgld-euler", apart)
    assert draws.attrs["verdict"].startswith("CHECK: the widths of the draws are not predicted")
    assert "another mode" in draws.attrs["verdict"] or "far from Gaussian" in draws.attrs["verdict"]
    # Moved apart, they do not.
    draws.posterior["theta"][0] += 3.0
    judged = Sampling.of("sgld-euler", load_configuration(apart)).judged(draws)
    assert judged["verdict"].startswith("DO NOT TRUST: R-hat is ")


def test_too_few_independent_draws_are_to_be_checked_and_bad_scales_are_what_takes_many() -> None:
    few = verdict("sghmc-baoab", steps=60)
    assert few["word"] == "CHECK" and few["ess"] < 400 and "fewer than 400" in few["reason"]
    assert int(few["next"].split("steps=")[1].split()[0]) > 60
    scales = {"target.name": "gaussian", "target.precision": [1.0, 1e6], "target.names": ["slope", "level"]}
    draws = sgverify.sample("sgld-euler", {**scales, "chains": 4, "steps": 200, "schedule.step": 1e-7})
    assert list(draws.posterior.coordinate.values) == ["slope", "level"]
    assert (
        draws.attrs["verdict"].startswith("DO NOT TRUST") and "target.whiten=true" in draws.attrs["verdict"]
    )


def test_more_chains_than_a_plan_tried_start_where_they_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = costs.first_steps

    def steep(subject: Any, steps: int) -> tuple[str | None, float]:
        c = subject.configuration
        return ("one diverges", 0.0) if c.chains > 40 and c.start_of() else tried(subject, steps)

    monkeypatch.setattr(costs, "first_steps", steep)
    for chains, start in ((50, 0.0), (4, None)):
        sampling = Sampling.of("sghmc-baoab", load_configuration({**LOGISTIC, "chains": chains}))
        assert sampling.choice is not None and sampling.choice.settings.get("start") == start


def test_draws_that_are_not_what_was_predicted_are_not_trusted() -> None:
    sampling = Sampling.of(
        "sghmc-baoab", load_configuration({**LOGISTIC, "steps": 3000, "schedule.step": 0.3, "burn_in": 100})
    )
    draws = sampling.draw()
    assert draws.attrs["verdict"].startswith("TRUST")
    centre = draws.posterior.theta.mean(("chain", "draw"))
    draws.posterior["theta"] = centre + 1.4 * (draws.posterior.theta - centre)
    again = sampling.judged(draws)["verdict"]
    assert again.startswith("DO NOT TRUST: theta[") and "is under exp(-U/T)" in again
    assert np.isfinite(draws.posterior.theta).all()
