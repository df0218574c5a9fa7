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

from flint import arb, fmpq, fmpq_mat, fmpq_mpoly_ctx

from sgverify.errors import DefinitionError, NotExpandableError, Unreached
from sgverify.exact.chain.lyapunov import EXACT_SIZE, ContinuousLyapunov
from sgverify.exact.numbers.entrywise import coordinate_keys
from sgverify.exact.numbers.matrix_series import unit_matrix
from sgverify.exact.rings.context import multi_indices
from sgverify.exact.rings.polynomials import Polynomial, evaluate, polynomials_in, to_fmpq, to_fraction
from sgverify.exact.rings.polynomials import partial as partial_derivative
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.operators import coefficients_of, ring_of
from sgverify.schemes import Dynamics
from sgverify.schemes.numbers.algebraic import sqrt_of_rational
from sgverify.targets import Target
from sgverify.targets.form import Monomial, leading_minors, read_form


@dataclass(frozen=True)
class Generator:
    """Drift and half squared diffusion, its diagonal, coordinate by coordinate, as polynomials in the state."""

    coordinates: tuple[str, ...]
    drift: tuple[Polynomial, ...]
    diffusion: tuple[Polynomial, ...]

    @property
    def size(self) -> int:
        """The coordinates of the state."""
        return len(self.coordinates)

    @property
    def degree(self) -> int:
        """The degree of the drift."""
        return max(degree_of(f) for f in self.drift)

    @property
    def affine(self) -> bool:
        """Whether the drift is affine and the noise does not depend on the state, so that X_t is Gaussian."""
        return self.degree <= 1 and all(f.is_constant() for f in self.diffusion)

    def matrices(self) -> tuple[fmpq_mat, fmpq_mat, fmpq_mat]:
        """A, b and 2 a of dX = (A X + b) dt + sigma dW, of an affine dynamics."""
        n = self.size
        zero, *units = [tuple(int(i == j) for j in range(n)) for i in range(-1, n)]
        a = fmpq_mat(n, n, [f[unit] for f in self.drift for unit in units])
        b = fmpq_mat(n, 1, [f[zero] for f in self.drift])
        spread = fmpq_mat(n, n)
        for i, f in enumerate(self.diffusion):
            spread[i, i] = 2 * f[zero]
        return a, b, spread

    def __call__(self, f: Polynomial) -> Polynomial:
        """L f."""
        total = f * 0
        for i, (drift, diffusion) in enumerate(zip(self.drift, self.diffusion, strict=True)):
            total = total + drift * f.derivative(i) + diffusion * f.derivative(i).derivative(i)
        return total

    def text(self, f: Polynomial) -> str:
        """A polynomial by the names of the coordinates."""
        names = list(self.coordinates)
        terms = [
            f"{c} {monomial_text(m, names)}" if any(m) else str(c)
            for m, c in sorted(f.to_dict().items(), reverse=True)
        ]
        return " + ".join(terms) or "0"


def coordinate_names(shapes: Mapping[str, str], dim: int) -> list[str]:
    """theta[0], theta[1], ... in order; the variable's own name in dimension 1, and of a scalar."""
    return [
        name if dim == 1 or shapes[name] != "vector" else f"{name}[{i}]"
        for name, i in coordinate_keys(shapes, dim)
    ]


def monomial_text(monomial: Monomial, names: list[str]) -> str:
    """'theta**2*p' and the like."""
    factors = [
        name if power == 1 else f"{name}**{power}"
        for name, power in zip(names, monomial, strict=True)
        if power
    ]
    return "*".join(factors) or "1"


def form_context(variables: int) -> fmpq_mpoly_ctx:
    """The polynomials in the coordinates of a state, or of theta."""
    return polynomials_in([f"x{i}" for i in range(variables)])


def degree_of(f: Polynomial) -> int:
    """The total degree; 0 of the zero polynomial."""
    return max(0, int(f.total_degree()))


