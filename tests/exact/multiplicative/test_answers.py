"""Bias and mean square error against every sequence of minibatches and noise nodes, run through the definition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sgverify.checks.subject import Subject
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import MomentAnswers, QuadraticAnswers, answers_for
from tests.exact.enumeration import enumerate_runs
from tests.exact.multiplicative.models import draw, find, subject

STEP = 0.0625
RELATIVE = 1e-12
"""Rounding of the brute force: up to 1e6 terms of one sign in float64."""

PHI: dict[tuple[int, int], str] = {
    (1, 1): "theta**2 - 3*theta + 2",
    (1, 2): "theta**2 + theta*p",
    (2, 1): "theta[0]*theta[1] + theta[1]**2",
    (2, 2): "theta[0]*theta[1] - p[1]",
    (3, 1): "theta[0]*theta[2] + theta[1]",
    (3, 2): "theta[0]**2 + p[0]*theta[2]",
}
CASES = [
    ("sgld-euler", 1, 3, 3),
    ("sgld-euler", 2, 3, 2),
    ("sgld-euler", 3, 2, 1),
    ("heun", 1, 3, 2),
    ("heun", 2, 2, 1),
    ("fresh-heun", 1, 2, 2),
    ("bent", 1, 3, 2),
    ("fresh-heun", 2, 2, 1),
    ("sghmc-euler", 1, 3, 2),
    ("sghmc-euler-explicit", 1, 3, 2),
    ("sghmc-aboba", 1, 3, 3),
    ("sghmc-aboba", 2, 3, 2),
    ("sghmc-chen-boaob", 1, 3, 2),
    ("sghmc-baoab", 1, 3, 3),
    ("sghmc-baoab", 2, 2, 2),
    ("sghmc-obabo", 1, 2, 1),
]


def case(name: str, dim: int, size: int, kind: str, batch: int = 2, **gradient: Any) -> Subject:
    phi = PHI[dim, len(find(name).state)]
    gradient = {"kind": kind, "batch": min(batch, size - 1), **gradient}
    more = {"gradient": gradient, "schedule": {"step": STEP}}
    return subject(name, draw(size, dim, seed=dim), kind, batch, phi, **more)


@pytest.mark.parametrize("kind", ["iid", "without-replacement"])
@pytest.mark.parametrize(("name", "dim", "size", "length"), CASES)
def test_bias_and_mean_square_error_equal_those_of_every_sequence(
    name: str, dim: int, size: int, length: int, kind: str
) -> None:
    agrees(case(name, dim, size, kind), length)


def test_a_scaled_likelihood_is_scaled_in_every_minibatch() -> None:
    agrees(case("sghmc-aboba", 1, 3, "iid", scale=0.5), 2)


def agrees(found: Subject, length: int) -> None:
    answers, due = answers_for(found.model), enumerate_runs(found, length, float)
    assert isinstance(answers, MomentAnswers)
    bias, error = (ask(fixed_step(STEP), length) for ask in (answers.bias, answers.mean_square_error))
    truth = abs(float(found.truth))
    assert bias.value == pytest.approx(due.sums[-1] / length, rel=RELATIVE, abs=RELATIVE * truth)
    assert error.value == pytest.approx(due.squares[-1] / length**2, rel=RELATIVE, abs=RELATIVE * truth**2)
    assert error.relative_error <= 1e-6 and bias.relative_error <= 1e-6


def mutated(found: Subject, mutation: str) -> Subject:
    """The subject with a planted bug in the law of its noise."""
    noise = found.noise
    assert noise.minibatch is not None
    law = noise.minibatch
    bugs = {
        "additive": replace(noise, minibatch=None),
        "replacement swapped": replace(noise, minibatch=replace(law, replaced=not law.replaced, _known={})),
        "not divided by the batch": replace(noise, minibatch=replace(law, batch=1, _known={})),
        "prior counted by datum": replace(
            noise, minibatch=replace(law, offset=[v * len(law.vectors) for v in law.offset], _known={})
        ),
    }
    vars(found)["noise"] = bugs[mutation]
    vars(found).pop("model", None)
    return found


@pytest.mark.parametrize(
    "mutation", ["additive", "replacement swapped", "not divided by the batch", "prior counted by datum"]
)
@pytest.mark.parametrize("kind", ["iid", "without-replacement"])
def test_the_brute_force_catches_a_wrong_law_of_the_minibatch(mutation: str, kind: str) -> None:
    found = case("sghmc-aboba", 1, 3, kind)
    square = enumerate_runs(found, 2, float).squares[1] / 4
    answers = answers_for(mutated(found, mutation).model)
    assert abs(answers.mean_square_error(fixed_step(STEP), 2).value - square) > 1e-6 * square


def test_the_noise_taken_as_additive_is_another_engine() -> None:
    found = mutated(case("sghmc-aboba", 1, 3, "iid"), "additive")
    assert isinstance(answers_for(found.model), QuadraticAnswers)
