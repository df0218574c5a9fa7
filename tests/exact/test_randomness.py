"""Every kind of randomness against one oracle: each minibatch, order and draw of short runs, in fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import flint
import pytest
from flint import fmpq

from sgverify import scheme, sqrt
from sgverify.checks.subject import Subject
from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError, InstabilityError, MomentsDivergeError, NotAffineError
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import answers_for, unreached
from sgverify.exact.ball import Certified, number
from sgverify.exact.recursion.average import Average
from sgverify.exact.recursion.blocks import Blocks
from sgverify.schemes import kinetic, langevin, noise
from tests.exact.enumeration import Enumerated, enumerate_runs

H = 0.0625


@scheme(langevin)
def plain(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + h * noise.two_point()


@scheme(langevin)
def heun(theta, *, h, grad, noise, T):
    guess = theta - h * grad(theta)
    return theta - h / 2 * (grad(theta) + grad(guess)) + h * noise.two_point()


@scheme(langevin)
def two_batches(theta, *, h, grad, noise, T):
    other = grad.fresh()
    return theta - h / 2 * (grad(theta) + other(theta - h * grad(theta))) + h * noise.two_point()


@scheme(kinetic)
def pushed(theta, p, *, h, grad, noise, D, T):
    p = (1 - D * h) * p - h * grad(theta) + h * noise.two_point()
    return theta + h * p, p


LINE = {"name": "gaussian-mean", "data": [0.5, -1.25, 2.0, 0.25]}
THREE = {"name": "gaussian-mean", "data": [0.5, -1.25, 2.0]}
PLANE = {"name": "gaussian-mean", "dim": 2, "data": [[0.5, 1.0], [-1.25, 0.5], [2.0, -0.75]]}
TILTED = {"name": "gaussian", "dim": 2, "precision": [[2.0, 0.5], [0.5, 1.0]], "mean": [0.5, -1.0]}


def regression(dim: int, size: int) -> dict[str, Any]:
    """Data with Hessians of their own."""
    rows = [[0.5, 1.5, -0.25], [-1.0, 0.75, 1.0], [1.25, -0.5, 0.5], [0.75, 1.0, -1.5]]
    return {"name": "linear-regression", "dim": dim, "data": [[*row[:dim], row[2]] for row in rows[:size]]}


CASES = [
    # scheme, target, gradient, test function, steps; what an engine does not answer is not asked
    (plain, LINE, {"kind": "iid", "batch": 2}, "theta**2 - theta", 2),
    (heun, THREE, {"kind": "without-replacement", "batch": 2}, "theta**3 + theta", 3),
    (plain, THREE, {"kind": "iid", "batch": 1}, "theta**4 - theta", 3),
    (pushed, THREE, {"kind": "full"}, "theta**2*p + p**3 - theta", 4),
    (pushed, PLANE, {"kind": "iid", "batch": 1}, "theta[0]*p[1] + theta[1]", 2),
    (plain, LINE, {"kind": "reshuffle", "batch": 1}, "theta**2 - theta", 4),
    (two_batches, LINE, {"kind": "reshuffle", "batch": 1}, "theta**2", 3),
    (pushed, THREE, {"kind": "reshuffle", "batch": 1}, "theta*p + theta**2", 4),
    (plain, PLANE, {"kind": "reshuffle", "batch": 1}, "theta[0]*theta[1]", 3),
    (plain, THREE, {"kind": "symmetric", "batch": 1}, "theta**2 - theta", 7),
    (heun, LINE, {"kind": "symmetric", "batch": 2}, "theta**2", 5),
    (pushed, THREE, {"kind": "symmetric", "batch": 1}, "theta*p", 5),
    (plain, regression(1, 3), {"kind": "iid", "batch": 1}, "theta**2 - 3*theta", 3),
    (two_batches, regression(1, 2), {"kind": "iid", "batch": 1}, "theta**2", 2),
    (heun, regression(2, 2), {"kind": "without-replacement", "batch": 1}, "theta[0]*theta[1]", 2),
    (pushed, regression(1, 3), {"kind": "without-replacement", "batch": 2}, "theta**2 + p", 3),
    (plain, regression(1, 4), {"kind": "reshuffle", "batch": 2}, "theta**2 + theta", 3),
    (pushed, regression(1, 3), {"kind": "reshuffle", "batch": 1}, "theta*p", 4),
    (heun, regression(1, 3), {"kind": "symmetric", "batch": 1}, "theta**2", 7),
    (plain, regression(1, 3), {"kind": "svrg", "batch": 1, "refresh": 2}, "theta**2 - theta", 3),
    (two_batches, regression(1, 2), {"kind": "svrg", "batch": 1, "refresh": 2}, "theta**2", 2),
    (pushed, regression(1, 2), {"kind": "svrg", "batch": 1, "refresh": 3}, "theta*p + theta", 4),
    (plain, TILTED, {"kind": "full"}, "theta[0]**3*theta[1] + theta[1]**4 - theta[0]", 3),
]


def subject_of(made: Any, target: Any, gradient: Any, phi: str, **more: Any) -> Subject:
    tree = {
        "target": target,
        "gradient": gradient,
        "test_function": phi,
        "schedule": {"step": H},
        "start": 0.0,
    }
    return Subject(made, load_configuration({**tree, **more}), "")


def holds(found: Certified, exact: Fraction) -> bool:
    with flint.ctx.workprec(4 * found.bits):
        return bool(found.ball.overlaps(number(exact))) and found.relative_error <= 1e-12


def named(case: Any) -> str:
    return f"{case[0].name}-{case[1]['name']}-{case[2]['kind']}-{case[3]}"


@cache
def enumerated(place: int) -> Enumerated:
    *made, length = CASES[place]
    return enumerate_runs(subject_of(*made), length)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_bias_and_mean_square_error_are_those_of_all_paths(case: Any) -> None:
    *made, length = case
    subject = subject_of(*made)
    answers, due = answers_for(subject.model), enumerated(CASES.index(case))
    for l in range(1, length + 1):
        assert holds(answers.bias(fixed_step(H), l), due.sums[l - 1] / l)
        if not answers.why_not("mean square error"):
            assert holds(answers.mean_square_error(fixed_step(H), l), due.squares[l - 1] / l**2)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_every_position_settles_to_its_law(case: Any) -> None:
    """Far out E phi(X_L) = L bias(L) - (L - 1) bias(L - 1) is that of the invariant law at L's place in the period."""
    subject = subject_of(*case[:4])
    answers, h = answers_for(subject.model), fixed_step(H)
    far = 10**6 * (answers.steps or 1)
    for k in range(1, (answers.steps or 1) + 1):
        position = None if answers.steps is None else k
        law = answers.stationary_bias(h, position)
        now, before = answers.bias(h, far + k), answers.bias(h, far + k - 1)
        with flint.ctx.workprec(256):
            stationary = now.ball * (far + k) - before.ball * (far + k - 1)
            assert abs(stationary - law.ball) < 1e-18
            if subject.observable.degree <= 2:
                found = answers.moments(h, position)
                c, b, a = subject.observable.quadratic_form()
                size = subject.target.dim * len(subject.observable.state)
                second = found.covariance + found.mean * found.mean.transpose()
                value = number(c) - number(subject.truth)
                for i in range(size):
                    value += number(b[i]) * found.mean[i, 0]
                    value += sum((number(a[i][j]) * second[i, j] for j in range(size)), number(0))
                assert abs(value - law.ball) < 1e-18
    assert abs(answers.bias(h, far * 10**6).value - answers.stationary_bias(h).value) < 1e-9


