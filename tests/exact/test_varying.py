"""Averages with changing steps: against fractions, the fixed-step engine, and balls for the rounding."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest
from flint import arb, arb_mat

from sgverify.errors import ConfigurationError, InstabilityError
from sgverify.exact.ball import inner, number
from sgverify.exact.block_recursion import Array, block_shape
from sgverify.exact.chain import AffineChain, Problem, Quadratic
from sgverify.exact.ergodic import ergodic_bias
from sgverify.exact.mse import mean_square_error
from sgverify.exact.tensor import push
from sgverify.exact.varying import (
    StepArrays,
    VaryingProblem,
    power_steps,
    varying_bias,
    varying_mean_square_error,
)
from tests.exact.affine_chains import random_chain
from tests.exact.varying_chains import at_step, dyadic, plain_averages, varying

CONTRACT = 1e-6


STEPS = [
    Fraction(1),
    Fraction(1, 2),
    Fraction(3, 8),
    Fraction(1, 4),
    Fraction(1, 8),
    Fraction(1, 8),
    Fraction(1, 16),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("start", ["gaussian", "point"])
@pytest.mark.parametrize(("size", "seed", "length"), [(1, 1, 1), (1, 2, 7), (2, 3, 3)])
def test_averages_equal_polynomials_in_fractions(
    size: int, seed: int, length: int, start: str, weighted: bool
) -> None:
    chain = dyadic(random_chain(size, seed, start=start))
    steps = STEPS[:length]
    weights = [Fraction(k + 1) for k in range(length)] if weighted else steps
    bias, square = plain_averages(chain, steps, weights)
    given = np.array([float(w) for w in weights]) if weighted else None
    sizes = np.array([float(h) for h in steps])
    for compute, exact in ((varying_bias, bias), (varying_mean_square_error, square)):
        found = compute(varying(chain), sizes, weights=given)
        assert abs(Fraction(found.value) - exact) <= Fraction(found.error_bound)
        assert found.relative_error <= 1e-11


@pytest.mark.parametrize(("size", "seed"), [(1, 4), (2, 5), (4, 6)])
@pytest.mark.parametrize("length", [1, 10, 1000, 1003])
def test_equal_steps_are_the_fixed_step_engine(size: int, seed: int, length: int) -> None:
    chain = dyadic(random_chain(size, seed, radius=Fraction(1, 2)))
    h = Fraction(1, 4)
    problem = varying(chain)
    for compute, exact in (
        (varying_bias, ergodic_bias),
        (varying_mean_square_error, mean_square_error),
    ):
        found = compute(problem, np.full(length, float(h)))
        truth = exact(at_step(chain, h).problem_at, length)
        assert abs(found.value - truth.value) <= found.error_bound + truth.error_bound
        assert found.relative_error <= 1e-9


def kinetic(seed: int) -> VaryingProblem:
    """Two coupled oscillators with friction, skewed noise: four variables, entries as a caller would compute them."""
    h_ = np.array([[3.0, 0.7], [0.7, 1.3]])
    draw = np.random.default_rng(seed)

    def arrays(h: Array) -> StepArrays:
        unit, decay = np.eye(2)[:, :, None], np.exp(-2.0 * h)
        pull = h_[:, :, None] * h
        top = np.concatenate([unit - h * pull, unit * (h * decay)], axis=1)
        low = np.concatenate([-pull, unit * decay], axis=1)
        b = np.concatenate([unit * h**2, unit * h], axis=0)
        q = np.einsum("iak,jak->ijk", b, b) * (4 / h + 0.5)
        return StepArrays(np.concatenate([top, low], axis=0), np.zeros((4, len(h))), q, b)

    third, fourth = np.zeros((2, 2, 2)), np.zeros((2, 2, 2, 2))
    third[0, 0, 0], third[1, 1, 1], fourth[0, 0, 0, 0] = 0.3, -0.2, 0.1
    form = draw.normal(size=(4, 4))
    return VaryingProblem(
        arrays,
        draw.normal(size=4),
        np.eye(4) / 3,
        0.25,
        draw.normal(size=4),
        form + form.T,
        0.5,
        third,
        fourth,
    )


def in_balls(problem: VaryingProblem, sizes: Array) -> tuple[arb, arb]:
    """The recursions of the module one step at a time, from the same entries, without rounding."""
    arrays = problem.arrays(sizes)
    length = len(sizes)

    def mat(x: Array) -> arb_mat:
        return arb_mat(np.atleast_2d(x).tolist())

    maps, noises = ([mat(x[:, :, l]) for l in range(length)] for x in (arrays.map, arrays.covariance))
    form, linear = mat(problem.quadratic), mat(problem.linear).transpose()
    mean, spread = mat(problem.start_mean).transpose(), mat(problem.start_covariance)
    start = mean, spread
    means, spreads, total, weight = [], [], arb(0), arb(0)
    for l in range(length):
        mean = maps[l] * mean + mat(arrays.shift[:, l]).transpose()
        spread = maps[l] * spread * maps[l].transpose() + noises[l]
        means.append(mean)
        spreads.append(spread)
        w = number(float(sizes[l]))
        weight += w
        total += w * (number(problem.constant) + inner(linear + form * mean, mean) + inner(form, spread))
    bias = total / weight - number(problem.target)
    variance, g, e = arb(0), linear * 0, form * 0
    third = arb_mat(problem.third.reshape(len(problem.third), -1).tolist())
    fourth = arb_mat(problem.fourth.reshape(len(problem.fourth), -1).tolist())
    for l in reversed(range(length)):
        w = number(float(sizes[l]))
        g, e = g + (linear + form * means[l] * 2) * w, e + form * w
        q = noises[l]
        b = mat(arrays.injection[:, :, l])
        a, f = b.transpose() * g, b.transpose() * e * b
        variance += inner(g, q * g) + 4 * (e * q * e * spreads[l]).trace() - 2 * (e * q * e * q).trace()
        size = len(problem.third)
        variance += 2 * inner(a, third * arb_mat(size * size, 1, f.entries()))
        flat = arb_mat(1, size**4, fourth.entries())
        outer = arb_mat(size**4, 1, [x * y for x in f.entries() for y in f.entries()])
        variance += (flat * outer)[0, 0]
        g, e = maps[l].transpose() * g, maps[l].transpose() * e * maps[l]
    variance += inner(g, start[1] * g) + 2 * (e * start[1] * e * start[1]).trace()
    return bias, bias * bias + variance / (weight * weight)


@pytest.mark.parametrize("length", [3, 500])
def test_the_bound_covers_the_rounding(length: int) -> None:
    problem = kinetic(3)
    sizes = power_steps(0.3, 1 / 3, length)
    with flint.ctx.workprec(300):
        for compute, exact in zip(
            (varying_bias, varying_mean_square_error), in_balls(problem, sizes), strict=True
        ):
            found = compute(problem, sizes)
            gap = abs(arb(found.value) - exact)
            # It holds, and is not so wide as to hold anything.
            assert gap < found.error_bound < 1e-10 * abs(found.value)


def test_the_bound_covers_errors_of_the_entries() -> None:
    problem = kinetic(4)
    sizes = power_steps(0.3, 1 / 3, 300)

    def off(x: Array) -> Array:
        # All one way, so that the steps add up.
        return x * (1 + 0.9e-9)

    def moved(h: Array) -> StepArrays:
        exact = problem.arrays(h)
        return StepArrays(*(off(x) for x in (exact.map, exact.shift, exact.covariance, exact.injection)))

    for compute in (varying_bias, varying_mean_square_error):
        declared = compute(replace(problem, arrays=moved, entry_error=1e-9), sizes)
        exact = compute(problem, sizes)
        gap = abs(declared.value - exact.value)
        assert 1e3 * exact.error_bound < gap < declared.error_bound < 1e-5 * abs(exact.value)


def test_a_ruined_seam_shows_in_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong product of a block must widen the bound beyond what it broke."""
    problem, sizes = kinetic(5), power_steps(0.3, 1 / 3, 400)
    exact = [compute(problem, sizes).value for compute in (varying_bias, varying_mean_square_error)]
    from sgverify.exact import block_recursion

    whole = block_recursion.Blocks.products.func  # type: ignore[attr-defined]
    ruined = property(lambda self: whole(self) * (1 + 1e-6))
    monkeypatch.setattr(block_recursion.Blocks, "products", ruined)
    for compute, value in zip((varying_bias, varying_mean_square_error), exact, strict=True):
        found = compute(problem, sizes)
        assert 1e-9 * abs(value) < abs(found.value - value) < found.error_bound


