"""The bound on the rounding of averages with changing steps, and the derivatives behind it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import flint
import numpy as np
import pytest
from flint import arb, arb_mat

from sgverify.exact.chain.block_recursion import Array, BlockMaps
from sgverify.exact.chain.varying_steps import (
    StepArrays,
    VaryingProblem,
    independent_runs,
    power_steps,
    varying_bias,
    varying_mean_square_error,
)
from sgverify.exact.numbers.ball import inner, number
from tests.exact.varying_chains import kinetic


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
    problem = replace(problem, target=problem.target + 0.9 * varying_bias(problem, sizes).value)
    exact = [compute(problem, sizes).value for compute in (varying_bias, varying_mean_square_error)]
    from sgverify.exact.chain import block_recursion

    whole = block_recursion.BlockMaps.products.func  # type: ignore[attr-defined]
    ruined = property(lambda self: whole(self) * (1 + 1e-6))
    monkeypatch.setattr(block_recursion.BlockMaps, "products", ruined)
    for compute, value in zip((varying_bias, varying_mean_square_error), exact, strict=True):
        found = compute(problem, sizes)
        assert 1e-9 * abs(value) < abs(found.value - value) < found.error_bound


@pytest.mark.parametrize("length", [1, 6])
def test_derivatives_of_the_variance_are_those_of_its_differences(length: int) -> None:
    """By an entry of M_l: 2 E M W' + 2 Z M S' + g w'^T + z m'^T, the primes one step earlier."""
    run = next(iter(independent_runs(kinetic(6), power_steps(0.3, 1 / 3, length), None)))
    weight = float(run.weights.sum())
    for j, b in itertools.product(*(range(k) for k in run.maps.shape[2:])):
        m, at = run.maps[:, :, j, b], (slice(None), slice(None), j, b)
        before = [
            (path.matrix[:, :, j - 1, b], path.vector[:, j - 1, b])
            if j
            else (path.from_matrix[:, :, b], path.from_vector[:, b])
            for path in (run.reach, run.law)
        ]
        (w_form, w), (spread, mean) = before
        e, g, z_form, z = (
            run.future.matrix[at],
            run.future.vector[:, j, b],
            run.later.matrix[at],
            run.later.vector[:, j, b],
        )
        by_variance = 2 * e @ m @ w_form + 2 * z_form @ m @ spread + np.outer(g, w) + np.outer(z, mean)
        by_bias = 2 * e @ m @ spread + np.outer(g, mean)
        for i, k in itertools.product(range(4), range(4)):
            step = 1e-4
            ends = []
            for sign in (1, -1):
                maps = run.maps.copy()
                maps[i, k, j, b] += sign * step
                moved = replace(run, maps=maps)
                ends.append((moved.variance * weight**2, moved.bias * weight))
            (v_up, b_up), (v_down, b_down) = ends
            # Central differences of polynomials in one entry: the cubic term leaves step^2, 1e-8, and
            # rounding 1e-12.
            assert (v_up - v_down) / (2 * step) == pytest.approx(by_variance[i, k], rel=1e-5, abs=1e-5)
            assert (b_up - b_down) / (2 * step) == pytest.approx(by_bias[i, k], rel=1e-6, abs=1e-6)


def test_the_bound_of_the_variance_alone() -> None:
    """At a target without bias the mean square error is the variance, and so are their bounds."""
    sizes = power_steps(0.3, 1 / 3, 400)
    problem = kinetic(7)
    problem = replace(problem, target=problem.target + varying_bias(problem, sizes).value)

    def moved(h: Array) -> StepArrays:
        exact = problem.arrays(h)
        return replace(exact, map=exact.map * (1 + 0.9e-9))

    exact = varying_mean_square_error(problem, sizes)
    declared = varying_mean_square_error(replace(problem, arrays=moved, entry_error=1e-9), sizes)
    assert 1e3 * exact.error_bound < abs(declared.value - exact.value) < declared.error_bound


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_what_one_direction_breaks_is_in_the_bound_of_the_variance(
    monkeypatch: pytest.MonkeyPatch, direction: str
) -> None:
    sizes = power_steps(0.3, 1 / 3, 400)
    exact = next(iter(independent_runs(kinetic(8), sizes, None))).variance
    whole = getattr(BlockMaps, direction)

    def ruined(self: BlockMaps, *given: Array) -> object:
        other = BlockMaps(self.maps)
        other.__dict__["products"] = self.products * (1 + 1e-6)
        return whole(other, *given)

    monkeypatch.setattr(BlockMaps, direction, ruined)
    run = next(iter(independent_runs(kinetic(8), sizes, None)))
    assert 1e-9 * exact < abs(run.variance - exact) < run.variance_error
