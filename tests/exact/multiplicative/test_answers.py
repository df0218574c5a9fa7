"""Bias and mean square error against every sequence of minibatches and noise nodes, run through the definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sgverify.checks.questions import make_subject
from sgverify.checks.subject import Subject
from sgverify.configuration import load_configuration
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import MomentAnswers, QuadraticAnswers, answers_for
from tests.exact.multiplicative.enumeration import averages
from tests.exact.multiplicative.models import FRICTION, TEMPERATURE, draw, find, regression, subject

STEP = 0.0625
RELATIVE = 1e-12
"""Rounding of the brute force: up to 1e6 terms of one sign in float64."""

PHI: dict[tuple[int, int], tuple[str, Callable[..., Any]]] = {
    (1, 1): ("theta**2 - 3*theta + 2", lambda t: t[:, 0] ** 2 - 3 * t[:, 0] + 2),
    (1, 2): ("theta**2 + theta*p", lambda t, p: t[:, 0] ** 2 + t[:, 0] * p[:, 0]),
    (2, 1): ("theta[0]*theta[1] + theta[1]**2", lambda t: t[:, 0] * t[:, 1] + t[:, 1] ** 2),
    (2, 2): ("theta[0]*theta[1] - p[1]", lambda t, p: t[:, 0] * t[:, 1] - p[:, 1]),
    (3, 1): ("theta[0]*theta[2] + theta[1]", lambda t: t[:, 0] * t[:, 2] + t[:, 1]),
    (3, 2): ("theta[0]**2 + p[0]*theta[2]", lambda t, p: t[:, 0] ** 2 + p[:, 0] * t[:, 2]),
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


def brute_force(found: Subject, kind: str, length: int, degree: int) -> tuple[float, float]:
    """E phi_hat and E phi_hat^2."""
    data, dim = found.configuration.target.data, found.target.dim
    assert data is not None
    start = found.model.start_law()[0].entries()
    place = [
        np.array([float(v.mid()) for v in start[k * dim : (k + 1) * dim]])
        for k in range(len(found.scheme.state))
    ]
    return averages(
        found.scheme,
        regression(data),  # type: ignore[arg-type]
        kind,
        found.configuration.gradient.batch,
        tuple(place),
        PHI[dim, len(found.scheme.state)][1],
        length,
        degree=degree,
        h=STEP,
        T=TEMPERATURE,
        D=FRICTION,
    )


def case(name: str, dim: int, size: int, kind: str, batch: int = 2) -> Subject:
    phi = PHI[dim, len(find(name).state)][0]
    return subject(name, draw(size, dim, seed=dim), kind, min(batch, size - 1), phi)


@pytest.mark.parametrize("kind", ["iid", "without-replacement"])
@pytest.mark.parametrize(("name", "dim", "size", "length"), CASES)
def test_bias_and_mean_square_error_equal_those_of_every_sequence(
    name: str, dim: int, size: int, length: int, kind: str
) -> None:
    found = case(name, dim, size, kind)
    answers = answers_for(found.model)
    assert isinstance(answers, MomentAnswers)
    mean, square = brute_force(found, kind, length, degree=4)
    truth = float(found.truth)
    bias = answers.bias(fixed_step(STEP), length)
    assert bias.value == pytest.approx(mean - truth, rel=RELATIVE, abs=RELATIVE * abs(mean))
    error = answers.mean_square_error(fixed_step(STEP), length)
    assert error.value == pytest.approx(
        square - 2 * truth * mean + truth**2, rel=RELATIVE, abs=RELATIVE * square
    )
    assert error.relative_error <= 1e-6 and bias.relative_error <= 1e-6


def test_a_scaled_likelihood_is_scaled_in_every_minibatch() -> None:
    scale, data = 0.5, draw(3, 1, seed=1)
    settings = {"kind": "iid", "batch": 2, "scale": scale}
    plain = subject("sghmc-aboba", data, "iid", 2, PHI[1, 2][0])
    tree = {**plain.configuration.model_dump(exclude_unset=True), "gradient": settings}
    found = make_subject(find("sghmc-aboba"), load_configuration(tree))
    oracle = regression(data)
    oracle.hessians, oracle.gradients = scale * oracle.hessians, scale * oracle.gradients
    start = [np.array([float(v.mid())]) for v in found.model.start_law()[0].entries()]
    given = {"h": STEP, "T": TEMPERATURE, "D": FRICTION}
    mean, _ = averages(found.scheme, oracle, "iid", 2, tuple(start), PHI[1, 2][1], 2, degree=2, **given)
    bias = answers_for(found.model).bias(fixed_step(STEP), 2)
    assert bias.value == pytest.approx(mean - float(found.truth), rel=1e-11)


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
    mean, square = brute_force(found, kind, 2, degree=4)
    answers = answers_for(mutated(found, mutation).model)
    truth = float(found.truth)
    error = answers.mean_square_error(fixed_step(STEP), 2).value
    assert abs(error - (square - 2 * truth * mean + truth**2)) > 1e-6 * square


def test_the_noise_taken_as_additive_is_another_engine() -> None:
    found = mutated(case("sghmc-aboba", 1, 3, "iid"), "additive")
    assert isinstance(answers_for(found.model), QuadraticAnswers)
