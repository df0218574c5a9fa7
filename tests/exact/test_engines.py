"""One table: every exact engine, every question, models of each kind of randomness, against the enumeration of all paths."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from flint import fmpq

from sgverify import scheme, sqrt
from sgverify.errors import ConfigurationError, InstabilityError, MomentsDivergeError, unreached
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import ExactAnswers, QuadraticAnswers, answers_for
from sgverify.exact.answers.moments import MomentAnswers
from sgverify.exact.minibatch.epochs import Epoch
from sgverify.exact.numbers.ball import Certified, number
from sgverify.exact.recursion.additive import PermutationBlocks
from sgverify.exact.recursion.average import Average
from sgverify.schemes import NoiseLaw, langevin
from sgverify.schemes.definition import mathematics as noise
from tests.enumeration import Outcome, enumerate_runs
from tests.exact.engine_table import (
    BOUNDED,
    CROSSED,
    EXACT,
    LINE,
    TABLE,
    TILTED,
    WARM,
    H,
    Row,
    curved,
    fresh,
    plain,
    pushed,
    regression,
    subject_of,
)
from tests.zoo.carriers import real


def holds(found: Certified, exact: Any, rounding: float = 0.0) -> bool:
    if isinstance(exact, Fraction):
        with flint.ctx.workprec(4 * found.bits):
            return bool(found.ball.overlaps(number(exact))) and found.relative_error <= 1e-12
    return bool(abs(found.value - exact) <= found.error_bound + rounding)


def holds_after(answers: ExactAnswers, due: Outcome, length: int, step: float = H) -> bool:
    bias = answers.bias(fixed_step(step), length)
    if answers.why_not("mean square error"):
        return holds(bias, due.bias, due.bias_error)
    square = answers.mean_square_error(fixed_step(step), length)
    return holds(bias, due.bias, due.bias_error) and holds(square, due.mean_square, due.mean_square_error)


DEAR = {
    "heun-linear-regression-without-replacement1-theta[0]*theta[1]",
    "heun_of_two_minibatches-linear-regression-without-replacement1-theta[0]*theta[1] + theta[1]**2",
    "pushed-gaussian-mean-symmetric1-theta[0]*p[1] + theta[1]**2",
}
"""Half a second or more, for what rows beside them ask in one coordinate, or in other pairs of scheme and estimator."""
ROWS = [pytest.param(row, marks=pytest.mark.power) if str(row) in DEAR else row for row in TABLE]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_bias_and_mean_square_error_are_those_of_all_paths(row: Row) -> None:
    for l in range(1, row.length + 1):
        assert holds_after(row.answers, row.due[l - 1], l)


FALLING = [row for row in TABLE if not row.answers.why_not("weighted average")]


@pytest.mark.parametrize("own_weights", [True, False])
@pytest.mark.parametrize("row", FALLING, ids=str)
def test_averages_over_falling_steps_are_those_of_all_paths(row: Row, own_weights: bool) -> None:
    steps = [Fraction(1, 8), Fraction(1, 16), Fraction(3, 64), Fraction(1, 32)][: row.length]
    weights = steps if own_weights else [Fraction(k + 1) for k in range(row.length)]
    due = enumerate_runs(row.subject, steps, weights, number=Fraction if row.exactly else real)[-1]
    sizes = np.array([float(h) for h in steps])
    given = None if own_weights else np.array([float(w) for w in weights])
    bias = row.answers.weighted_bias(sizes, given)
    square = row.answers.weighted_mean_square_error(sizes, given)
    for found, value, rounding in (
        (bias, due.bias, due.bias_error),
        (square, due.mean_square, due.mean_square_error),
    ):
        assert abs(found.value - float(value)) <= found.error_bound + rounding + 2e-16 * abs(value)
        assert found.error_bound <= 1e-11 * (1 + abs(value))


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_every_position_settles_to_its_law(row: Row) -> None:
    """Far out E phi(X_L) = L bias(L) - (L - 1) bias(L - 1) is that of the invariant law at L's place in the period."""
    subject, answers, h = row.subject, row.answers, fixed_step(H)
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


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_expansions_are_those_of_small_steps(row: Row) -> None:
    """What b_0, ..., b_4 leave is of order h^5, and the sum of all transients is (tau_0 + tau_1 h + ...)/h."""
    answers = row.answers
    for position in [None] if answers.steps is None else [None, 1, answers.steps]:
        rest = []
        for h in (2.0**-8, 2.0**-9):
            partial = sum(b * h**k for k, b in enumerate(answers.expansion_at(position).values))
            rest.append(answers.stationary_bias(fixed_step(h), position).value - partial)
        # Where the next two coefficients cancel: a wrong b_4 would leave 1.5e-11 times its error.
        assert abs(rest[1]) < 4e-12 or rest[0] / rest[1] == pytest.approx(32, rel=0.3)
    h, length = 2.0**-12, 10**9 * (answers.steps or 1)
    found, stationary = answers.bias(fixed_step(h), length), answers.stationary_bias(fixed_step(h))
    with flint.ctx.workprec(256):
        gone = float(((found.ball - stationary.ball) * length).mid())
    series = sum(t * h ** (k - 1) for k, t in enumerate(answers.transient.values))
    assert gone == pytest.approx(series, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("row", [row for row in EXACT if row.length > 2], ids=str)
def test_another_law_is_told_apart(row: Row) -> None:
    """A run that is one step longer, a neighbour's noise: the oracle sees both."""
    due = row.due[row.length - 1]
    assert not holds(row.answers.bias(fixed_step(H), row.length - 1), due.bias)
    if row.gradient["kind"] == "full":
        return
    kind = {"iid": "full"}.get(row.gradient["kind"], "iid")
    other = answers_for(replace(row, gradient=fresh(kind, row.gradient["batch"])).subject.model)
    assert not holds_after(other, due, row.length)


MULTIPLICATIVE = Row("sghmc-aboba", curved(3, 1), fresh("iid", 2), "theta**2 + theta*p", 2, False, WARM)


@pytest.mark.parametrize(
    "mutation", ["additive", "replacement swapped", "not divided by the batch", "prior counted by datum"]
)
@pytest.mark.parametrize("kind", ["iid", "without-replacement"])
def test_a_wrong_law_of_the_minibatch_is_told_apart(mutation: str, kind: str) -> None:
    row = replace(MULTIPLICATIVE, gradient=fresh(kind, 2))
    law = row.subject.noise.minibatch
    assert law is not None and isinstance(row.answers, MomentAnswers)
    minibatch = {
        "additive": None,
        "replacement swapped": replace(law, replaced=not law.replaced, _known={}),
        "not divided by the batch": replace(law, batch=1, _known={}),
        "prior counted by datum": replace(law, offset=[v * len(law.vectors) for v in law.offset], _known={}),
    }[mutation]
    model = row.subject.model
    wrong = answers_for(replace(model, noise=replace(model.noise, minibatch=minibatch)))
    assert isinstance(wrong, QuadraticAnswers) == (mutation == "additive")
    due = row.due[-1].mean_square
    assert abs(wrong.mean_square_error(fixed_step(H), 2).value - due) > 1e-6 * due


def test_a_sweep_whose_way_back_is_forgotten_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The half of the epoch that goes forward does not see it."""
    row = Row(pushed, CROSSED, fresh("symmetric"), "theta[0]*p[1] + theta[1]**2", 4, False)
    whole = Epoch.of
    monkeypatch.setattr(Epoch, "of", lambda *given, **more: replace(whole(*given, **more), mirrored=None))
    for length, seen in ((3, False), (4, True)):
        due = row.due[length - 1]
        assert holds(row.answers.bias(fixed_step(H), length), due.bias, due.bias_error) != seen


@pytest.mark.parametrize(("place", "order"), [(0, 4), (1, 4), (2, 6), (8, 4), (11, 4)])
def test_a_forgotten_cumulant_is_told_apart(place: int, order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Normal draws in the place of bounded ones: the fourth moment (two points) or the sixth (three) is wrong then."""
    row = replace(BOUNDED[place])
    due, honest = row.due[-1], NoiseLaw.cumulant
    monkeypatch.setattr(NoiseLaw, "cumulant", lambda law, k: Fraction(0) if k == order else honest(law, k))
    assert not holds_after(answers_for(row.subject.model), due, row.length)


def test_a_power_of_a_draw_is_any_integer() -> None:
    """Nothing else has asked for the moments of two points yet: the engine's own integers are as good as Python's."""
    noise._moment.cache_clear()
    row = Row(plain, regression(1, 3), fresh("iid"), "theta**2 - 3*theta", 1)
    assert holds(row.answers.bias(fixed_step(H), 1), row.due[0].bias)


def square_of(model: Any, length: int) -> Certified:
    return Average(PermutationBlocks(model)).error(fixed_step(H), length, 2)


def test_wrong_joint_moments_of_blocks_are_told_apart() -> None:
    subject, due = EXACT[5].subject, EXACT[5].due[3].mean_square
    assert holds(square_of(subject.model, 4), due)
    for k in (1, 2, 3):
        parts = [
            replace(part, moments=(*part.moments[:k], part.moments[k] * fmpq(9, 8), *part.moments[k + 1 :]))
            for part in subject.model.noise.components
        ]
        wrong = replace(subject.model, noise=replace(subject.model.noise, components=parts))
        assert not holds(square_of(wrong, 4), due)


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
    (due,) = enumerate_runs(subject, [H], number=Fraction)
    h = Fraction(H)
    slope = 2
    assert due.bias == h**2 * slope**2 + h**2 - subject.truth
    values = [h * (slope + 1), h * (slope - 1)]
    assert due.mean_square == sum((v**2 - subject.truth) ** 2 for v in values) / 2


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
def test_a_start_that_depends_on_h_is_expanded_too(kind: str) -> None:
    gradient = {"kind": kind, "batch": 1, **({"refresh": 2} if kind == "svrg" else {})}
    answers = answers_for(subject_of(started_with_h, regression(1, 3), gradient, "theta**2").model)
    assert answers.bias(fixed_step(H), 3).relative_error < 1e-12
    h, length = 2.0**-16, 10**9 * (answers.steps or 1)
    found, stationary = answers.bias(fixed_step(h), length), answers.stationary_bias(fixed_step(h))
    with flint.ctx.workprec(256):
        gone = float(((found.ball - stationary.ball) * length).mid())
    series = sum(t * h ** (k - 1) for k, t in enumerate(answers.transient.values))
    assert gone == pytest.approx(series, rel=1e-7)


@pytest.mark.parametrize(("kind", "phi"), [("full", "theta**4"), ("reshuffle", "theta**2")])
def test_a_mean_that_expands_is_an_unstable_step(kind: str, phi: str) -> None:
    answers = answers_for(subject_of(plain, LINE, {"kind": kind, "batch": 1}, phi).model)
    with pytest.raises(InstabilityError) as caught:
        answers.mean_square_error(fixed_step(0.75), 100)
    assert not isinstance(caught.value, MomentsDivergeError)


def test_noisy_gradients_beyond_one_dimension_and_degree_two_are_refused() -> None:
    model = subject_of(plain, TILTED, {"kind": "additive"}, "theta[0]**4").model
    assert "the gradient is noisy" in str(unreached(lambda: answers_for(model)))
    assert (
        unreached(lambda: answers_for(subject_of(plain, TILTED, {"kind": "full"}, "theta[0]**4").model))
        is None
    )


def test_joint_moments_of_blocks_beyond_those_that_are_known_are_refused() -> None:
    model = subject_of(plain, LINE, {"kind": "reshuffle", "batch": 1}, "theta**3").model
    assert "for the blocks of a permutation at most 2" in str(unreached(lambda: answers_for(model)))
    with pytest.raises(ConfigurationError, match="joint moments of blocks to order 6"):
        square_of(model, 4)
