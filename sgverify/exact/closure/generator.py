"""The generator of a dynamics on polynomials: L f = F . grad f + a : Hess f, F and a polynomials in the state.

The Poisson equation L psi = phi - phi_bar of an affine dynamics, its polynomial solution, and a Lyapunov function for it.

With dX = (A X + b) dt + sigma dW and every eigenvalue of A to the left of 0, L maps the polynomials of a degree into themselves
and is invertible on them up to constants. P with A^T P + P A = -1 is positive definite, and with m = -A^-1 b

    V(x) = 1 + (x - m)^T P (x - m),    <grad V, A x + b> = -|x - m|^2 <= -(V - 1)/tr P.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import perm, prod
from typing import Any

from flint import arb, fmpq, fmpq_mat

from sgverify.errors import NotExpandableError, Unreached
from sgverify.exact.chain.lyapunov import EXACT_SIZE, ContinuousLyapunov
from sgverify.exact.closure.carrier import MomentRing, coordinate_names, in_ring, polynomials_of, symbols_of
from sgverify.exact.closure.moments import Monomial, derivative, monomial_text, polynomial_gradient
from sgverify.exact.rings.polynomials import to_fmpq, to_fraction
from sgverify.exact.rings.ring import multi_indices
from sgverify.schemes import Dynamics
from sgverify.schemes.definition.binding import Carrier, bind
from sgverify.targets import Target
from sgverify.targets.form import Form


@dataclass(frozen=True)
class Generator:
    """Drift and half squared diffusion, its diagonal, coordinate by coordinate, as polynomials in the state."""

    coordinates: tuple[str, ...]
    drift: tuple[Form, ...]
    diffusion: tuple[Form, ...]

    @property
    def size(self) -> int:
        """The coordinates of the state."""
        return len(self.coordinates)

    @property
    def degree(self) -> int:
        """The degree of the drift."""
        return max((sum(m) for form in self.drift for m in form), default=0)

    @property
    def affine(self) -> bool:
        """Whether the drift is affine and the noise does not depend on the state, so that X_t is Gaussian."""
        return self.degree <= 1 and not any(any(m) for form in self.diffusion for m in form)

    def matrices(self) -> tuple[fmpq_mat, fmpq_mat, fmpq_mat]:
        """A, b and 2 a of dX = (A X + b) dt + sigma dW, of an affine dynamics."""
        n = self.size
        units = [tuple(int(i == j) for j in range(n)) for i in range(n)]
        zero = fmpq(0)
        a = fmpq_mat(n, n, [form.get(unit, zero) for form in self.drift for unit in units])
        b = fmpq_mat(n, 1, [form.get((0,) * n, zero) for form in self.drift])
        spread = fmpq_mat(n, n)
        for i, form in enumerate(self.diffusion):
            spread[i, i] = 2 * form.get((0,) * n, zero)
        return a, b, spread

    def __call__(self, f: Form) -> Form:
        """L f."""
        found: Form = {}
        for i in range(self.size):
            once = derivative(f, i)
            for factor, part in ((self.drift[i], once), (self.diffusion[i], derivative(once, i))):
                add_product(found, factor, part)
        return {m: c for m, c in found.items() if c}

    def text(self, form: Form) -> str:
        """A polynomial by the names of the coordinates."""
        names = list(self.coordinates)
        terms = [
            f"{c} {monomial_text(m, names)}" if any(m) else str(c)
            for m, c in sorted(form.items(), reverse=True)
        ]
        return " + ".join(terms) or "0"


def read_generator(dynamics: Dynamics, target: Target, parameters: Mapping[str, Fraction]) -> Generator:
    """The generator on this target; raises `Unreached` where drift or diffusion is no polynomial."""
    if dynamics.riemannian:
        raise Unreached("the generator of a dynamics with a metric is not followed")
    dim = target.dim
    coordinates = coordinate_names(dynamics.shapes, dim)
    ring = MomentRing(coordinates, 0)
    numbers = {name: parameters[name] for name in dynamics.parameters}
    bound = bind(dynamics, Carrier(number=lambda value: in_ring(ring, value)), numbers, dim=Fraction(dim))
    read = bound.coefficients(symbols_of(ring, dynamics.shapes, dim), grad=polynomial_gradient(target))
    drift, diffusion = (_forms(part, dynamics.shapes, dim, ring) for part in read)
    return Generator(tuple(coordinates), drift, diffusion)


def add_product(total: Form, left: Form, right: Form) -> None:
    """Add the product of two polynomials to `total`."""
    for m, c in left.items():
        for k, d in right.items():
            power: Monomial = tuple(i + j for i, j in zip(m, k, strict=True))
            total[power] = total.get(power, fmpq(0)) + c * d


def _forms(
    values: tuple[Any, ...], shapes: Mapping[str, str], dim: int, ring: MomentRing
) -> tuple[Form, ...]:
    found = []
    for polynomial in polynomials_of(values, ring, shapes, dim):
        form: Form = {}
        for exponents, c in polynomial.to_dict().items():
            if any(exponents[: ring.first_state]):
                raise Unreached("a constant of the dynamics has no fraction")
            form[tuple(int(e) for e in exponents[ring.first_state : ring.first_draw])] = c
        found.append(form)
    return tuple(found)


MOST_MONOMIALS = 300
ORDERS = (0, 1, 2, 3)
"""The orders of the derivatives of psi in Assumption 1."""


@dataclass(frozen=True, eq=False)
class Lyapunov:
    """V, by the precision P and the centre m."""

    precision: fmpq_mat
    centre: fmpq_mat

    @cached_property
    def rate(self) -> Fraction:
        """alpha = beta of <grad V, F> <= -alpha V + beta: 1/tr P, as no eigenvalue of P is above its trace."""
        return 1 / to_fraction(sum((self.precision[i, i] for i in range(self.precision.nrows())), fmpq(0)))

    @cached_property
    def floor(self) -> fmpq:
        """A number that no eigenvalue of P is below, so that V >= 1 + floor |x - m|^2."""
        inverse = self.precision.inv()
        return 1 / sum((inverse[i, i] for i in range(inverse.nrows())), fmpq(0))

    def constant(self, form: Form, degree: int) -> arb:
        """C with |f| <= C V^(degree/2) everywhere, for a polynomial f of at most this degree."""
        shifted: Form = {}
        n = self.centre.nrows()
        for monomial, c in form.items():
            part: Form = {(0,) * n: c}
            for i, power in enumerate(monomial):
                factor = {tuple(int(i == j) for j in range(n)): fmpq(1), (0,) * n: self.centre[i, 0]}
                for _ in range(power):
                    grown: Form = {}
                    add_product(grown, part, factor)
                    part = grown
            for m, value in part.items():
                shifted[m] = shifted.get(m, fmpq(0)) + value
        # |y^a| <= |y|^|a| <= (V/floor)^(|a|/2), and V >= 1.
        root = arb(self.floor).sqrt()
        return sum((abs(arb(c)) / root ** sum(m) for m, c in shifted.items()), arb(0))


def lyapunov_of(generator: Generator) -> Lyapunov:
    """V of an affine dynamics; raises `NotExpandableError` where the drift does not decay."""
    a, b, _ = generator.matrices()
    if a.nrows() > EXACT_SIZE:
        raise Unreached(
            f"the state has {a.nrows()} coordinates, more than the {EXACT_SIZE} of an exact Lyapunov equation"
        )
    identity = fmpq_mat(
        a.nrows(), a.nrows(), [int(i == j) for i in range(a.nrows()) for j in range(a.nrows())]
    )
    # An eigenvalue on the axis may round to its left: existence and positivity of P are decided in fractions.
    try:
        found = ContinuousLyapunov(a.transpose(), (identity,)).solve(identity * -1)
    except ZeroDivisionError:
        raise NotExpandableError("two of its eigenvalues sum to 0") from None
    if not all(minor > 0 for minor in _leading_minors(found)):
        raise NotExpandableError("the solution of its Lyapunov equation is not positive definite")
    return Lyapunov(found, a.inv() * b * -1)


def _leading_minors(matrix: fmpq_mat) -> list[fmpq]:
    rows = matrix.tolist()
    return [
        fmpq_mat(k, k, [entry for row in rows[:k] for entry in row[:k]]).det()
        for k in range(1, len(rows) + 1)
    ]


def solve_poisson(generator: Generator, phi: Form) -> tuple[Form, Fraction]:
    """psi without its constant, and phi_bar: the only number for which the equation has a solution of polynomials."""
    zero: Monomial = (0,) * generator.size
    images: dict[Monomial, Form] = {}
    pending = [m for m in phi if m != zero]
    while pending:
        monomial = pending.pop()
        if monomial in images:
            continue
        if len(images) == MOST_MONOMIALS:
            raise Unreached(f"psi has more than {MOST_MONOMIALS} monomials")
        images[monomial] = generator({monomial: fmpq(1)})
        pending += [m for m in images[monomial] if m != zero and m not in images]
    order = sorted(images)
    if not order:
        return {}, to_fraction(phi.get(zero, fmpq(0)))
    zeros = fmpq(0)
    matrix = fmpq_mat(len(order), len(order), [images[m].get(row, zeros) for row in order for m in order])
    right = fmpq_mat(len(order), 1, [phi.get(m, zeros) for m in order])
    solved = matrix.solve(right)
    psi = {m: solved[k, 0] for k, m in enumerate(order) if solved[k, 0] != 0}
    left = sum((c * images[m].get(zero, zeros) for m, c in psi.items()), zeros)
    return psi, to_fraction(phi.get(zero, zeros) - left)


def derivatives(form: Form, size: int, order: int) -> list[Form]:
    """Every partial derivative of this order."""
    found = []
    for index in multi_indices(size, order):
        part: Form = {}
        for m, c in form.items():
            if all(n >= k for n, k in zip(m, index, strict=True)):
                lower = tuple(n - k for n, k in zip(m, index, strict=True))
                part[lower] = c * prod(perm(n, k) for n, k in zip(m, index, strict=True))
        found.append(part)
    return found


def law_terms(generator: Generator, phi: Form, order: int) -> list[Form]:
    """E phi(X_t) in powers of t to this order, by the Gaussian law of X_t: from m' = A m + b and S' = A S + S A^T + 2 a.

    The computation does not use the generator's action on polynomials, with which it is compared.
    """
    a, b, spread = generator.matrices()
    n = generator.size
    units = [tuple(int(i == j) for j in range(n)) for i in range(n)]
    zero: Monomial = (0,) * n
    powers = [fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])]
    variances = [fmpq_mat(n, n), spread]
    shifts = [fmpq_mat(n, 1), b]
    for k in range(1, order + 1):
        powers.append(a * powers[-1] * fmpq(1, k))
        shifts.append(a * shifts[k] * fmpq(1, k + 1))
        variances.append((a * variances[k] + variances[k] * a.transpose()) * fmpq(1, k + 1))
    means: list[list[Form]] = []
    for i in range(n):
        means.append([])
        for k in range(order + 1):
            form = {units[j]: powers[k][i, j] for j in range(n) if powers[k][i, j] != 0}
            if shifts[k][i, 0] != 0:
                form[zero] = shifts[k][i, 0]
            means[i].append(form)
    covariance = [[[variances[k][i, j] for k in range(order + 1)] for j in range(n)] for i in range(n)]
    total: list[Form] = [{} for _ in range(order + 1)]
    for monomial, c in phi.items():
        places = [i for i, power in enumerate(monomial) for _ in range(power)]
        for part, term in zip(total, _moment(places, means, covariance, order, zero), strict=True):
            add_product(part, {zero: c}, term)
    return [{m: c for m, c in part.items() if c} for part in total]


def _moment(
    places: list[int], means: list[list[Form]], covariance: list[list[list[fmpq]]], order: int, zero: Monomial
) -> list[Form]:
    """E prod X_i of a Gaussian in powers of t: E X_1 Y = m_1 E Y + sum_j Cov(X_1, X_j) E Y/X_j."""
    if not places:
        return [{zero: fmpq(1)}, *({} for _ in range(order))]
    first, rest = places[0], places[1:]
    found: list[Form] = [{} for _ in range(order + 1)]
    pieces = [(means[first], rest)]
    pieces += [
        ([{zero: c} if c else {} for c in covariance[first][j]], rest[:k] + rest[k + 1 :])
        for k, j in enumerate(rest)
    ]
    for factor, left in pieces:
        inner = _moment(left, means, covariance, order, zero)
        for k in range(order + 1):
            for i in range(k + 1):
                if factor[i] and inner[k - i]:
                    add_product(found[k], factor[i], inner[k - i])
    return found


def rational_form(terms: dict[Monomial, Fraction], size: int) -> Form:
    """A test function as a polynomial in the whole state."""
    return {(*m, *(0,) * (size - len(m))): to_fmpq(c) for m, c in terms.items() if c}
