"""Closed moments against expectations over quadrature nodes step by step, and against the engine of affine steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import fmpq

import sgverify
from sgverify import scheme, sqrt
from sgverify.checks.rates.engines import answers_with_closure, closure_answers, exact_answers
from sgverify.configuration import load_configuration
from sgverify.errors import MomentsDivergeError, Unreached
from sgverify.exact.affine.model import fixed_step, horizon_step
from sgverify.exact.closure import ClosureAnswers, close_moments, moments
from sgverify.schemes import Scheme, dot, exp, find_scheme, kinetic, langevin
from sgverify.subject.subject import Subject
from sgverify.targets import build_target, parse_observable


@scheme(langevin)
def wobbly(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise() + h * theta * noise.three_point() / 2


@scheme(kinetic)
def triangular(theta, p, *, h, noise, D, T):  # type: ignore[no-untyped-def]
    p = exp(-D * h) * p + sqrt(2 * D * T * h) * noise()
    return theta - h * theta + h * p * p, p


@scheme(langevin)
def cubic(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    return theta - h * grad(theta) + h * h * theta * theta + sqrt(2 * T * h) * noise()


@scheme(langevin)
def crossed(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise() + h * dot(theta, theta) * noise() / 8


def subject_of(made: Scheme, **tree: Any) -> Subject:
    return Subject(made, load_configuration(tree), made.name)


GAUSSIAN = {"name": "gaussian", "precision": 2.0, "mean": 0.5}
STEP, DAMPING, WARMTH, START = 0.2, 1.5, 0.75, 1.25


def subject_at(made: Scheme, text: str, **more: Any) -> Subject:
    return subject_of(
        made, target=GAUSSIAN, test_function=text, temperature=WARMTH, friction=DAMPING, start=START, **more
    )


def by_nodes(
    step: Callable[..., Any],
    laws: list[tuple[np.ndarray, np.ndarray]],
    phi: Callable[..., Any],
    length: int,
    start: Any,
) -> float:
    """E (1/L) sum_l phi(X_l) by the tree of all nodes: every step multiplies the points by those of its draws."""
    nodes = [np.array(z) for z in product(*(values for values, _ in laws))]
    weights = np.array([math.prod(w) for w in product(*(shares for _, shares in laws))])
    points, mass, total = [np.array([x]) for x in start], np.ones(1), 0.0
    for _ in range(length):
        after = [step(*points, *z) for z in nodes]
        points = [np.concatenate([a[k] for a in after]) for k in range(len(points))]
        mass = np.concatenate([mass * w for w in weights])
        total += float(mass @ phi(*points))
    return total / length


HERMITE = np.polynomial.hermite_e.hermegauss(5)
NORMAL = (HERMITE[0], HERMITE[1] / HERMITE[1].sum())
THREE = (np.array([-math.sqrt(3), 0.0, math.sqrt(3)]), np.array([1, 4, 1]) / 6)
X0 = 0.5 + START * math.sqrt(WARMTH / 2)


def wobbly_by_hand(x: Any, z: float, w: float) -> tuple[Any, ...]:
    return (x - STEP * 2 * (x - 0.5) + math.sqrt(2 * WARMTH * STEP) * z + STEP * x * w / 2,)


def triangular_by_hand(x: Any, p: Any, z: float) -> tuple[Any, ...]:
    p = math.exp(-DAMPING * STEP) * p + math.sqrt(2 * DAMPING * WARMTH * STEP) * z
    return x - STEP * x + STEP * p * p, p


CASES: dict[str, tuple[Scheme, str, Any, Any, Any, float]] = {
    "state times noise": (
        wobbly,
        "theta**2",
        wobbly_by_hand,
        [NORMAL, THREE],
        lambda x: x**2,
        0.5**2 + WARMTH / 2,
    ),
    "its third moment": (
        wobbly,
        "theta**3 - theta",
        wobbly_by_hand,
        [NORMAL, THREE],
        lambda x: x**3 - x,
        0.5**3 + 3 * 0.5 * WARMTH / 2 - 0.5,
    ),
    "a square of the momentum": (
        triangular,
        "theta**2",
        triangular_by_hand,
        [NORMAL],
        lambda x, p: x**2,
        0.5**2 + WARMTH / 2,
    ),
    "mixed": (triangular, "theta*p**2", triangular_by_hand, [NORMAL], lambda x, p: x * p**2, 0.5 * WARMTH),
}


def difference(case: str, length: int) -> float:
    made, text, step, laws, phi, truth = CASES[case]
    start = [X0] if made is wobbly else [X0, 0.0]
    found = closure_answers(subject_at(made, text)).bias(fixed_step(STEP), length)
    assert found.error_bound < 1e-14
    return found.value - (by_nodes(step, laws, phi, length, start) - truth)


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("case", CASES)
def test_the_bias_is_that_of_all_nodes(case: str, length: int) -> None:
    # A few thousand points in float64.
    assert abs(difference(case, length)) < 1e-12


@pytest.mark.parametrize("case", ["state times noise", "a square of the momentum"])
def test_a_wrong_moment_of_a_draw_is_seen(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments.NoiseLaw, "moment", lambda law, power: Fraction(int(power % 2 == 0)))
    # E z^4 = 1 in place of 3 changes E p^4, and E z^2 = 1 stays.
    assert (abs(difference(case, 2)) > 1e-6) == (case == "a square of the momentum")


def test_a_start_elsewhere_is_seen() -> None:
    made, text, step, laws, phi, truth = CASES["state times noise"]
    found = closure_answers(subject_at(made, text)).bias(fixed_step(STEP), 2).value
    assert abs(found - (by_nodes(step, laws, phi, 2, [X0 + 1e-6]) - truth)) > 1e-8


@pytest.mark.parametrize(
    ("name", "text", "momentum"),
    [
        ("sghmc-aboba", "theta**2", "stationary"),
        ("sghmc-baoab", "theta*p", "zero"),
        ("sgld-euler", "theta**4", "zero"),
    ],
)
def test_on_affine_steps_it_agrees_with_their_engine(name: str, text: str, momentum: str) -> None:
    subject = subject_at(find_scheme(name), text, start_momentum=momentum)
    theirs, mine = exact_answers(subject), closure_answers(subject)
    for step in (fixed_step(0.1), horizon_step(0.3, Fraction(1, 3), 1000)):
        for length in (1, 7, 10**9):
            a, b = theirs.bias(step, length), mine.bias(step, length)
            assert abs(a.value - b.value) <= a.error_bound + b.error_bound + 4e-16 * abs(a.value)
    a, b = theirs.stationary_bias(fixed_step(0.1)), mine.stationary_bias(fixed_step(0.1))
    assert abs(a.value - b.value) <= a.error_bound + b.error_bound + 4e-16 * abs(a.value)
    for full, lead in ((theirs.expansion, mine.expansion), (theirs.transient, mine.transient)):
        q = next((j for j, c in enumerate(full.values) if c), None)
        assert q == next((j for j, c in enumerate(lead.values) if c), None)
        if q is not None:
            assert lead.values[q] == pytest.approx(full.values[q], rel=1e-14)


def test_several_coordinates_and_degrees_that_the_affine_engine_leaves_out() -> None:
    target = {"name": "gaussian", "precision": [[2.0, 0.5], [0.5, 1.0]]}
    subject = subject_of(find_scheme("sghmc-aboba"), target=target, test_function="theta[0]**2*theta[1]**2")
    with pytest.raises(Unreached, match="degree 4"):
        exact_answers(subject)
    answers = answers_with_closure(subject, "bias")
    assert isinstance(answers, ClosureAnswers)
    # The stationary law is Gaussian: E x^2 y^2 = E x^2 E y^2 + 2 (E x y)^2.
    parts = []
    for text in ("theta[0]**2", "theta[1]**2", "theta[0]*theta[1]"):
        other = subject_of(find_scheme("sghmc-aboba"), target=target, test_function=text)
        parts.append(exact_answers(other).stationary_bias(fixed_step(0.25)).value + float(other.truth))
    expected = parts[0] * parts[1] + 2 * parts[2] ** 2 - float(subject.truth)
    assert answers.stationary_bias(fixed_step(0.25)).value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("made", "target", "message"),
    [
        (
            "sgld-euler",
            "quartic",
            r"E\[theta\*\*2\] needs theta\*\*6 after 1 step, then theta\*\*18 after 2 steps",
        ),
        ("sgnht-euler", "gaussian", r"needs p\*\*2\*xi\*\*2 after 1 step"),
        ("sgnht-chen-aboba", "gaussian", "takes the exp of p, xi"),
        ("sgld-euler", "mixture", "'mixture' is no polynomial"),
        ("sgld-euler", "logistic-regression", "is no polynomial"),
        (cubic, "gaussian", r"needs theta\*\*4 after 1 step, then theta\*\*8 after 2 steps"),
        (crossed, "gaussian", "do not close"),
    ],
)
def test_what_does_not_close_says_which_moment_shows_it(made: Any, target: str, message: str) -> None:
    found = find_scheme(made) if isinstance(made, str) else made
    observable = parse_observable("theta**2", 1, found.dynamics.state)
    parameters = dict.fromkeys(found.parameters, Fraction(1))
    with pytest.raises(Unreached, match=message):
        close_moments(found, build_target(SimpleNamespace(name=target)), observable, parameters)


def test_a_product_that_cancels_is_no_growth() -> None:
    @scheme(langevin)
    def detour(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        square = (theta + sqrt(3 * h)) * (theta - sqrt(3 * h)) - theta * theta
        return theta - h * grad(theta) + sqrt(2 * T * h) * noise() + square

    target, observable = (
        build_target(SimpleNamespace(name="gaussian")),
        parse_observable("theta**2", 1, ("theta",)),
    )
    closed = close_moments(detour, target, observable, {"T": Fraction(1)})
    assert closed.texts() == ["theta**2", "theta", "1"]
    # x' = (1 - h) x - 3 h + sqrt(2 h) z
    ring = closed.ring
    h = ring.generator("root", "h") ** 2
    image = closed.images[0]
    assert image[(2,)] == (1 - h) ** 2 and image[(1,)] == -6 * h * (1 - h)
    assert image[(0,)] == 9 * h * h + fmpq(2) * h


def test_moments_that_do_not_converge_are_refused() -> None:
    subject = subject_at(wobbly, "theta**2")
    assert subject.why_not_affine is not None
    with pytest.raises(MomentsDivergeError, match="do not converge at this step size"):
        closure_answers(subject).stationary_bias(fixed_step(1.5))


def test_the_bias_of_a_step_that_is_not_affine_is_exact_and_judged() -> None:
    found = sgverify.rate(wobbly, quantity="bias", target=GAUSSIAN, schedule={"kind": "horizon"})
    assert (found.method, found.verdict) == ("exact", "conforms")
    assert found.certificate["closed_moments"] == ["theta**2", "theta", "1"]
    # y = x - m with m = 1/2: v (1 - (1 - 2 h)^2 - h^2/4) = 2 h + h^2 m^2/4 gives v = 1/2 + (1/32 + 17/16) h/2 + O(h^2).
    assert float(found.certificate["stationary_bias"]["h^1"]) == pytest.approx(
        0.5 + 1 / 32 + 1 / 64, rel=1e-12
    )
    assert [point.length for point in found.points][-1] == 10**10
    assert all(0 < point.error_bound < 1e-15 for point in found.points)


def test_the_stationary_bias_is_judged_too() -> None:
    found = sgverify.rate(wobbly, quantity="stationary-bias", target=GAUSSIAN, sweep={"steps": [0.2, 0.1]})
    assert (found.method, found.verdict, found.found.exponent) == ("exact", "conforms", 1)
    for point in found.points:
        h = point.step
        exact = (2 * h + h * h / 16) / (1 - (1 - 2 * h) ** 2 - h * h / 4) - 0.5
        assert abs(point.value - exact) <= point.error_bound + 1e-15


def test_where_they_do_not_close_the_reason_says_so() -> None:
    # Asked for a rate, the chain is first found to escape: what carries the moments off carries it off too.
    with pytest.raises(Unreached, match="(?s)not quadratic.*theta\\*\\*6 after 1 step"):
        answers_with_closure(subject_of(find_scheme("sgld-euler"), target={"name": "quartic"}), "bias")
    noisy = subject_of(find_scheme("sgld-euler"), gradient={"kind": "iid"})
    with pytest.raises(Unreached, match="full, unclipped gradients"):
        closure_answers(noisy)


@pytest.mark.parametrize("name", ["sgrld-euler", "sgrhmc-euler"])
def test_a_step_with_a_metric_is_refused_by_name(name: str) -> None:
    with pytest.raises(Unreached, match="a step with a metric"):
        closure_answers(subject_of(find_scheme(name)))
