"""The stability limit: the largest step size below which one step contracts on the target.

Near a spectral radius of 1 float64 cannot decide. There the decision is made in balls, and is a proof for the given
eigenvalues of the precision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from fractions import Fraction
from functools import partial
from typing import Any

import flint
import numpy as np
from flint import arb, arb_mat

from sgverify.exact.affine.carrier import AffineGradient, AffineStep, AffineValue, read_affine
from sgverify.exact.affine.field import Scalar
from sgverify.exact.numbers.ball import BALLS, FLOATS
from sgverify.schemes import Scheme, exact

RATIO = 1.04
"""Neighbouring step sizes of the grid."""

DECADES = 27
"""The decades below the grid in which a first contracting step is sought."""

SECOND, FOURTH = 2, 4
"""The degrees of moments that the law of a chain, and that mean square errors need."""

NEAR = 1e-7
"""A spectral radius in float64 this close to 1 is not decisive: a double root is accurate to half the digits."""

HIGHEST_DEGREE = 16
"""Up to so many gradients in a step, its polynomials in the precision are evaluated in float64. Their terms alternate: (1 - x)^k
loses 2^k of 1e-16 where x is near 1, and many gradients one after the other have such a power."""

BITS = (256, 1024)
MORE_BITS, FAR_APART = (4096, 16384, 65536), 16
"""A radius may tend to 1 like 1 - exp(-D h/2): beyond the steps where `BITS` tell it from 1, every 16th is decided with these."""

BISECTIONS = 60
CROSSING, STEEP = 2.0**-45, 1e-3
"""The share by which a radius that crosses 1 in float64 may do so elsewhere, and the slope from which it tells where."""
SECTIONS = 32
ZOOMS = 5


class Stability(Enum):
    """The position of the spectral radius of one step: below 1, above 1, or not distinguished from 1 by `BITS`."""

    CONTRACTS = "contracts"
    EXPANDS = "expands"
    UNDECIDED = "undecided"


def spectral_radii(
    scheme: Scheme, parameters: dict[str, Fraction], eigenvalues: Sequence[float], steps: Any
) -> Any:
    """The spectral radius of M for each step size: float64, shape (steps,).

    The blocks of M are polynomials in the precision, so M splits over the precision's eigenvalues.
    """
    return _radii(_matrices(scheme, parameters, eigenvalues, steps)).max(axis=0)


def stability_of(
    scheme: Scheme, parameters: dict[str, Fraction], eigenvalues: Sequence[float], step: float
) -> Stability:
    """Whether one step of size `step` contracts: float64 away from a radius of 1, the Jury criterion in balls near it."""
    (radii,) = _radii(_matrices(scheme, parameters, eigenvalues, [step])).T
    return _Reader(scheme, parameters, eigenvalues).decide(step, radii)


def stability_limit(scheme: Scheme, parameters: dict[str, Fraction], eigenvalues: Sequence[float]) -> float:
    """The smallest h > 0 at which the spectral radius reaches 1; infinite where it never does, 0 where it always is.

    Searched on a logarithmic grid around the time scales of target and friction, which is continued downwards
    until a step contracts. Windows of instability between grid points are found by zooming into the local
    minima of 1 - rho, det(I - M) and det(I + M), which are smooth where rho itself has a corner. Then bisected.
    A step whose radius `BITS` cannot tell from 1 counts as one that does not contract, unless the radius tends to 1 from below.
    """
    reader = _Reader(scheme, parameters, eigenvalues)
    fastest, friction = max(eigenvalues), float(abs(parameters.get("D", 0)))
    scales = [fastest**-0.5, 1 / fastest]
    if friction:
        scales += [1 / friction, friction / fastest]
    bottom = reader.first_contracting(1e-3 * min(scales))
    if bottom is None:
        return 0.0
    top = 1e4 * max(*scales, 1.0)
    grid = np.geomspace(bottom, top, math.ceil(math.log(top / bottom) / math.log(RATIO)) + 1)
    matrices = _matrices(scheme, parameters, eigenvalues, grid)
    first = reader.first_unstable(grid, _radii(matrices))
    for k, margin in _dips(_margins(matrices)):
        if k - 1 >= first:
            break
        found = reader.zoom(float(grid[k - 1]), float(grid[k + 1]), margin)
        if found is not None:
            return reader.bisect(float(grid[k - 1]), found)
    if first == grid.size or reader.contracts_beyond(grid[first:]):
        return math.inf
    return reader.bisect(float(grid[first - 1]), float(grid[first]))


def drawn_sizes(
    scheme: Scheme, parameters: dict[str, Fraction], eigenvalues: Sequence[float], steps: Any
) -> Any:
    """The size of the noise that draws add to the state in one step, the least over the eigenvalues: float64, shape (steps,)."""
    h = np.asarray(steps, dtype=np.float64)
    read, distinct = _on_floats(scheme, parameters, eigenvalues, h)
    squares = np.zeros((distinct.size, h.size))
    with np.errstate(all="ignore"):
        for row in read.rows.values():
            for base, polynomial in row.items():
                if base[0] == "noise":
                    squares += (
                        sum(np.asarray(_number(c)) * distinct**k for k, c in enumerate(polynomial)) ** 2
                    )
    return np.sqrt(squares).min(axis=0)


def eigenvalues_of(precision: Sequence[Sequence[Fraction]]) -> list[float]:
    """The eigenvalues of the precision matrix, as floats."""
    return [float(v) for v in np.linalg.eigvalsh(np.array([[float(x) for x in row] for row in precision]))]


class _Reader:
    def __init__(self, scheme: Scheme, parameters: dict[str, Fraction], eigenvalues: Sequence[float]) -> None:
        self._scheme = scheme
        self._parameters = parameters
        self._eigenvalues = sorted(set(eigenvalues))

    def decide(self, step: float, radii: Any) -> Stability:
        """Judge one step size; `radii` has its radius in float64 for each eigenvalue."""
        if not (radii <= 1 + NEAR).all():
            return Stability.EXPANDS
        near = [e for e, radius in zip(self._eigenvalues, radii, strict=True) if radius > 1 - NEAR]
        if not near:
            return Stability.CONTRACTS
        for bits in BITS:
            with flint.ctx.workprec(bits):
                found = self._in_balls(step, near)
            if found is not Stability.UNDECIDED:
                break
        return found

    def first_contracting(self, step: float) -> float | None:
        """The largest of step, step/10, ... that contracts."""
        steps = step * 10.0 ** -np.arange(DECADES + 1)
        for h, radii in zip(steps, self._radii(steps).T, strict=True):
            if self.decide(h, radii) is Stability.CONTRACTS:
                return float(h)
        return None

    def first_unstable(self, steps: Any, radii: Any) -> int:
        """The index of the first step that does not contract; the number of steps where all contract."""
        for k in np.flatnonzero(~(radii < 1 - NEAR).all(axis=0)):
            if self.decide(float(steps[k]), radii[:, k]) is not Stability.CONTRACTS:
                return int(k)
        return len(steps)

    def contracts_beyond(self, steps: Any) -> bool:
        """Does every 16th of the steps contract, the first too, as far as `MORE_BITS` tell a radius from 1?"""
        for step in steps[::FAR_APART]:
            for bits in (*BITS, *MORE_BITS):
                with flint.ctx.workprec(bits):
                    found = self._in_balls(float(step), self._eigenvalues)
                if found is not Stability.UNDECIDED:
                    break
            if found is not Stability.CONTRACTS:
                return found is Stability.UNDECIDED and step > steps[0]
        return True

    def zoom(self, low: float, high: float, margin: int) -> float | None:
        """A step size between `low` and `high` that does not contract, at the minimum of this margin; None where none is found."""
        for _ in range(ZOOMS):
            steps = np.linspace(low, high, SECTIONS + 1)
            matrices = _matrices(self._scheme, self._parameters, self._eigenvalues, steps)
            margins = _margins(matrices)
            lowest = int(np.where(np.isfinite(margins[margin]), margins[margin], np.inf).argmin())
            if not (margins[:, lowest] > NEAR).all():
                radii = _radii(matrices[:, [lowest]])[:, 0]
                if self.decide(float(steps[lowest]), radii) is not Stability.CONTRACTS:
                    return float(steps[lowest])
            low, high = steps[max(lowest - 1, 0)], steps[min(lowest + 1, SECTIONS)]
        return None

    def bisect(self, low: float, high: float) -> float:
        """The step where contraction is lost between `low`, which contracts, and `high`, which does not."""
        while high - low > NEAR * high:
            steps = np.linspace(low, high, SECTIONS + 1)
            first = self.first_unstable(steps[1:-1], self._radii(steps[1:-1])) + 1
            low, high = float(steps[first - 1]), float(steps[first])
        # Over so short a way radii are straight lines: what is near 1 is so at an end, and crosses 1 where it does in float64.
        ends = self._radii([low, high])
        largest, (inner, outer) = np.minimum(ends.max(axis=1), 1.0), ends.max(axis=0)
        guesses: tuple[float, ...] = ()
        if inner < 1 < outer < math.inf and outer - inner > STEEP * (high - low) / high:
            crossing = low + (high - low) * (1 - inner) / (outer - inner)
            guesses = crossing * (1 + CROSSING), crossing * (1 - CROSSING)
        for _ in range(BISECTIONS):
            middle = next((guess for guess in guesses if low < guess < high), (low + high) / 2)
            if not low < middle < high:
                break
            if self.decide(middle, largest) is Stability.CONTRACTS:
                low = middle
            else:
                high = middle
        return low

    def _radii(self, steps: Any) -> Any:
        return _radii(_matrices(self._scheme, self._parameters, self._eigenvalues, steps))

    def _in_balls(self, step: float, eigenvalues: list[float]) -> Stability:
        given = {
            "h": exact(float(step)),
            **{name: self._parameters[name] for name in self._scheme.parameters},
        }
        read = read_affine(self._scheme, {k: Scalar(BALLS, BALLS.number(v)) for k, v in given.items()})
        names = list(self._scheme.state)
        rows = [[_balls(read, name, other) for other in names] for name in names]
        found = [_jury(arb_mat([[_value(p, arb(e)) for p in row] for row in rows])) for e in eigenvalues]
        worst = (Stability.EXPANDS, Stability.UNDECIDED, Stability.CONTRACTS)
        return next(verdict for verdict in worst if verdict in found)


def _jury(matrix: arb_mat) -> Stability:
    """The Jury (Schur-Cohn) criterion on p(z) = det(z - M).

    A root beyond +-1 shows in the signs of p(1) and p(-1). All roots are inside the unit circle where |p(0)|
    is below the leading coefficient a, and those of (a p - p(0) p*)/z are, with p* the reversed p; for a 2 x 2
    block, |trace| < 1 + det and det < 1. The reduction keeps the number of roots outside.
    """
    p = matrix.charpoly().coeffs()
    p += [arb(0)] * (matrix.nrows() + 1 - len(p))
    alternating = sum(((-1) ** (len(p) - 1 - k) * c for k, c in enumerate(p)), arb(0))
    if sum(p, arb(0)) < 0 or alternating < 0:
        return Stability.EXPANDS
    while len(p) > 1:
        last, lead = abs(p[0]), abs(p[-1])
        if last > lead:
            return Stability.EXPANDS
        if not last < lead:
            return Stability.UNDECIDED
        p = [p[-1] * c - p[0] * d for c, d in zip(p[1:], reversed(p[:-1]), strict=True)]
    return Stability.CONTRACTS


def _matrices(
    scheme: Scheme, parameters: dict[str, Fraction], eigenvalues: Sequence[float], steps: Any
) -> Any:
    """M for every distinct eigenvalue and step size, shape (eigenvalues, steps, state, state)."""
    h = np.asarray(steps, dtype=np.float64)
    names = list(scheme.state)
    read, distinct = _on_floats(scheme, parameters, eigenvalues, h)
    matrices = np.zeros((distinct.size, *h.shape, len(names), len(names)))
    with np.errstate(all="ignore"):
        for i, name in enumerate(names):
            for j, other in enumerate(names):
                for k, c in enumerate(read.rows[name].get(("state", other), ())):
                    matrices[..., i, j] += np.asarray(_number(c)) * distinct**k
    return matrices


def _on_floats(
    scheme: Scheme, parameters: dict[str, Fraction], eigenvalues: Sequence[float], h: Any
) -> tuple[AffineStep, Any]:
    """The step at all sizes at once, and the distinct eigenvalues as a column."""
    given = {name: Scalar(FLOATS, np.full_like(h, float(parameters[name]))) for name in scheme.parameters}
    # A definition that divides by zero is refused elsewhere; here its radius is infinite.
    distinct = np.array(sorted(set(eigenvalues)))[:, None]
    with np.errstate(all="ignore"):
        many = scheme.census.gradients + scheme.census.hessians > HIGHEST_DEGREE
        gradient = partial(_AtEigenvalues, distinct) if many else AffineGradient
        read = read_affine(scheme, {"h": Scalar(FLOATS, h), **given}, gradient=gradient)
    return read, distinct


class _AtEigenvalues(AffineGradient):
    """The gradient with the eigenvalues in the place of P, so that no block is a polynomial in P."""

    def __init__(self, eigenvalues: Any, each_evaluation: bool = False) -> None:
        super().__init__(each_evaluation)
        self._eigenvalues = Scalar(FLOATS, eigenvalues)

    def evaluate(self, place: AffineValue, minibatch: int) -> AffineValue:
        return (place - AffineValue({("mean", 0): (1,)})) * self._eigenvalues + AffineValue(
            {("gradient", minibatch): (1,)}
        )

    def bend(self, vector: AffineValue, minibatch: int) -> AffineValue:
        return vector * self._eigenvalues


def _radii(matrices: Any) -> Any:
    """The spectral radii, shape (eigenvalues, steps); infinite where an entry is not a number."""
    finite = np.isfinite(matrices).all(axis=(-1, -2))
    radii = np.full(finite.shape, np.inf)
    radii[finite] = np.abs(np.linalg.eigvals(matrices[finite])).max(axis=-1)
    return radii


def _margins(matrices: Any) -> Any:
    """1 - rho, det(I - M) and det(I + M) for every eigenvalue: positive where one step contracts.

    shape (3 eigenvalues, steps).
    """
    one = np.eye(matrices.shape[-1])
    with np.errstate(all="ignore"):
        return np.concatenate(
            [1 - _radii(matrices), np.linalg.det(one - matrices), np.linalg.det(one + matrices)]
        )


def _dips(margins: Any) -> list[tuple[int, int]]:
    """(step, margin) in order wherever a margin has a local minimum that may reach below 0 between its neighbours."""
    with np.errstate(all="ignore"):
        left, here, right = margins[:, :-2], margins[:, 1:-1], margins[:, 2:]
        depth = np.maximum(left, right) - here
        # A change below 1e-13 is rounding.
        found = (here <= left) & (here <= right) & (depth > np.maximum(here, 1e-13))
    return [(int(k) + 1, int(margin)) for k, margin in np.argwhere(found.T)]


def _balls(read: AffineStep, name: str, other: str) -> list[arb]:
    polynomial = read.rows[name].get(("state", other), ())
    return [c if isinstance(c, arb) else BALLS.number(exact(c)) for c in polynomial]


def _value(polynomial: list[arb], point: arb) -> arb:
    return sum((c * point**k for k, c in enumerate(polynomial)), arb(0))


def _number(value: Any) -> Any:
    return value if isinstance(value, np.ndarray | float) else float(value)