@pytest.mark.parametrize("case", CASES, ids=named)
def test_expansions_are_those_of_small_steps(case: Any) -> None:
    """What b_0, ..., b_4 leave is of order h^5, and the sum of all transients is (tau_0 + tau_1 h + ...)/h."""
    answers = answers_for(subject_of(*case[:4]).model)
    for position in [None] if answers.steps is None else [None, 1, answers.steps]:
        rest = []
        for h in (2.0**-8, 2.0**-9):
            partial = sum(b * h**k for k, b in enumerate(answers.expansion_at(position).values))
            rest.append(answers.stationary_bias(fixed_step(h), position).value - partial)
        # Where the next two coefficients cancel: a wrong b_4 would leave 1.5e-11 times its error.
        assert rest[0] / rest[1] == pytest.approx(32, rel=0.3) or abs(rest[1]) < 4e-12
    h, length = 2.0**-12, 10**9 * (answers.steps or 1)
    found, stationary = answers.bias(fixed_step(h), length), answers.stationary_bias(fixed_step(h))
    with flint.ctx.workprec(256):
        gone = float(((found.ball - stationary.ball) * length).mid())
    series = sum(t * h ** (k - 1) for k, t in enumerate(answers.transient.values))
    assert gone == pytest.approx(series, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("case", [case for case in CASES if case[4] > 2], ids=named)
def test_another_law_is_told_apart(case: Any) -> None:
    """A run that is one step longer, a neighbour's noise: the oracle sees both."""
    *made, length = case
    subject = subject_of(*made)
    answers, due = answers_for(subject.model), enumerated(CASES.index(case))
    assert not holds(answers.bias(fixed_step(H), length - 1), due.sums[length - 1] / length)
    target, gradient = made[1], dict(made[2])
    if gradient["kind"] == "full":
        return
    gradient["kind"] = {"iid": "full"}.get(gradient["kind"], "iid")
    other = answers_for(
        subject_of(made[0], target, {k: gradient[k] for k in ("kind", "batch")}, made[3]).model
    )
    question = "bias" if answers.why_not("mean square error") else "mean_square_error"
    values = due.sums if question == "bias" else due.squares
    power = 1 if question == "bias" else 2
    assert not holds(getattr(other, question)(fixed_step(H), length), values[length - 1] / length**power)


def test_a_power_of_a_draw_is_any_integer() -> None:
    """Nothing else has asked for the moments of two points yet: the engine's own integers are as good as Python's."""
    noise._moment.cache_clear()
    answers = answers_for(subject_of(*CASES[12][:4]).model)
    assert holds(answers.bias(fixed_step(H), 1), enumerated(12).sums[0])


def square_of(model: Any, length: int) -> Certified:
    return Average(Blocks(model)).error(fixed_step(H), length, 2)


def test_wrong_joint_moments_of_blocks_are_told_apart() -> None:
    subject = subject_of(*CASES[5][:4])
    due = enumerated(5)
    assert holds(square_of(subject.model, 4), due.squares[3] / 16)
    for k in (1, 2, 3):
        parts = [
            replace(part, moments=(*part.moments[:k], part.moments[k] * fmpq(9, 8), *part.moments[k + 1 :]))
            for part in subject.model.noise.components
        ]
        wrong = replace(subject.model, noise=replace(subject.model.noise, components=parts))
        assert not holds(square_of(wrong, 4), due.squares[3] / 16)


@pytest.mark.parametrize("kind", ["reshuffle", "symmetric"])
def test_a_trillion_steps_keep_their_digits(kind: str) -> None:
    """The variance is L^-1 times a constant: mean square error less the square of the other engine's bias."""
    answers = answers_for(subject_of(plain, LINE, {"kind": kind, "batch": 1}, "theta**2").model)
    stationary = []
    for length in (6 * 10**9 + 5, 10**12):
        found = answers.mean_square_error(fixed_step(H), length)
        assert found.relative_error <= 1e-12
        with flint.ctx.workprec(found.bits):
            stationary.append(
                float(((found.ball - answers.bias(fixed_step(H), length).ball ** 2) * length).mid())
            )
    assert stationary[0] == pytest.approx(stationary[1], rel=1e-6)


def test_the_oracle_itself_by_hand() -> None:
    """One step of theta' = theta - h g + h z from the mean 0 of two data: g is +-1, z is +-1."""
    target = {"name": "gaussian-mean", "data": [1.0, -1.0], "prior_mean": 0.0}
    subject = subject_of(plain, target, {"kind": "iid", "batch": 1}, "theta**2")
    due: Enumerated = enumerate_runs(subject, 1)
    h = Fraction(H)
    slope = 2
    assert due.sums[0] == h**2 * slope**2 + h**2 - subject.truth
    values = [h * (slope + 1), h * (slope - 1)]
    assert due.squares[0] == sum((v**2 - subject.truth) ** 2 for v in values) / 2


@scheme(langevin, memory={"v": lambda theta: theta})
def slow(theta, v, *, h, grad, noise, T):
    return theta - h * grad(theta) + h * (v - theta) / 4 + sqrt(2 * T * h) * noise(), v + h * (theta - v)


@scheme(langevin, memory={"v": lambda theta, *, h: 500 * h * theta})
def started_with_h(theta, v, *, h, grad, noise, T):
    return theta - h * grad(theta) + h * (v - theta) / 4 + sqrt(2 * T * h) * noise(), v + h * (theta - v)


@pytest.mark.parametrize("kind", ["reshuffle", "symmetric"])
def test_blocks_with_a_memory_that_tends_to_the_identity_are_expanded(kind: str) -> None:
    answers = answers_for(
        subject_of(slow, LINE, {"kind": kind, "batch": 1}, "theta**2 + theta", start=1.0).model
    )
    h, length = 2.0**-12, 10**9 * answers.steps
    found, stationary = answers.bias(fixed_step(h), length), answers.stationary_bias(fixed_step(h))
    with flint.ctx.workprec(256):
        gone = float(((found.ball - stationary.ball) * length).mid())
    series = sum(t * h ** (k - 1) for k, t in enumerate(answers.transient.values))
    assert gone == pytest.approx(series, rel=1e-9)
    h, length = 2.0**-10, 10**9
    square, found = answers.mean_square_error(fixed_step(h), length), answers.bias(fixed_step(h), length)
    with flint.ctx.workprec(256):
        spread = float(((square.ball - found.ball**2) * length).mid()) * h
    assert spread == pytest.approx(answers.variance, rel=1e-2)


@pytest.mark.parametrize("kind", ["iid", "reshuffle", "svrg"])
def test_a_start_that_depends_on_h_has_no_expansion_here(kind: str) -> None:
    gradient = {"kind": kind, "batch": 1, **({"refresh": 2} if kind == "svrg" else {})}
    answers = answers_for(subject_of(started_with_h, regression(1, 3), gradient, "theta**2").model)
    assert answers.bias(fixed_step(H), 3).relative_error < 1e-12
    with pytest.raises(NotAffineError):
        _ = answers.transient


@pytest.mark.parametrize(("kind", "phi"), [("full", "theta**4"), ("reshuffle", "theta**2")])
def test_a_mean_that_expands_is_an_unstable_step(kind: str, phi: str) -> None:
    answers = answers_for(subject_of(plain, LINE, {"kind": kind, "batch": 1}, phi).model)
    with pytest.raises(InstabilityError) as caught:
        answers.mean_square_error(fixed_step(0.75), 100)
    assert not isinstance(caught.value, MomentsDivergeError)


def test_noisy_gradients_beyond_one_dimension_and_degree_two_are_refused() -> None:
    model = subject_of(plain, TILTED, {"kind": "additive"}, "theta[0]**4").model
    assert "the gradient is noisy" in str(unreached(model))
    assert unreached(subject_of(plain, TILTED, {"kind": "full"}, "theta[0]**4").model) is None


def test_joint_moments_of_blocks_beyond_those_that_are_known_are_refused() -> None:
    model = subject_of(plain, LINE, {"kind": "reshuffle", "batch": 1}, "theta**3").model
    assert "for the blocks of a permutation at most 2" in str(unreached(model))
    with pytest.raises(ConfigurationError, match="joint moments of blocks to order 6"):
        square_of(model, 4)