def read_generator(dynamics: Dynamics, target: Target, parameters: Mapping[str, Fraction]) -> Generator:
    """The generator on this target: that for every potential, with the derivatives of this one.

    Raises `Unreached` where drift or diffusion is no polynomial.
    """
    if dynamics.riemannian:
        raise Unreached("the generator of a dynamics with a metric is not followed")
    ring = ring_of(dynamics, target.dim, depth=1, cap=1)
    try:
        drift, squares = coefficients_of(dynamics, ring)
    except NotExpandableError as error:
        raise Unreached(f"its drift or its noise is no polynomial: {error}") from None
    on_target = _OnTarget(ring, target, parameters)
    places = range(len(ring.coordinates))
    return Generator(
        tuple(coordinate_names(dynamics.shapes, target.dim)),
        tuple(map(on_target, drift)),
        tuple(on_target(squares.get((k, k), ring.zero)) for k in places),
    )


class _OnTarget:
    """Elements of a ring as polynomials in the state: derivatives of U are those of a target, parameters are numbers."""

    def __init__(self, ring: Ring, target: Target, parameters: Mapping[str, Fraction]) -> None:
        self._ring, self._context = ring, form_context(len(ring.coordinates))
        self._values: dict[int, Polynomial] = dict(enumerate(self._context.gens()))
        self._parameters = {ring.position("root", name): parameters[name] for name in ring.parameters}
        self._target = target

    def __call__(self, value: Polynomial) -> Polynomial:
        """The polynomial; raises `Unreached` where there is none with rational coefficients."""
        found: Polynomial = evaluate(value.to_dict(), self._power, self._context.constant)
        return found

    def _power(self, position: int, exponent: int) -> Polynomial:
        if position in self._parameters:
            number = sqrt_of_rational(self._parameters[position] ** exponent)
            if not isinstance(number, Fraction):
                raise Unreached("a constant of the dynamics has no fraction")
            return self._context.constant(to_fmpq(number))
        if position not in self._values:
            if position not in self._ring.jets:
                what = self._ring.text(self._ring.generator_at(position))
                raise Unreached(f"{what} is no polynomial in the state with rational coefficients")
            _, _, index = self._ring.jets[position]
            self._values[position] = partial_derivative(self._potential, index)
        return self._values[position] ** exponent

    @cached_property
    def _potential(self) -> Polynomial:
        """U up to a constant."""
        target, size = self._target, len(self._ring.coordinates)
        if target.quadratic:
            slope = target.gradient([Fraction(0)] * target.dim)
            x = self._context.gens()
            rows = zip(target.precision, slope, x, strict=False)
            return sum(
                (
                    at
                    * (to_fmpq(c) + sum((to_fmpq(p / 2) * y for p, y in zip(row, x, strict=False)), fmpq(0)))
                    for row, c, at in rows
                ),
                self._context.constant(0),
            )
        try:
            if target.data is None:
                return in_state(
                    {m: to_fraction(c) for m, c in read_form(target.prior, target.dim).items()}, size
                )
        except DefinitionError:
            pass
        raise Unreached(f"the potential of target.name={target.name!r} is no polynomial")


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

    def constant(self, f: Polynomial, degree: int) -> arb:
        """C with |f| <= C V^(degree/2) everywhere, for a polynomial f of at most this degree."""
        moved = zip(f.context().gens(), self.centre.entries(), strict=True)
        shifted = f.compose(*(x + m for x, m in moved))
        # |y^a| <= |y|^|a| <= (V/floor)^(|a|/2), and V >= 1.
        root = arb(self.floor).sqrt()
        return sum((abs(arb(c)) / root ** sum(m) for m, c in shifted.to_dict().items()), arb(0))


def lyapunov_of(generator: Generator) -> Lyapunov:
    """V of an affine dynamics; raises `NotExpandableError` where the drift does not decay."""
    a, b, _ = generator.matrices()
    if a.nrows() > EXACT_SIZE:
        raise Unreached(
            f"the state has {a.nrows()} coordinates, more than the {EXACT_SIZE} of an exact Lyapunov equation"
        )
    identity = unit_matrix(a.nrows())
    # An eigenvalue on the axis may round to its left: existence and positivity of P are decided in fractions.
    try:
        found = ContinuousLyapunov(a.transpose(), (identity,)).solve(identity * -1)
    except ZeroDivisionError:
        raise NotExpandableError("two of its eigenvalues sum to 0") from None
    rows = [[to_fraction(entry) for entry in row] for row in found.tolist()]
    if not all(minor > 0 for minor in leading_minors(rows)):
        raise NotExpandableError("the solution of its Lyapunov equation is not positive definite")
    return Lyapunov(found, a.inv() * b * -1)


