"""Runs of replica exchange redone: correct ones conform, whatever the configuration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgverify.configuration import load_configuration
from sgverify.samplers.run import assembly
from sgverify.schemes import find_scheme
from sgverify.schemes.composites import COMPOSITES, ReplicaExchange
from sgverify.strategies import configurations, exchanges
from sgverify.subject.binding import make_subject
from sgverify.testing import examples
from tests.self_checks.exchange_run import check_exchange_run
from tests.self_checks.minibatches import BITS, bits_of, chains_needed
from tests.self_checks.registry import self_check

EXCHANGES = [name for name, item in COMPOSITES.items() if isinstance(item, ReplicaExchange)]


@pytest.mark.power  # 0.7 s
@settings(max_examples=examples(8), suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_no_alarm_on_a_correct_run_under_any_configuration(data: st.DataObject) -> None:
    composite = COMPOSITES[data.draw(st.sampled_from(EXCHANGES))]
    drawn = data.draw(configurations(scheme=composite.scheme, dtypes=("float64", "float32")))
    table = data.draw(exchanges()).model_dump(exclude_unset=True)
    subject = make_subject(composite, load_configuration(drawn, exchange=table))
    found = check_exchange_run(subject)
    assert found.verdict == "conforms", found.reason


@pytest.mark.parametrize("scheme", ["sgnht-euler", "sghmc-baoab", "psgld-0.9-0.1"])
@pytest.mark.parametrize("kind", ["saga", "reshuffle"])
def test_any_scheme_and_gradient_may_be_run(scheme: str, kind: str) -> None:
    mine = ReplicaExchange("mine", find_scheme(scheme), reduced=True, adaptive=True)
    given: dict[str, Any] = {
        "gradient": {"kind": kind, "batch": 2},
        "target": {"size": 12, "dim": 2},
        "exchange": {"ladder": [1, 2, 3, 5, 8, 13, 21], "intensity": 0.5, "momentum": "kept"},
        "temperature": 0.6,
    }
    found = check_exchange_run(make_subject(mine, load_configuration(**given)))
    assert found.verdict == "conforms", found.reason


def test_chains_are_as_many_as_tell_minibatches_apart() -> None:
    assert bits_of(4, 2) == pytest.approx(2.584962500721156)
    assert chains_needed(2, 1, 4) * bits_of(2, 1) >= BITS
    # A subset of all data is always the same one.
    assert chains_needed(5, 5, 4) == 4


@pytest.mark.parametrize("start", [[2.0, -1.5], 2.0])
def test_replicas_that_start_elsewhere_than_they_are_told_are_seen(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = make_subject("vr-resgld", load_configuration(start=start, gradient={"kind": "iid"}))
    assert check_exchange_run(subject).verdict == "conforms"
    wrong = [[2.0], [2.0]] if isinstance(start, list) else [[2.0], [-2.0]]
    monkeypatch.setattr(assembly, "starts_of", lambda start, rows, hooks: np.array(wrong))
    found = check_exchange_run(subject)
    assert found.verdict == "violates" and "replica 1 starts at" in found.reason


def test_the_scheme_of_replicas_is_judged_where_the_coldest_starts() -> None:
    subject = make_subject("vr-resgld", load_configuration(start=[1.5, -2.0]))
    whole, alone = subject.parts
    assert whole.configuration.start == [1.5, -2.0] and whole.model.start == alone.model.start == 1.5
    assert alone.configuration.start == 1.5


def test_weights_that_adapt_are_no_replicas() -> None:
    found = self_check("exchange-run", "awsgld")
    assert found.verdict == "not-applicable"


def test_chains_that_diverge_settle_nothing() -> None:
    found = self_check(
        "exchange-run", "resgld", target={"name": "double-well"}, schedule={"step": 1e6}, start=9000.0
    )
    assert found.verdict == "inconclusive" and "diverge" in found.reason
