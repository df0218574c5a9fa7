"""One step of a scheme with memory as a power series in h, each memory in units in which no half powers are left."""

from __future__ import annotations

from itertools import product
from typing import Any

from flint import arb_mat, fmpq_mat

from sgverify.errors import NotExpandableError
from sgverify.exact.affine.algebra import longest, powers_of, stacked
from sgverify.exact.affine.carrier import Base, read_start
from sgverify.exact.affine.constants import coefficient, constant, number_ring, step_size
from sgverify.exact.affine.matrices import alike, nonzero, rational_or_balls, total
from sgverify.exact.affine.matrices import product as moved
from sgverify.exact.affine.step_series import StepSeries
from sgverify.exact.matrix_series import MatrixSeries
from sgverify.exact.series.polynomials import to_fmpq
from sgverify.exact.two_scales import TwoScaleSeries

Rows = list[list[Any]]


def two_scale_series(step: StepSeries) -> TwoScaleSeries:
    """M, c, Q and the start law in powers of h, memory k in units of s^(-w_k), s = sqrt(h), w_k 0 or 1.

    A memory that holds a draw, which a step multiplies with s, has w = 1. Raises `NotExpandableError` where no such
    units leave whole powers of h alone.
    """
    parts = [_of_step(step, power) for power in range(2 * step.orders + 2)]
    begun = _start(step, 2 * step.orders + 2)
    count, dim = len(step.model.scheme.memory), step.model.target.dim
    slow = step.model.size - count * dim
    for weights in product((0, 1), repeat=count):
        units = [0] * slow + [weight for weight in weights for _ in range(dim)]
        found = _in_units(parts, begun, units, step.orders)
        if found is not None:
            m, c, q, mean, spread = (alike(part) for part in found)
            return TwoScaleSeries(MatrixSeries(m), MatrixSeries(c), MatrixSeries(q), slow, mean, spread)
    raise NotExpandableError(f"`{step.model.scheme.name}` has odd powers of sqrt(h)")


def _of_step(step: StepSeries, power: int) -> tuple[Any, Any, Any]:
    """M, c and Q at s^power."""
    target = step.model.target
    mean = fmpq_mat(target.dim, 1, [to_fmpq(v) for v in target.mean])
    ones = fmpq_mat(target.dim, 1, [1] * target.dim)
    states: list[Base] = [("state", name) for name in step.model.scheme.state]
    c = total(moved(step.blocks([("mean", 0)], power), mean), moved(step.blocks([("ones", 0)], power), ones))
    return step.blocks(states, power), c, step.covariance(power)


def _start(step: StepSeries, orders: int) -> list[tuple[Any, Any]]:
    """Mean and covariance of X_0 by powers of s."""
    model = step.model
    ring = number_ring(orders + 4)
    given = {name: constant(ring, value) for name, value in model.parameters.items()}
    read = read_start(model.scheme, {**given, "h": step_size(ring)})
    dim, names = model.target.dim, list(model.scheme.state)
    precision = fmpq_mat([[to_fmpq(v) for v in row] for row in model.target.precision])
    unit = fmpq_mat(dim, dim, [int(i == j) for i in range(dim) for j in range(dim)])
    powers = powers_of(precision, unit, longest(read))
    centre = fmpq_mat(dim, 1, [to_fmpq(v) for v in model.target.mean])
    ones = fmpq_mat(dim, 1, [1] * dim)
    first, spread = model.state_law()

    def part(power: int, *columns: Base) -> Any:
        return rational_or_balls(
            stacked(read, names, columns, powers, lambda c: coefficient(ring, c, power), list)
        )

    images = [part(k, *(("state", name) for name in names)) for k in range(orders)]
    drawn = [[part(k, ("noise", j)) for k in range(orders)] for j in range(read.draws)]
    found = []
    for k in range(orders):
        mean = arb_mat(images[k]) * first + arb_mat(moved(part(k, ("mean", 0)), centre))
        mean = mean + arb_mat(moved(part(k, ("ones", 0)), ones))
        covariance: Any = arb_mat(model.size, model.size)
        for i in range(k + 1):
            covariance = covariance + arb_mat(images[i]) * spread * arb_mat(images[k - i]).transpose()
            for blocks in drawn:
                covariance = covariance + arb_mat(blocks[i]) * arb_mat(blocks[k - i]).transpose()
        found.append((mean, covariance))
    return found


def _in_units(
    parts: list[tuple[Any, Any, Any]], begun: list[tuple[Any, Any]], units: list[int], orders: int
) -> tuple[list[Any], ...] | None:
    """M, c, Q, mean and covariance of the start in these units; None where half powers or negative ones are left."""
    n = len(units)

    def scaled(matrices: list[Any], left: list[int], right: list[int]) -> list[Any] | None:
        """Entry (i, j) times s^(left_i + right_j), by whole powers of h."""
        columns = matrices[0].ncols()
        kept = []
        for power in range(-2, 2 * orders + 1):
            rows: Rows = []
            for i in range(n):
                row = []
                for j in range(columns):
                    at = power - left[i] - right[j]
                    row.append(matrices[at][i, j] if 0 <= at < len(matrices) else 0)
                rows.append(row)
            matrix = rational_or_balls(rows)
            if power < 0 or power % 2:
                if nonzero(matrix):
                    return None
            else:
                kept.append(matrix)
        return kept

    none, minus = [0] * n, [-unit for unit in units]
    steps = [list(column) for column in zip(*parts, strict=True)]
    starts = [list(column) for column in zip(*begun, strict=True)]
    found = (
        scaled(steps[0], units, minus),
        scaled(steps[1], units, none),
        scaled(steps[2], units, units),
        scaled(starts[0], units, none),
        scaled(starts[1], units, units),
    )
    return None if any(part is None for part in found) else found  # type: ignore[return-value]


__all__ = ["two_scale_series"]