def solve_poisson(generator: Generator, phi: Polynomial) -> tuple[Polynomial, Fraction]:
    """psi without its constant, and phi_bar: the only number for which the equation has a solution of polynomials."""
    context, zero = phi.context(), (0,) * generator.size
    images: dict[Monomial, Polynomial] = {}
    pending = _monomials(phi)
    while pending:
        monomial = pending.pop()
        if monomial in images:
            continue
        if len(images) == MOST_MONOMIALS:
            raise Unreached(f"psi has more than {MOST_MONOMIALS} monomials")
        images[monomial] = generator(context.from_dict({monomial: 1}))
        pending += [m for m in _monomials(images[monomial]) if m not in images]
    order = sorted(images)
    if not order:
        return context.constant(0), to_fraction(phi[zero])
    matrix = fmpq_mat(len(order), len(order), [images[m][row] for row in order for m in order])
    solved = matrix.solve(fmpq_mat(len(order), 1, [phi[m] for m in order]))
    psi = context.from_dict({m: solved[k, 0] for k, m in enumerate(order)})
    return psi, to_fraction((phi - generator(psi))[zero])


def _monomials(f: Polynomial) -> list[Monomial]:
    """The monomials that are no constant."""
    return [tuple(map(int, m)) for m in f.monoms() if any(m)]


def derivatives(f: Polynomial, order: int) -> list[Polynomial]:
    """Every partial derivative of this order."""
    return [partial_derivative(f, index) for index in multi_indices(len(f.context().gens()), order)]


def law_terms(generator: Generator, phi: Polynomial, order: int) -> list[Polynomial]:
    """E phi(X_t) in powers of t to this order, by the Gaussian law of X_t: from m' = A m + b and S' = A S + S A^T + 2 a.

    The computation does not use the generator's action on polynomials, with which it is compared.
    """
    a, b, spread = generator.matrices()
    n, context = generator.size, phi.context()
    powers = [unit_matrix(n)]
    variances = [fmpq_mat(n, n), spread]
    shifts = [fmpq_mat(n, 1), b]
    for k in range(1, order + 1):
        powers.append(a * powers[-1] * fmpq(1, k))
        shifts.append(a * shifts[k] * fmpq(1, k + 1))
        variances.append((a * variances[k] + variances[k] * a.transpose()) * fmpq(1, k + 1))
    means = [
        [
            sum((powers[k][i, j] * context.gen(j) for j in range(n)), context.constant(shifts[k][i, 0]))
            for k in range(order + 1)
        ]
        for i in range(n)
    ]
    covariance = [
        [[context.constant(variances[k][i, j]) for k in range(order + 1)] for j in range(n)] for i in range(n)
    ]
    total = [context.constant(0)] * (order + 1)
    for monomial, c in phi.to_dict().items():
        places = [i for i, power in enumerate(monomial) for _ in range(int(power))]
        moment = _moment(places, means, covariance)
        total = [part + c * term for part, term in zip(total, moment, strict=True)]
    return total


def _moment(
    places: list[int], means: list[list[Polynomial]], covariance: list[list[list[Polynomial]]]
) -> list[Polynomial]:
    """E prod X_i of a Gaussian in powers of t: E X_1 Y = m_1 E Y + sum_j Cov(X_1, X_j) E Y/X_j."""
    orders, nothing = range(len(means[0])), means[0][0] * 0
    if not places:
        return [nothing + int(k == 0) for k in orders]
    first, rest = places[0], places[1:]
    pieces = [(means[first], rest)]
    pieces += [(covariance[first][j], rest[:k] + rest[k + 1 :]) for k, j in enumerate(rest)]
    found = [nothing for _ in orders]
    for factor, left in pieces:
        inner = _moment(left, means, covariance)
        found = [
            total + sum((factor[i] * inner[k - i] for i in range(k + 1)), nothing)
            for k, total in enumerate(found)
        ]
    return found


def in_state(terms: Mapping[Monomial, Fraction], size: int) -> Polynomial:
    """A test function as a polynomial in the whole state."""
    padded = {(*m, *(0,) * (size - len(m))): to_fmpq(c) for m, c in terms.items()}
    return form_context(size).from_dict(padded)
