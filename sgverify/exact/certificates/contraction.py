"""The certified rate of a step: proved in exact arithmetic, for every potential of a class and in every dimension.

The solver's P and lambda are floats, hence rational numbers. With them the inequality of `semidefinite` is a statement about one
matrix of numbers: its entries are enclosed in balls, the balls' radii are taken off the diagonal, and what is left is factored as
L D L^T over the rationals. Positive pivots are the proof; where they are not, the rate is slackened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
import numpy as np
from flint import arb, arb_mat, fmpq

from sgverify.errors import Unreached, UserError
from sgverify.exact.certificates.pair import PairedStep, read_pair
from sgverify.exact.certificates.semidefinite import DIGITS, ScaledNorm, ShrinkingNorm
from sgverify.exact.certificates.worst_case import SlowMember, slowest_quadratic, slowest_sequence
from sgverify.exact.numbers import ball
from sgverify.schemes import Scheme

BITS = 256
"""The working precision of the balls: their radii are then far below any margin of a solver in floats."""

CLOSE, CLOSEST = 1e-4, 1e-7
"""The share of 1 - rho up to which the largest is sought, and that by which it is first tried below the slowest quadratic's."""

SLACK = (0.0, 1e-6, 1e-4, 1e-2, 0.1, 0.5)
"""The shares of 1 - rho that are given up, one after the other, until the proof succeeds."""


@dataclass(frozen=True)
class CurvatureBounds:
    """The potentials U with m <= Hessian <= L, m > 0: every m-strongly convex U with an L-Lipschitz gradient.

    Raises `UserError` where m <= 0 or m > L.
    """

    m: Fraction
    L: Fraction

    def __post_init__(self) -> None:
        if self.m <= 0:
            raise UserError(
                f"m = {float(self.m):g}: a rate for every potential of a class needs strong convexity, m > 0; where U is only "
                "convex, two copies need not approach each other at any rate. Give the smallest curvature, m > 0"
            )
        if self.m > self.L:
            raise UserError(
                f"m = {float(self.m):g} > L = {float(self.L):g}: m is the smallest and L the largest curvature of the potentials; "
                "expected m <= L"
            )

    def __str__(self) -> str:
        return f"{float(self.m):.3g} <= U'' <= {float(self.L):.3g}"


@dataclass(frozen=True)
class CertifiedContraction:
    """|Delta'|_P <= rate |Delta|_P for two copies of a step with the same draws, for every U of the class, in every dimension.

    `rate` < 1 is rational; P is `norm`, over the state variables `names`; `slow` is the slowest member of the class that was
    found, whose rate no certificate beats.
    """

    names: tuple[str, ...]
    step: Fraction
    curvature: CurvatureBounds
    rate: Fraction
    norm: tuple[tuple[Fraction, ...], ...]
    multipliers: tuple[Fraction, ...]
    slow: SlowMember

    @cached_property
    def gap(self) -> float:
        """(1 - rate) / (1 - rate of the slowest member found): 1 where the certificate is the best possible."""
        return float(1 - self.rate) / (1 - self.slow.rate)


def certified_contraction(
    scheme: Scheme, step: Fraction, parameters: Mapping[str, Fraction], curvature: CurvatureBounds
) -> CertifiedContraction:
    """The largest 1 - rate with a proof, at this step size.

    Raises `Unreached` where the step cannot be read for a class of potentials, where a member of the class does not contract,
    and where no norm was found.
    """
    with flint.ctx.workprec(BITS):
        pair = read_pair(scheme, step, parameters)
        if not pair.gradients:
            raise Unreached(f"`{scheme.name}` asks for no gradient")
        m, L = float(curvature.m), float(curvature.L)
        slow = slowest_quadratic(pair, m, L)
        if slow.rate >= 1:
            raise Unreached(
                f"it does not contract on the quadratic potential of curvature {slow.curvatures[0][0]:.4g}, which is of the class"
            )
        found = _largest(ShrinkingNorm(pair, m, L), slow)
        if found is None:
            slow = max(slow, slowest_sequence(pair, m, L), key=lambda member: member.rate)
            raise Unreached(_no_norm(slow))
        for slack in SLACK:
            decay = found[0] * (1 - slack)
            solution = found[1] if not slack else found[2](decay)
            proved = _proved(pair, curvature, 1 - Fraction(decay), solution)
            if proved is not None:
                if (1 - slow.rate) * (1 - 10 * CLOSE) > decay:
                    slow = max(slow, slowest_sequence(pair, m, L), key=lambda member: member.rate)
                norm, multipliers = proved
                return CertifiedContraction(
                    tuple(pair.names), step, curvature, 1 - Fraction(decay), norm, multipliers, slow
                )
    raise Unreached("the norm that the solver found was not proved to shrink")


