"""Bounded draws in the exact laws: bias and mean square error against every path, whatever the gradients are."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sgverify.checks import Subject
from sgverify.configuration import load_configuration
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import MomentAnswers, answers_for
from sgverify.exact.invariant import InvariantLaw
from sgverify.schemes import NoiseLaw, Scheme, exp, find_scheme, kinetic, langevin, scheme, sqrt
from tests.exact.enumeration import enumerate_runs
from tests.exact.multiplicative.models import draw, table
from tests.properties.brute_force import Outcome, enumerate_paths

LINE = {"name": "gaussian", "precision": 1.5, "mean": 0.25}
PLANE = {"name": "gaussian", "dim": 2, "precision": [[2.0, 0.5], [0.5, 1.0]], "mean": [0.5, -0.25]}
DATA = {"name": "gaussian-mean", "size": 4}
LINES = {"name": "linear-regression", "size": 3}


@scheme(langevin)
def coin(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise.two_point()


@scheme(langevin)
def bounded(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise.three_point()


@scheme(kinetic)
def mixed(theta, p, *, h, grad, noise, D, T):
    p = (
        exp(-D * h) * p
        - h * grad(theta)
        + sqrt(2 * D * T * h) * (noise.two_point() + noise.three_point()) / sqrt(2)
    )
    return theta + h * p, p


CASES: list[tuple[Scheme, dict[str, Any], dict[str, Any], str, int]] = [
    (coin, LINE, {"kind": "full"}, "theta**2", 4),
    (coin, LINE, {"kind": "full"}, "theta**4 - theta**3", 4),
    (bounded, LINE, {"kind": "full"}, "theta**4 - theta**3", 4),
    (bounded, LINE, {"kind": "additive", "covariance": 0.5}, "theta**2", 3),
    (mixed, LINE, {"kind": "full"}, "theta**2 + theta*p", 3),
    (mixed, LINE, {"kind": "full"}, "theta**3 + theta*p**2", 3),
    (coin, PLANE, {"kind": "full"}, "theta[0]*theta[1] + theta[0]**2", 3),
    (mixed, PLANE, {"kind": "full"}, "theta[0]**2 + theta[1]", 2),
    (coin, DATA, {"kind": "iid", "batch": 2}, "theta**2", 2),
    (coin, DATA, {"kind": "without-replacement", "batch": 2}, "theta**4", 2),
    (mixed, DATA, {"kind": "without-replacement", "batch": 3}, "theta**2", 2),
    (coin, DATA, {"kind": "reshuffle", "batch": 2}, "theta**2", 3),
]


def subject_of(found: Scheme, target: dict[str, Any], gradient: dict[str, Any], phi: str) -> Subject:
    tree = {"target": target, "gradient": gradient, "test_function": phi, "schedule": {"step": 0.125}}
    return Subject(found, load_configuration(tree), "")


def exact_of(subject: Subject, steps: int) -> list[tuple[float, float]]:
    answers, h = answers_for(subject.model), fixed_step(subject.step)
    found = [answers.bias(h, steps), answers.mean_square_error(h, steps)]
    return [(value.value, value.error_bound) for value in found]


def agrees(subject: Subject, steps: int, due: Outcome) -> bool:
    (bias, bias_error), (square, square_error) = exact_of(subject, steps)
    return (
        abs(bias - due.bias) <= bias_error + due.bias_error
        and abs(square - due.mean_square) <= square_error + due.mean_square_error
    )


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0].name}-{c[1]['name']}-{c[2]['kind']}-{c[3]}")
def test_bias_and_mean_square_error_are_those_of_all_paths(case: Any) -> None:
    *made, longest = case
    subject = subject_of(*made)
    for steps in (1, longest):
        assert agrees(subject, steps, enumerate_paths(subject, [subject.step] * steps))


@pytest.mark.parametrize("kind", ["iid", "without-replacement"])
@pytest.mark.parametrize("dim", [1, 2])
def test_multiplicative_noise_and_coins_are_averaged_together(dim: int, kind: str) -> None:
    settings = {
        "target": table(draw(3, dim, 5)),
        "gradient": {"kind": kind, "batch": 2},
        "temperature": 1.5,
        "test_function": "theta**2 - theta" if dim == 1 else "theta[0]*theta[1] + theta[1]**2",
        "schedule": {"step": 0.0625},
    }
    subject = Subject(coin, load_configuration(settings), "")
    due, answers, h = enumerate_runs(subject, 2, float), answers_for(subject.model), fixed_step(0.0625)
    assert answers.bias(h, 2).value == pytest.approx(due.sums[1] / 2, rel=1e-11)
    square = answers.mean_square_error(h, 2).value
    assert square == pytest.approx(due.squares[1] / 4, rel=1e-11)
    normal = (
        answers_for(replace(subject.model, scheme=find_scheme("sgld-euler"))).mean_square_error(h, 2).value
    )
    assert abs(normal - square) > 1e-4 * normal


@pytest.mark.parametrize(("place", "order"), [(0, 4), (1, 4), (2, 6), (6, 4), (11, 4)])
def test_a_forgotten_cumulant_is_caught(place: int, order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Normal draws in the place of bounded ones: the fourth moment (two points) or the sixth (three) is wrong then."""
    *made, steps = CASES[place]
    subject = subject_of(*made)
    due = enumerate_paths(subject, [subject.step] * steps)
    honest = NoiseLaw.cumulant
    monkeypatch.setattr(NoiseLaw, "cumulant", lambda law, k: Fraction(0) if k == order else honest(law, k))
    assert not agrees(subject, steps, due)


@pytest.mark.parametrize("found", [coin, bounded, mixed], ids=lambda s: s.name)
def test_the_expansion_at_zero_is_that_of_the_stationary_bias(found: Scheme) -> None:
    """phi_h - phi_bar less b_0 + ... + b_m h^m is O(h^(m+1)): it falls by 2^(m+1) where h is halved."""
    answers = answers_for(subject_of(found, LINE, {"kind": "full"}, "theta**4").model)
    assert isinstance(answers, MomentAnswers)
    known = [float(c) for c in answers.expansion.values[:3]]

    def left(h: Fraction) -> float:
        value = answers.stationary_bias(fixed_step(h)).value
        return value - sum(c * float(h) ** k for k, c in enumerate(known))

    first, second = left(Fraction(1, 64)), left(Fraction(1, 128))
    # The next term of the remainder is of relative size h times a constant of order one.
    assert first / second == pytest.approx(8, rel=0.1)


def test_the_law_of_bounded_draws_is_not_called_gaussian() -> None:
    subject = subject_of(bounded, LINE, {"kind": "full"}, "theta**2")
    assert not InvariantLaw(subject.model).gaussian
    assert InvariantLaw(replace(subject.model, scheme=find_scheme("sgld-euler"))).gaussian
