"""The certified rate of a step: proved at one step size, for every potential of a class and in every dimension.

The solver's P and lambda are floats, hence rational numbers. With them the inequality of `semidefinite` is a statement about one
matrix of numbers. It is factored in balls, which enclose every rounding: pivots whose balls lie above 0 are the proof, and
the largest rate with a proof is sought.

No certificate beats a member of the class: the difference of two copies that meet the curvature lambda at every place is multiplied
by the same matrix in every step, whose spectral radius is a rate of that member. Where the curvature differs from place to place, a
sequence may be slower than each of its members: the spectral radius of a product of n steps, to the power 1/n.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import flint
import numpy as np
from flint import arb_mat, fmpq, fmpq_mat

from sgverify.errors import Unreached, UserError
from sgverify.exact.certificates.pair import PairedStep, read_pair
from sgverify.exact.certificates.semidefinite import DIGITS, ScaledNorm, ShrinkingNorm, closed_loop
from sgverify.exact.chain.lyapunov import floats
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.schemes import Scheme
from sgverify.schemes.numbers.rounded import Rounded

CURVATURES = 65
"""Curvatures between m and L, in equal ratios, of the quadratics that are tried."""

SEQUENCES = 2**12
"""The largest number of sequences of curvatures that are tried."""


@dataclass(frozen=True)
class SlowMember:
    """A member of the class and its rate a step: the spectral radius of a period of `curvatures`, a row a step, to 1/period."""

    rate: float
    curvatures: tuple[tuple[float, ...], ...]


def slowest_quadratic(pair: PairedStep, convexity: float, smoothness: float) -> SlowMember:
    """The quadratic potential with the largest spectral radius among those tried."""
    step, places = floats(pair.step), floats(pair.places)
    curvatures = np.geomspace(convexity, smoothness, CURVATURES)
    radii = _radii(closed_loop(step, places, np.repeat(curvatures[:, None], pair.gradients, axis=1)))
    slowest = int(radii.argmax())
    return SlowMember(float(radii[slowest]), ((float(curvatures[slowest]),) * pair.gradients,))


def slowest_sequence(pair: PairedStep, convexity: float, smoothness: float) -> SlowMember:
    """The slowest period of steps whose gradients meet the curvature m or L, each of them either; shorter periods first."""
    step, places = floats(pair.step), floats(pair.places)
    letters = np.array(list(itertools.product((convexity, smoothness), repeat=pair.gradients)))
    matrices = closed_loop(step, places, letters)
    words, products = np.arange(len(letters))[:, None], matrices
    best = SlowMember(0.0, ())
    while True:
        length = words.shape[1]
        rates = _radii(products) ** (1 / length)
        slowest = int(rates.argmax())
        # A longer word that repeats a shorter one has its rate, up to rounding.
        if rates[slowest] > best.rate * (1 + 1e-12):
            word = tuple(tuple(float(c) for c in letters[letter]) for letter in words[slowest])
            best = SlowMember(float(rates[slowest]), word)
        if len(words) * len(letters) > SEQUENCES:
            return best
        count, last = len(words), np.arange(len(letters))
        words = np.hstack([np.repeat(words, len(letters), axis=0), np.tile(last, count)[:, None]])
        products = np.tile(matrices, (count, 1, 1)) @ np.repeat(products, len(letters), axis=0)


def _radii(matrices: np.ndarray) -> np.ndarray:
    return np.abs(np.linalg.eigvals(matrices)).max(axis=-1)


BITS = 256
"""The working precision of the balls: their radii are then far below any margin of a solver in floats."""

CLOSE, CLOSEST = 1e-4, 1e-7
"""The share of 1 - rho up to which the largest is sought, and that by which it is first tried below the slowest quadratic's."""

HALFWAY = (0.5, 0.9, 0.1)
"""The shares of the slowest quadratic's 1 - rho at which a norm for an interval of step sizes is sought, the likeliest first."""