def slackened(best: CertifiedContraction, pair: PairedStep, share: Fraction) -> CertifiedContraction | None:
    """The contraction by this share of the best 1 - rate, in the norm that has the largest margin there; None without a proof."""
    rate = 1 - share * (1 - best.rate)
    program = ShrinkingNorm(pair, float(best.curvature.m), float(best.curvature.L))
    solution = program.solve(float(rate), 1 - best.slow.rate**2)
    proved = _proved(pair, best.curvature, rate, solution) if solution.margin > DIGITS else None
    return None if proved is None else replace(best, rate=rate, norm=proved[0], multipliers=proved[1])


def _no_norm(slow: SlowMember) -> str:
    if slow.rate >= 1:
        return (
            "it does not contract where the curvature switches between m and L: a period of "
            f"{len(slow.curvatures)} steps grows by {slow.rate:.6g} a step"
        )
    return "no norm was found in which every step of the class contracts"


def _largest(program: ShrinkingNorm, slow: SlowMember) -> tuple[float, ScaledNorm, Any] | None:
    """The largest decay 1 - rho with a positive margin and its solution, by bisection below the slowest member's decay."""
    top = 1 - slow.rate
    size = 1 - slow.rate**2

    def at(decay: float) -> ScaledNorm:
        return program.solve(1 - decay, size)

    below, solution, above = 0.0, None, top
    for less in (CLOSEST, CLOSE):
        tried = at(top * (1 - less))
        if tried.margin > DIGITS:
            return top * (1 - less), tried, at
    while above - below > CLOSE * above:
        middle = (above + below) / 2
        tried = at(middle)
        if tried.margin > DIGITS:
            below, solution = middle, tried
        else:
            above = middle
        if above < 1e-6 * top:
            return None
    return None if solution is None else (below, solution, at)


def _proved(
    pair: PairedStep, curvature: CurvatureBounds, rate: Fraction, solution: ScaledNorm
) -> tuple[tuple[tuple[Fraction, ...], ...], tuple[Fraction, ...]] | None:
    """P and lambda as rational numbers where they prove the rate, else None."""
    if not np.isfinite(solution.norm).all():
        return None
    scale = [[Fraction(float(x)) for x in row] for row in solution.scale]
    inner = [[Fraction(float(x)) for x in row] for row in solution.norm]
    norm = _product(_transposed(scale), _product(inner, scale))
    multipliers = tuple(Fraction(float(x)) for x in solution.multipliers)
    if proves(pair, curvature, rate, norm, multipliers):
        return tuple(map(tuple, norm)), multipliers
    return None


def proves(
    pair: PairedStep,
    curvature: CurvatureBounds,
    rate: Fraction,
    norm: Any,
    multipliers: tuple[Fraction, ...],
) -> bool:
    """Whether P = `norm` and lambda = `multipliers` prove |Delta'|_P <= rate |Delta|_P; exact, False where it is not proved."""
    if any(factor < 0 for factor in multipliers) or not _positive(ball.matrix(norm)):
        return False
    n, k = pair.states, pair.gradients
    p, step = ball.matrix(norm), arb_mat(pair.step)
    total = step.transpose() * p * step
    for i in range(n):
        for j in range(n):
            total[i, j] = total[i, j] - ball.number(rate) ** 2 * p[i, j]
    m, L = ball.number(curvature.m), ball.number(curvature.L)
    for i in range(k):
        place = arb_mat(1, n + k, pair.places[i])
        value = arb_mat(1, n + k, [int(j == n + i) for j in range(n + k)])
        product = (value - place * m).transpose() * (place * L - value)
        total = total + (product + product.transpose()) * (ball.number(multipliers[i]) / 2)
    return _positive(-total)


def _positive(matrix: arb_mat) -> bool:
    """Whether every symmetric matrix in the balls is positive definite: L D L^T over the rationals, radii taken off first."""
    size = matrix.nrows()
    middle, radius = [[fmpq(0)] * size for _ in range(size)], fmpq(0)
    for i in range(size):
        row = fmpq(0)
        for j in range(size):
            centre, error = _dyadic(matrix[i, j])
            middle[i][j] = centre
            row += error
        radius = max(radius, row)
    # Symmetric perturbations with rows of size r move no eigenvalue by more than r.
    rows = [
        [(middle[i][j] + middle[j][i]) / 2 - (radius if i == j else 0) for j in range(size)]
        for i in range(size)
    ]
    for k in range(size):
        if rows[k][k] <= 0:
            return False
        for i in range(k + 1, size):
            factor = rows[i][k] / rows[k][k]
            for j in range(k + 1, size):
                rows[i][j] -= factor * rows[k][j]
    return True


def _dyadic(entry: arb) -> tuple[fmpq, fmpq]:
    """Midpoint and radius of a ball as rational numbers."""
    return _rational(entry.mid()), _rational(entry.rad())


def _rational(value: arb) -> fmpq:
    mantissa, exponent = value.man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def _product(left: Any, right: Any) -> list[list[Fraction]]:
    return [
        [
            sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0))
            for column in zip(*right, strict=True)
        ]
        for row in left
    ]


def _transposed(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    return [list(column) for column in zip(*rows, strict=True)]