def test_uncoupled_coordinates_come_apart() -> None:
    def arrays(h: Array) -> StepArrays:
        map_, noise = np.zeros((2, 2, len(h))), np.zeros((2, 2, len(h)))
        for i, rate in enumerate((1.0, 2.0)):
            map_[i, i], noise[i, i] = 1 - rate * h, 2 * h
        return StepArrays(map_, np.zeros((2, len(h))), noise)

    def coupled(h: Array) -> StepArrays:
        plain = arrays(h)
        turn, back = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, -1.0], [0.0, 1.0]])
        return StepArrays(
            np.einsum("ij,jkb,kl->ilb", turn, plain.map, back),
            plain.shift,
            np.einsum("ij,jkb,lk->ilb", turn, plain.covariance, turn),
        )

    apart = VaryingProblem(
        arrays, np.array([2.0, 1.0]), np.zeros((2, 2)), 1.0, np.array([1.0, -1.0]), np.diag([1.0, 3.0]), 2.0
    )
    turn, back = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, -1.0], [0.0, 1.0]])
    together = VaryingProblem(
        coupled,
        turn @ apart.start_mean,
        np.zeros((2, 2)),
        1.0,
        back.T @ apart.linear,
        back.T @ apart.quadratic @ back,
        2.0,
    )
    sizes = power_steps(0.4, 0.4, 300)
    for compute in (varying_bias, varying_mean_square_error):
        assert compute(apart, sizes).value == pytest.approx(compute(together, sizes).value, rel=1e-12)


