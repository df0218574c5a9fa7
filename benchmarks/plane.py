"""Benchmark: the invariant law of a kinetic scheme beyond Gaussians, five step sizes and one beside a dense solve."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from benchmarks.measuring import Row, Setting, close, compare, measure
from sgverify.configuration import load_configuration
from sgverify.exact.transfer.plane.bias import PlaneAnswers
from sgverify.exact.transfer.plane.interpreter import Axis, PlaneGrid, PlaneInterpreter
from sgverify.exact.transfer.plane.law import difference_of_law
from sgverify.exact.transfer.plane.operator import PlaneOperator
from sgverify.schemes import find_scheme
from sgverify.targets import build_target, parse_observable

SCHEME, TARGET = "sghmc-aboba", "double-well"
BAR = 3.0
STEPS = [0.1 / 2**k for k in range(5)]

# The smaller grid of the comparison holds the law to about 1e-9; both sides solve the same equations on it.
SIZES, TINY = (56, 40), (16, 12)
AGREEMENT = 1e-6


def run(setting: Setting) -> Iterator[Row]:
    """The curve with its stated errors and its prediction at h = 0; one step size on one grid beside numpy's dense solve."""
    target = build_target(load_configuration(settings=[f"target.name={TARGET}"]).target)
    scheme, phi = find_scheme(SCHEME), parse_observable("theta**2", 1)
    steps = STEPS[:1] if setting.tiny else STEPS

    def curve() -> list[float | None]:
        answers = PlaneAnswers(scheme, target, phi, Fraction(1), Fraction(1))
        _ = answers.expansion
        return [answers.stationary_bias(step).value for step in steps]

    many = f"{len(steps)} step sizes"
    yield Row(
        f"stationary bias of {SCHEME}, {TARGET}, {many} and the prediction", measure(curve, setting), BAR
    )

    grid = _grid(TINY if setting.tiny else SIZES)
    operator = PlaneOperator(PlaneInterpreter(scheme, target, 1.0, 1.0).moves(STEPS[0]), grid)
    law, values = grid.law(target, 1.0), grid.points[0] ** 2

    def dense() -> float:
        """pi P = pi with sum pi = 1, by elimination, with the matrix that the operator has."""
        matrix = np.array([operator(row) for row in np.eye(grid.size)]).T - np.eye(grid.size)
        matrix[-1] = 1.0
        right = np.zeros(grid.size)
        right[-1] = 1.0
        return float((np.linalg.solve(matrix, right) - law.reshape(-1)) @ values.reshape(-1))

    timing, peer = compare(
        lambda: difference_of_law(operator, grid, law, 4).average(values),
        dense,
        setting,
        same=lambda ours, theirs: close(ours, theirs, AGREEMENT),
    )
    yield Row(
        f"invariant law of {SCHEME}, {TARGET}, one step size, {grid.size} points",
        timing,
        None,
        "numpy.linalg.solve of the same operator's matrix",
        peer,
    )


def _grid(sizes: tuple[int, int]) -> PlaneGrid:
    half_theta, half_p = 2.7, 8.0
    return PlaneGrid(
        Axis(-half_theta, 2 * half_theta / sizes[0], sizes[0]), Axis(-half_p, 2 * half_p / sizes[1], sizes[1])
    )
