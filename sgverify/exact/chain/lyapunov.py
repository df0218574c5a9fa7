"""Discrete Lyapunov equations by doubling, with a rigorous remainder, and the certificate of stability.

Continuous Lyapunov equations A S + S A^T = R: exact on rational matrices, certified on balls.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import flint
import numpy as np
from flint import arb, arb_mat

from sgverify.errors import InstabilityError, NotExpandableError
from sgverify.exact.chain.chain import components, restricted
from sgverify.exact.numbers.ball import PrecisionLostError, frobenius, identity, symmetric_middle, widened
from sgverify.exact.numbers.entrywise import applied

_SQUARINGS = 100

_ROUNDING = 1e-9
"""Eigenvalues in float64 that are nearer to 1 are not told from it; defective ones have errors of the root of a rounding."""


@dataclass(frozen=True)
class Contraction:
    """A matrix M of spectral radius below 1, with powers M^(2^i) up to one of norm below 2^-bits.

    That last norm is the certificate: |M^(2^k)| < 1 proves that the spectral radius is below 1.
    """

    powers: tuple[arb_mat, ...]
    tail: arb

    @classmethod
    def of(cls, map_: arb_mat) -> Contraction:
        """Square M until its norm is negligible; raises InstabilityError naming the spectral radius."""
        power = map_
        powers: list[arb_mat] = []
        negligible, hopeless = arb(2) ** -flint.ctx.prec, arb(2) ** 512
        for _ in range(_SQUARINGS):
            norm = frobenius(power)
            if norm < negligible:
                return cls(tuple(powers), norm.upper())
            if not norm < hopeless:
                break
            powers.append(power)
            power = power * power
        radius = spectral_radius(map_)
        if abs(radius - 1.0) < _ROUNDING:
            raise InstabilityError(
                "spectral radius=1 within rounding: it is not told from 1, and one step is stable only below 1; take another step "
                "size, a larger one if it is tiny"
            )
        if radius >= 1.0:
            raise InstabilityError(
                f"spectral radius={radius:.6g}: one step is stable only below 1; take a smaller step size"
            )
        bits = flint.ctx.prec
        raise PrecisionLostError(f"spectral radius={radius!r}: below 1, but {bits} bits cannot certify it")

    @cached_property
    def transposed(self) -> tuple[arb_mat, ...]:
        """The transposes of the powers."""
        return tuple(power.transpose() for power in self.powers)

    def forward(self, covariance: arb_mat) -> arb_mat:
        """S = Q + M S M^T = sum_j M^j Q M^jT, the stationary covariance (Smith's doubling).

        The remainder of the doubling is P S P^T with P the last power, at most |P|^2 |sum so far| / (1 -
        |P|^2).
        """
        total = covariance
        for power, transpose in zip(self.powers, self.transposed, strict=True):
            total = total + power * total * transpose
        return self._closed(total, 2)

    def adjoint(self, form: arb_mat) -> arb_mat:
        """E = A + M^T E M = sum_j M^jT A M^j, the solution of the discrete Poisson equation."""
        total = form
        for power, transpose in zip(self.powers, self.transposed, strict=True):
            total = total + transpose * total * power
        return self._closed(total, 2)

    def tensor(self, tensor: arb_mat, order: int) -> arb_mat:
        """T = K + (M x ... x M) T for a symmetric tensor of this order: a stationary cumulant."""
        total = tensor
        for power in self.powers:
            total = total + applied(total, [power] * order)
        return self._closed(total, order)

    def _closed(self, total: arb_mat, order: int) -> arb_mat:
        left = self.tail**order
        return widened(total, left / (1 - left) * frobenius(total))


CERTIFYING = 320
"""The bits at which a contraction is certified where its powers are not needed: enough for one of 1 - 2^-64."""


def require_contraction(map_: arb_mat) -> None:
    """Raise as `Contraction.of` does, unless some power of the matrix has a norm below 1."""
    with flint.ctx.workprec(min(flint.ctx.prec, CERTIFYING)):
        Contraction.of(map_)


def spectral_radius(map_: arb_mat) -> float:
    """The largest |eigenvalue| of M in floating point: for messages; `Contraction` certifies."""
    return float(np.abs(np.linalg.eigvals(floats(map_))).max())


def floats(values: arb_mat) -> np.ndarray:
    """The midpoints as a float64 array."""
    flat = [float(entry.mid()) for entry in values.entries()]
    return np.array(flat).reshape(values.nrows(), values.ncols())


EXACT_SIZE = 24
"""The largest coupled block that is solved in fractions: n (n + 1) / 2 unknowns."""

Matrix = Any
"""An fmpq_mat or an arb_mat: flint types its matrices without a common base."""


@dataclass(frozen=True)
class ContinuousLyapunov:
    """The equation A S + S A^T = R with R symmetric, on each coupled block of its coordinates apart.

    `couplings` are the matrices, R among them, whose non-zero entries join coordinates to blocks. Raises
    NotExpandableError where A has an eigenvalue that does not decay: there is then no invariant law to
    expand.
    """

    drift: Matrix
    couplings: tuple[Matrix, ...] = ()

    def __post_init__(self) -> None:
        require_decay(self.drift)

    def solve(self, right: Matrix) -> Matrix:
        """S with A S + S A^T = R; the type of R, or balls where a block is too large for fractions."""
        if all(entry == 0 for entry in right.entries()):
            return right
        solved = [
            block.solve(restricted(right, group))
            for group, block in zip(self._groups, self._blocks, strict=True)
        ]
        balls = any(isinstance(part, arb_mat) for part in solved)
        size = right.nrows()
        rows: list[list[Any]] = [[0] * size for _ in range(size)]
        for group, part in zip(self._groups, solved, strict=True):
            for i, a in enumerate(group):
                for j, b in enumerate(group):
                    rows[a][b] = part[i, j]
        return arb_mat(rows) if balls else type(right)(rows)

    @cached_property
    def _groups(self) -> list[list[int]]:
        return components(self.drift.nrows(), [self.drift, *self.couplings])

    @cached_property
    def _blocks(self) -> list[_Rational | _Symmetric | _Cayley]:
        found: list[_Rational | _Symmetric | _Cayley] = []
        for group in self._groups:
            part = restricted(self.drift, group)
            if not isinstance(part, arb_mat) and part.nrows() <= EXACT_SIZE:
                found.append(_Rational(part))
                continue
            nearly = floats(arb_mat(part))
            symmetric = len(nearly) > EXACT_SIZE and np.array_equal(nearly, nearly.T)
            found.append((_Symmetric if symmetric else _Cayley)(arb_mat(part)))
        return found


@dataclass(frozen=True)
class _Rational:
    """The n (n + 1) / 2 linear equations of one block in a field."""

    drift: Matrix

    def solve(self, right: Matrix) -> Matrix:
        pairs, equations = self._pairs, self._equations
        column = type(right)(len(pairs), 1, [right[i, j] for i, j in pairs])
        values = (arb_mat(equations) if isinstance(right, arb_mat) else equations).solve(column)
        n = self.drift.nrows()
        at = {pair: values[k, 0] for k, pair in enumerate(pairs)}
        return type(right)([[at[min(i, j), max(i, j)] for j in range(n)] for i in range(n)])

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        n = self.drift.nrows()
        return [(i, j) for i in range(n) for j in range(i, n)]

    @cached_property
    def _equations(self) -> Matrix:
        n, a = self.drift.nrows(), self.drift.tolist()
        place = {pair: k for k, pair in enumerate(self._pairs)}
        rows: list[list[Any]] = []
        for i, j in self._pairs:
            row: list[Any] = [0] * len(place)
            for k in range(n):
                row[place[min(k, j), max(k, j)]] += a[i][k]
                row[place[min(i, k), max(i, k)]] += a[j][k]
            rows.append(row)
        return type(self.drift)(rows)


@dataclass(frozen=True)
class _Cayley:
    """The equation in balls: with B = (A - p)^-1 and C = B (A + p) it is S = C S C^T - 2 p B R B^T, p > 0."""

    drift: arb_mat

    def solve(self, right: Matrix) -> Matrix:
        moved = self._resolvent * arb_mat(right) * self._resolvent.transpose()
        return self._contraction.forward(moved * (-2 * self._shift))

    @cached_property
    def _shift(self) -> arb:
        # Any positive p is right; the geometric mean of the eigenvalues contracts fast.
        sizes = np.abs(np.linalg.eigvals(floats(self.drift)))
        return arb(float(np.sqrt(sizes.min() * sizes.max())))

    @cached_property
    def _resolvent(self) -> arb_mat:
        return (self.drift - identity(self.drift.nrows()) * self._shift).inv()

    @cached_property
    def _contraction(self) -> Contraction:
        try:
            return Contraction.of(self._resolvent * (self.drift + identity(self.drift.nrows()) * self._shift))
        except InstabilityError as error:
            raise NotExpandableError(
                f"the drift of the step does not decay to first order in h ({error})"
            ) from error


_SWEEPS = 3
"""Refinements of eigenvectors that are right to 16 digits: each doubles the digits."""


@dataclass(frozen=True)
class _Symmetric:
    """The equation in balls entry by entry in eigenvectors X of the drift, which cost once what a doubling costs each time.

    Whatever X is, the residual bounds the error: for every A and symmetric S, <S, A S + S A^T> = <S, (A + A^T) S>, so that
    |S|_F <= |A S + S A^T|_F/(2 m), where m > 0 is the least eigenvalue of -(A + A^T)/2.
    """

    drift: arb_mat

    def solve(self, right: Matrix) -> Matrix:
        right = arb_mat(right)
        x, values, least = self._axes
        if least > 0:
            n, turned = right.nrows(), (x.transpose() * right * x).tolist()
            parts = [turned[i][j] / (values[i] + values[j]) for i in range(n) for j in range(n)]
            found = symmetric_middle(x * arb_mat(n, n, parts).mid() * x.transpose())
            moved = self.drift * found
            off = frobenius(moved + moved.transpose() - right) / (2 * least)
            if off < arb(2) ** -(flint.ctx.prec // 2) * frobenius(found):
                return widened(found, off)
        # Eigenvalues that nearly coincide leave eigenvectors of fewer digits.
        return self._doubled.solve(right)

    @cached_property
    def _doubled(self) -> _Cayley:
        return _Cayley(self.drift)

    @cached_property
    def _axes(self) -> tuple[arb_mat, list[arb], arb]:
        """Eigenvectors, by the refinement of Ogita and Aishima (2018), eigenvalues, and a lower bound of m."""
        a, n = symmetric_middle(self.drift), self.drift.nrows()
        _, start = np.linalg.eigh(floats(a))
        x = arb_mat(start.tolist())
        for _ in range(_SWEEPS):
            lost = (identity(n) - x.transpose() * x).tolist()
            turned = (x.transpose() * a * x).tolist()
            own = [(turned[i][i] / (1 - lost[i][i])).mid() for i in range(n)]
            shift = [[lost[i][j] / 2 for j in range(n)] for i in range(n)]
            for i in range(n):
                for j in range(n):
                    if own[i] != own[j]:
                        shift[i][j] = (turned[i][j] + own[j] * lost[i][j]) / (own[j] - own[i])
                shift[i][i] = lost[i][i] / 2
            x = (x + x * arb_mat(shift).mid()).mid()
        diagonal = arb_mat([[own[i] if i == j else 0 for j in range(n)] for i in range(n)])
        # -(A + A^T)/2 = X (-D) X^T less a rest, and |X v|^2 >= (1 - |I - X^T X|) |v|^2.
        rest = frobenius((self.drift + self.drift.transpose()) / 2 - x * diagonal * x.transpose())
        bent = frobenius(identity(n) - x.transpose() * x)
        least = min((-value for value in own), key=float) * (1 - bent) - rest
        return x, own, least.lower()


def require_decay(drift: Matrix) -> None:
    """Raise NotExpandableError unless every eigenvalue of the drift has a negative real part."""
    rightmost = float(np.linalg.eigvals(floats(arb_mat(drift))).real.max())
    if not rightmost < 0:
        raise NotExpandableError(
            f"drift eigenvalue with real part {rightmost:.6g}: the mean of the state does not decay to first"
            " order in h, so the step has no invariant law to expand at h = 0"
        )


def transposed(matrices: Iterable[Matrix]) -> tuple[Matrix, ...]:
    """The transposes."""
    return tuple(matrix.transpose() for matrix in matrices)