def test_blocks_cover_every_length() -> None:
    for length in (1, 2, 3, 4, 5, 17, 100, 10**6):
        steps, blocks = block_shape(length)
        assert steps * blocks >= length > steps * (blocks - 1)


def test_power_steps() -> None:
    assert power_steps(0.5, 0.5, 4) == pytest.approx([0.5, 0.5 / 2**0.5, 0.5 / 3**0.5, 0.25], rel=1e-15)


def test_a_million_steps_take_seconds_and_meet_the_contract() -> None:
    problem = varying(dyadic(random_chain(1, 8, radius=Fraction(1, 2))))
    clock = time.perf_counter()
    sizes = power_steps(0.5, 1 / 3, 10**6)
    found = varying_bias(problem, sizes), varying_mean_square_error(problem, sizes)
    # The bar is 10 s on an idle machine, measured at 2 s for both; a shared one gets room.
    assert time.perf_counter() - clock < 20
    assert all(x.relative_error <= CONTRACT for x in found)


@pytest.mark.parametrize("steps", [[], [0.1, 0.0], [0.1, -1.0], [0.1, float("nan")], [[0.1]]])
def test_step_sizes_are_positive(steps: list[float]) -> None:
    with pytest.raises(ConfigurationError, match="steps="):
        varying_bias(kinetic(1), np.array(steps))


def test_moments_that_overflow_are_refused() -> None:
    problem = kinetic(1)
    with pytest.raises(InstabilityError, match="stability limit"), np.errstate(all="ignore"):
        varying_bias(problem, np.full(1000, 50.0))


def test_the_whole_engine_agrees_on_a_gaussian_chain() -> None:
    """No injection: third and fourth cumulants are absent, as in the fixed-step engine without tensors."""

    def arrays(h: Array) -> StepArrays:
        return StepArrays((1 - h)[None, None], np.zeros((1, len(h))), (2 * h)[None, None])

    problem = VaryingProblem(arrays, np.array([2.0]), np.zeros((1, 1)), 0.0, np.zeros(1), np.eye(1), 1.0)

    def fixed(bits: int) -> Problem:
        h = arb(1) / 8
        chain = AffineChain(arb_mat([[1 - h]]), arb_mat([[0]]), arb_mat([[2 * h]]), arb_mat([[2]]))
        return Problem(chain, Quadratic(arb(0), arb_mat([[0]]), arb_mat([[1]])), arb(1))

    found, truth = varying_mean_square_error(problem, np.full(100, 0.125)), mean_square_error(fixed, 100)
    assert abs(found.value - truth.value) <= found.error_bound
    assert push(arb_mat([[2]]), arb_mat([[3]]), 3)[0, 0] == 54
