"""Positions of an epoch in evidence, and those that it does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import sgverify
from sgverify.errors import ConfigurationError
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


def test_order_two_returns_under_reshuffling_and_is_lost_to_fresh_minibatches() -> None:
    def order(kind: str) -> object:
        config = of("sghmc-aboba", draw(4, 1, seed=7), kind, 1, "theta**2").configuration
        return sgverify.rate("sghmc-aboba", quantity="stationary-bias", config=config).found.exponent

    assert [order(kind) for kind in ("reshuffle", "full", "without-replacement")] == [2, 2, 1]
