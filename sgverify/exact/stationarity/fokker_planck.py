"""The stationary Fokker-Planck equation of a dynamics and a density, decided for every smooth potential.

Dynamics and density are read in the ring of the series, with the symbols of U and its derivatives, at h^0 alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, permutations, product
from math import inf
from typing import Any

from flint import arb, fmpq

from sgverify.errors import DefinitionError, NotExpandableError
from sgverify.exact.numbers.ball import BALLS
from sgverify.exact.numbers.entrywise import EntrywiseVector
from sgverify.exact.rings.context import TooShallowError
from sgverify.exact.rings.evaluation import Values
from sgverify.exact.rings.polynomials import Polynomial, to_fmpq, to_fraction
from sgverify.exact.rings.power_series import EXACT, TruncatedSeries
from sgverify.exact.rings.ring import Ring
from sgverify.exact.rings.roots import DIM, as_quotient
from sgverify.exact.series.carrier import ElsewhereError, SeriesInterpreter, shifts_of
from sgverify.exact.series.operators import coefficients_of, derivative_along
from sgverify.schemes import Density, Dynamics
from sgverify.schemes.dynamics import make_density
from sgverify.schemes.numbers.periods import Periods
from sgverify.targets.form import leading_minors

DEPTH = 2
"""The order of the derivatives of U and B: a drift holds one, and its divergence one more; more are tried where these are few."""


def read_density(density: Density, ring: Ring, fixed: Mapping[str, Any] | None = None) -> Polynomial:
    """log rho."""
    reading = SeriesInterpreter(ring, fixed=fixed)

    def potential(theta: EntrywiseVector) -> TruncatedSeries:
        if any(shift.terms for shift in shifts_of(theta.entries, ring, "U")):
            raise ElsewhereError("U", ring.text(theta.entries[0].coefficient(0)))
        return TruncatedSeries(ring, {0: ring.jet("U", 0, (0,) * ring.dim)}, EXACT)

    value = density.log(reading.state(), U=potential, **reading.bind(density).given)
    return value.coefficient(0) if isinstance(value, TruncatedSeries) else ring.constant(value)


EXACT_OR_BALLS = replace(
    BALLS,
    exp=lambda x: arb(x).exp(),
    sqrt=lambda x: arb(x).sqrt(),
    log=lambda x: arb(x).log(),
    coefficient=fmpq,
)
"""Fractions, which become balls where a root or an exponential stands beside them."""

MOST_MINORS = 3
"""The largest Hessian of functions that is told to be definite by its minors; a larger one is where it is diagonal."""

TRIES = 24
PLAIN = (1, 2, 3, -1, 5, -2, 7, -3, 11)


@dataclass(frozen=True)
class Residual:
    """L* rho / rho, L* rho = -div(F rho) + sum_ij d_i d_j (a_ij rho), a = sigma sigma^T / 2.

    `density` is the name of rho, `log_density` its logarithm as text. `zero`: rho is invariant, for every smooth U (and
    every metric), at every value of the parameters that are not `fixed`. A non-zero residual is printed in `text`, and
    `witness` holds values of the state, of derivatives of U and of parameters, with the residual's value there; an empty
    witness means that none was found, and that nothing is decided. `integrable` is False where rho grows in a momentum-like
    variable at every theta, so that it is no density; None where that is not decided; True where rho is integrable if
    exp(-U/T) is. `sums`: something sums over coordinates; `crowd`: the most coordinates that a term has before terms cancel.
    """

    dynamics: str
    density: str
    log_density: str
    dim: int
    text: str
    zero: bool
    witness: dict[str, str]
    integrable: bool | None
    fixed: dict[str, str]
    sums: bool = False
    crowd: float = 1.0

    @property
    def decided(self) -> bool:
        """Whether the residual is proved to be zero, or shown not to be at a point."""
        return self.zero or bool(self.witness)

    @property
    def invariant(self) -> bool:
        """Whether the density is proved to be invariant: the residual is zero, and rho is not shown to be non-integrable."""
        return self.zero and self.integrable is not False


def stationarity_residual(
    dynamics: Dynamics,
    density: Density | Callable[..., Any] | None = None,
    dim: int = 2,
    fixed: Mapping[str, Any] | None = None,
    *,
    symbolic: bool = False,
) -> Residual:
    """The residual of Fokker-Planck in dimension `dim`; `density` is by default the one that the dynamics states.

    `symbolic`: a symbol stands for the `dim` that definitions ask for. `fixed` sets parameters to numbers, {"T": 1} where a
    paper has no temperature. Raises `DefinitionError` where no density is stated, `NotExpandableError` where a definition asks
    for U away from theta.

    >>> from sgverify.schemes import kinetic
    >>> stationarity_residual(kinetic).zero
    True
    """
    stated, fixed = density_of(dynamics, density), dict(fixed or {})
    for depth in range(DEPTH, DEPTH + 3):
        try:
            return _residual(dynamics, stated, ring_for(dynamics, stated, dim, fixed, symbolic, depth), fixed)
        except TooShallowError as error:
            why = error
    raise why


def _residual(dynamics: Dynamics, density: Density, ring: Ring, fixed: Mapping[str, Any]) -> Residual:
    log_density = ring.reduce(read_density(density, ring, fixed))
    drift, squares = coefficients_of(dynamics, ring, fixed)
    left = residual_of(drift, squares, log_density, ring)
    groups = Periods.of((*dynamics.constants, *density.constants)).groups(ring.dim)
    return Residual(
        dynamics=dynamics.name,
        density=density.name,
        log_density=quotient_text(log_density, ring),
        dim=ring.dim,
        text=quotient_text(left, ring),
        zero=not left,
        witness=find_witness(left, ring),
        integrable=integrable(log_density, ring),
        fixed={name: str(value) for name, value in fixed.items()},
        sums=ring.sums,
        crowd=inf if ring.counts else _crowd(drift, squares, log_density, ring, groups),
    )


def _crowd(
    drift: list[Polynomial],
    squares: Mapping[tuple[int, int], Polynomial],
    log_density: Polynomial,
    ring: Ring,
    groups: Sequence[int],
) -> int:
    """The most coordinates of a term of div(F rho) / rho or of d_i d_j (a rho) / rho, those of one of the `groups` counted once."""

    def of(value: Polynomial) -> set[frozenset[int]]:
        degrees = value.degrees()
        entries = {
            k: {groups[i] for i in ring.entries_of(k)} for k, degree in enumerate(degrees) if degree > 0
        }
        return {frozenset().union(*(entries[k] for k in entries if powers[k])) for powers in value.monoms()}

    gradient = [of(derivative_along(log_density, k, ring)) for k in range(len(drift))]
    most = 0
    for k, (name, i) in enumerate(ring.coordinates):
        own = {groups[i]} if ring.shapes[name] == "vector" else set()
        terms = of(drift[k])
        for (row, j), square in squares.items():
            if row == k:
                terms |= {one | other for one in of(square) for other in gradient[j]} | of(square)
        pairs = product(terms or [frozenset[int]()], gradient[k] or [frozenset[int]()])
        most = max(most, *(len(one | other | own) for one, other in pairs))
    return most


def density_of(dynamics: Dynamics, density: Density | Callable[..., Any] | None = None) -> Density:
    """The density to be examined: `density`, or by default the one that the dynamics states."""
    if isinstance(density, Density):
        stated: Density | None = density
    else:
        stated = dynamics.density if density is None else make_density(density, dynamics.shapes)
    if stated is None:
        raise DefinitionError(
            f"dynamics `{dynamics.name}` states no density; expected one for the state ({', '.join(dynamics.state)}); write "
            "@dynamics(..., density=f) with a function f(state, *, U, T) that returns log rho"
        )
    if stated.shapes != dynamics.shapes:
        raise DefinitionError(
            f"density `{stated.name}` has the state {stated.shapes}; dynamics `{dynamics.name}` has {dynamics.shapes}; "
            "expected the same"
        )
    return stated


def ring_for(
    dynamics: Dynamics,
    density: Density,
    dim: int,
    fixed: Mapping[str, Any],
    symbolic: bool = False,
    depth: int = DEPTH,
) -> Ring:
    """The ring that holds a dynamics and a density, with a symbol for `dim` where this is `symbolic`."""
    names = dict.fromkeys((*dynamics.parameters, *density.parameters, *([DIM] if symbolic else [])))
    return Ring(
        dim,
        dynamics.shapes,
        [name for name in names if name not in fixed],
        depth=depth,
        draws=0,
        minibatches=1,
        cap=1,
        metric=dynamics.riemannian,
        positive=dynamics.positive,
    )


def residual_of(
    drift: list[Polynomial],
    squares: Mapping[tuple[int, int], Polynomial],
    log_density: Polynomial,
    ring: Ring,
) -> Polynomial:
    """L* rho / rho = -div J - J . grad log rho, with J = F - a grad log rho - div a the probability current divided by rho."""
    gradient = [derivative_along(log_density, k, ring) for k in range(len(drift))]
    currents = list(drift)
    for (k, j), a in squares.items():
        currents[k] = currents[k] - a * gradient[j] - derivative_along(a, j, ring)
    total = ring.zero
    for k, current in enumerate(map(ring.reduce, currents)):
        # Each part has the denominators of few coordinates; over a common one of all the sum would be large.
        total = total - ring.reduce(derivative_along(current, k, ring) + current * gradient[k])
    return ring.reduce(total) if total else total


def integrable(log_density: Polynomial, ring: Ring) -> bool | None:
    """False where rho is not integrable over the variables besides theta, at any theta; None where that is undecided.

    Decided where log rho = c U + q with c < 0 and q of these variables alone. A q of degree at most 2 is integrable iff its
    quadratic part is negative definite, another one where it is concave at every state with its maximum at 0. Signs that numbers
    decide are taken at the parameters' value 1 (and at what they are fixed to).
    """
    others = [k for k, (name, _) in enumerate(ring.coordinates) if name != "theta"]
    slope = log_density.derivative(ring.position("U", 0, (0,) * ring.dim))
    gradient = [derivative_along(log_density, k, ring) for k in others]
    known = ring.parameter_positions | ring.opaque.keys() | set(others)
    if not (log_density and ring.depends_only_on_parameters(slope) and ring.occurring(*gradient) <= known):
        return None
    bends = [[-ring.reduce(derivative_along(g, k, ring)) for k in others] for g in gradient]
    at_one = Values(ring, lambda place: fmpq(1), EXACT_OR_BALLS)
    if all(ring.depends_only_on_parameters(bend) for row in bends for bend in row):
        form = [[to_fraction(at_one(bend)) for bend in row] for row in bends]
        # By the leading minors (Sylvester).
        if not all(minor > 0 for minor in leading_minors(form)):
            return False
    elif not _is_concave(bends, gradient, others, ring):
        return None
    return True if slope and at_one(slope) < 0 else None


def _is_concave(
    bends: list[list[Polynomial]], gradient: list[Polynomial], others: list[int], ring: Ring
) -> bool:
    """Whether terms show the leading minors of a Hessian, its sign changed, to be positive, and the gradient vanishes at 0."""
    try:
        at_rest = Values(ring, lambda place: fmpq(place not in others), EXACT_OR_BALLS)
        if any(at_rest(g) != 0 for g in gradient):
            return False
        for size in range(1, len(others) + 1 if len(others) <= MOST_MINORS else 1):
            minor = ring.zero
            for order in permutations(range(size)):
                term = ring.constant((-1) ** sum(a > b for a, b in combinations(order, 2)))
                for row, column in enumerate(order):
                    term = term * bends[row][column]
                minor = minor + term
            if not _is_positive(ring.reduce(minor), ring):
                return False
    except NotExpandableError:
        return False
    return all(
        not bend or (row == column and _is_positive(bend, ring))
        for row, bends_of in enumerate(bends)
        for column, bend in enumerate(bends_of)
        if len(others) > MOST_MINORS
    )


def _is_positive(value: Polynomial, ring: Ring) -> bool:
    """Whether terms show a value to be positive at every state, over one denominator."""
    return all(ring.signs_of.of(part) == 2 for part in as_quotient(value, ring))


def quotient_text(value: Polynomial, ring: Ring) -> str:
    """An element as text, over one denominator."""
    above, below = as_quotient(value, ring)
    common = above.gcd(below) * (below.leading_coefficient() if value else 1)
    top, bottom = ring.text(above / common), ring.text(below / common)
    if bottom == "1":
        return top
    return f"{f'({top})' if ' + ' in top or ' - ' in top else top} / {f'({bottom})' if ' ' in bottom else bottom}"


def find_witness(value: Polynomial, ring: Ring) -> dict[str, str]:
    """Values of the symbols that occur at which `value` is not zero, and the value there; empty where none is found.

    A smooth U may have any derivatives at a point, so that such a point refutes that `value` vanishes for all U. With
    roots, exponentials or logarithms the value is enclosed in a ball that excludes 0.
    """
    if not value:
        return {}
    # Those in the arguments of roots and exponentials too.
    places = sorted(ring.occurring(value) - ring.opaque.keys())
    for attempt in range(TRIES):
        chosen = {
            place: Fraction(
                PLAIN[(attempt * (k + 1)) % len(PLAIN)] if _free(ring, place) else 1 + attempt % 3
            )
            for k, place in enumerate(places)
        }
        if _at(value, chosen, ring) is None:
            continue
        for place in places:
            # A witness with mostly zeros is easy to check by hand.
            fewer = {**chosen, place: Fraction(0)}
            if _free(ring, place) and _at(value, fewer, ring) is not None:
                chosen = fewer
        found = {ring.label(place)[0]: str(number) for place, number in chosen.items()}
        return {**found, "residual": str(_at(value, chosen, ring))}
    return {}


def _free(ring: Ring, place: int) -> bool:
    """Whether a symbol may take any sign, and zero: not so parameters, nor the diagonal of B, which is invertible."""
    key = ring.keys[place]
    if key[0] == "B":
        return key[1] % (ring.dim + 1) != 0 or any(key[2])
    return place not in ring.signs_of.positive


def _at(value: Polynomial, chosen: dict[int, Fraction], ring: Ring) -> Any:
    """The value at a point, exact or as a ball that excludes 0; None where it is 0, undefined or may be 0."""
    parameters = {ring.keys[k][1]: to_fmpq(n) for k, n in chosen.items() if k in ring.parameter_positions}
    values = Values(ring, lambda place: to_fmpq(chosen[place]), EXACT_OR_BALLS, parameters)
    try:
        found = values(value)
    except (ZeroDivisionError, ValueError):
        return None
    if isinstance(found, arb):
        return found if found.is_finite() and not found.contains(0) else None
    return found or None
