"""Positions of an epoch in evidence, and those that it does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import sgverify
from sgverify.errors import ConfigurationError
from sgverify.evidence import Evidence
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import answers_for
from sgverify.subject.subject import Subject
from tests.zoo.regressions import draw, subject, table

STEP = 0.125


def of(name: str, data: Any, kind: str, batch: int, phi: str) -> Subject:
    """A regression, or the mean of a Gaussian where every covariate is 1: then all Hessians are one."""
    if any(row[0] != 1.0 for row in data):
        return subject(name, data, kind, batch, phi)
    target = {
        **table(data),
        "name": "gaussian-mean",
        "data": [row[1] for row in data],
        "prior_precision": 1.5,
    }
    return subject(name, data, kind, batch, phi, target=target)


def common(size: int) -> list[list[float]]:
    """Data of one Hessian: the covariate is always 1."""
    return [[1.0, row[1]] for row in draw(size, 1, seed=3)]


@pytest.mark.parametrize(
    "read", [lambda a: a.expansion_at, lambda a: lambda k: a.stationary_bias(fixed_step(STEP), k)]
)
@pytest.mark.parametrize("position", [0, 5, True])
def test_a_position_that_the_epoch_does_not_have_is_refused(
    read: Callable[[Any], Any], position: int
) -> None:
    for data in (common(4), draw(4, 1, seed=7)):
        answers = answers_for(of("sgld-euler", data, "reshuffle", 1, "theta**2").model)
        with pytest.raises(ConfigurationError, match="from 1 to 4"):
            read(answers)(position)


@pytest.mark.by_default("data0-1")
@pytest.mark.parametrize(("data", "batch"), [(common(20), 1), (draw(4, 1, seed=7), 1)])
def test_evidence_shows_every_position_and_the_crossover(data: Any, batch: int) -> None:
    """Far below the crossover the noise's share falls as it is expanded; there fresh minibatches have one in h."""

    def asked(quantity: Any, kind: str) -> Evidence:
        config = of("sghmc-aboba", data, kind, batch, "theta**2").configuration
        return sgverify.rate("sghmc-aboba", quantity=quantity, config=config)

    evidence, steps = asked("stationary-bias", "reshuffle"), len(data) // batch
    certificate = evidence.certificate
    shown = certificate["stationary_bias_by_position"]
    assert next(iter(shown)) == "1" and list(shown)[-1] == str(steps)
    assert all(texts["h^1"] == "0" and texts["h^2"] != "0" for texts in shown.values())
    assert set(certificate["stationary_bias_at_positions"]) == {
        f"h={point.step:.6g}" for point in (evidence.points[0], evidence.points[-1])
    }
    crossover = certificate["crossover"]
    order = int(crossover["share_of_the_noise_below"][-1])
    assert order >= 2 and next(iter(crossover["local_exponents"].values())) == pytest.approx(order, abs=0.2)
    assert asked("stationary-bias", "without-replacement").found.exponent == 1
    assert asked("stationary-bias", "full").found.exponent == evidence.found.exponent == 2
    above, below = (
        abs(float(crossover[f"share_of_the_noise_{side}"].split()[0])) for side in ("above", "below")
    )
    assert above * crossover["step"] == pytest.approx(below * crossover["step"] ** order, rel=1e-4)
    covariance = asked("covariance", "reshuffle").certificate
    assert {item["order"] for item in covariance["leading_by_position"].values()} == {2}


def test_terms_that_meet_beyond_the_stability_limit_tell_of_no_crossover() -> None:
    evidence = sgverify.rate(
        "sghmc-aboba",
        quantity="stationary-bias",
        target={"name": "linear-regression", "size": 6},
        gradient={"kind": "reshuffle", "batch": 2},
    )
    crossover = evidence.certificate["crossover"]
    assert crossover["step"] is None and "beyond the stability limit" in crossover["why"]