Proof = tuple[fmpq_mat, tuple[Fraction, ...]]
"""P and lambda."""


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

    `rate` < 1 is rational; P is `norm`, over the state variables in their order; `slow` is the slowest member of the class that
    was found, whose rate no certificate beats.
    """

    step: Fraction
    curvature: CurvatureBounds
    rate: Fraction
    norm: fmpq_mat
    multipliers: tuple[Fraction, ...]
    slow: SlowMember


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
        program = ShrinkingNorm(pair, m, L, slow.rate)
        best = _largest(
            lambda decay: _proved(pair, curvature, 1 - Fraction(decay), program.solve(1 - decay)),
            1 - slow.rate,
        )
        if best is None or best[0] < (1 - slow.rate) * (1 - 10 * CLOSE):
            slow = max(slow, slowest_sequence(pair, m, L), key=lambda member: member.rate)
    if best is not None:
        return CertifiedContraction(step, curvature, 1 - Fraction(best[0]), *best[1], slow)
    raise Unreached(
        "no norm was proved in which every step of the class contracts"
        if slow.rate < 1
        else "it does not contract where the curvature switches between m and L: a period of "
        f"{len(slow.curvatures)} steps grows by {slow.rate:.6g} a step"
    )


def slackened(best: CertifiedContraction, pair: PairedStep, share: Fraction) -> CertifiedContraction | None:
    """The contraction by this share of the best 1 - rate, in the norm that has the largest margin there; None without a proof."""
    rate = 1 - share * (1 - best.rate)
    program = ShrinkingNorm(pair, float(best.curvature.m), float(best.curvature.L), best.slow.rate)
    proved = _proved(pair, best.curvature, rate, program.solve(float(rate)))
    return None if proved is None else replace(best, rate=rate, norm=proved[0], multipliers=proved[1])


def contracts_between(
    scheme: Scheme, ends: Rounded, parameters: Mapping[str, Fraction], curvature: CurvatureBounds
) -> bool:
    """Whether one norm was proved to shrink in a step of any size between two ends, for every U of the class.

    It is sought at the middle of the interval, at rates that leave margins for its ends.
    """
    with flint.ctx.workprec(BITS):
        pair, every = (read_pair(scheme, step, parameters) for step in (ends.middle, ends))
        m, L = float(curvature.m), float(curvature.L)
        slow = slowest_quadratic(pair, m, L).rate
        if slow >= 1:
            return False
        program = ShrinkingNorm(pair, m, L, slow)
        solutions = (program.solve(1 - share * (1 - slow)) for share in HALFWAY)
        return any(_proved(every, curvature, Fraction(1), solution) for solution in solutions)


def _largest(proved: Callable[[float], Proof | None], top: float) -> tuple[float, Proof] | None:
    """The largest decay 1 - rho with a proof, by bisection below the slowest member's decay."""
    for less in (CLOSEST, CLOSE):
        if (proof := proved(top * (1 - less))) is not None:
            return top * (1 - less), proof
    below, above, best = 0.0, top, None
    while above - below > CLOSE * above and above > 1e-6 * top:
        middle = (above + below) / 2
        if (proof := proved(middle)) is None:
            above = middle
        else:
            below, best = middle, proof
    return None if best is None else (below, best)


def _proved(
    pair: PairedStep, curvature: CurvatureBounds, rate: Fraction, solution: ScaledNorm
) -> Proof | None:
    """P and lambda as rational numbers where they prove the rate, else None."""
    if solution.margin <= DIGITS:
        return None
    scale, inner = (
        fmpq_mat([[fmpq(*x.as_integer_ratio()) for x in row] for row in rows.tolist()])
        for rows in (solution.scale, solution.norm)
    )
    norm = scale.transpose() * inner * scale
    multipliers = tuple(Fraction(float(x)) for x in solution.multipliers)
    return (norm, multipliers) if proves(pair, curvature, rate, norm, multipliers) else None


def proves(
    pair: PairedStep,
    curvature: CurvatureBounds,
    rate: Fraction,
    norm: fmpq_mat,
    multipliers: tuple[Fraction, ...],
) -> bool:
    """Whether P = `norm` and lambda = `multipliers` prove |Delta'|_P <= rate |Delta|_P; False where it is not proved.

    No lambda_i < 0 passes: with Delta = 0, Delta g_i = 1, those before it 0 and those after it m Delta y_j, the form of the
    inequality is |Delta'|_P^2 - lambda_i > 0.
    """
    n, k = pair.states, pair.gradients
    p, whole = arb_mat(norm), ball.identity(n + k)
    kept = arb_mat([[whole[i, j] for j in range(n + k)] for i in range(n)])
    left = kept.transpose() * p * kept * ball.number(rate) ** 2 - pair.step.transpose() * p * pair.step
    m, L = ball.number(curvature.m), ball.number(curvature.L)
    for i, factor in enumerate(multipliers):
        place, value = (arb_mat([rows.tolist()[row]]) for rows, row in ((pair.places, i), (whole, n + i)))
        product = (value - place * m).transpose() * (place * L - value)
        left -= (product + product.transpose()) * (ball.number(factor) / 2)
    try:
        ball.cholesky(p)
        ball.cholesky(left)
    except PrecisionLostError:
        return False
    return True
