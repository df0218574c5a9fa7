"""The stationary Fokker-Planck equation of a dynamics and a density, decided for every smooth potential.

Dynamics and density are evaluated on the differential field, coordinate by coordinate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any

from flint import arb, fmpq

from sgverify.errors import DefinitionError, NotExpandableError
from sgverify.exact.numbers.ball import BALLS
from sgverify.exact.numbers.entrywise import (
    EntrywiseVector,
    RootMetric,
    coordinates_of,
    squares_of,
    state_of,
    transpose,
)
from sgverify.exact.rings.differential_field import Element, Field
from sgverify.exact.rings.evaluation import Values
from sgverify.exact.rings.polynomials import Polynomial, to_fmpq, to_fraction
from sgverify.exact.rings.roots import DIM
from sgverify.schemes import Density, Dynamics
from sgverify.schemes.dynamics import make_density
from sgverify.schemes.numbers.periods import Periods
from sgverify.targets.form import leading_minors


class Functions(RootMetric):
    """U, its gradient and the metric at the position of the state, as symbols."""

    def __init__(self, field: Field) -> None:
        self._field = field

    def potential(self, theta: EntrywiseVector) -> Element:
        """U(theta)."""
        self._check(theta, "U")
        return self._field.symbol("U", 0, (0,) * self._field.dim)

    def gradient(self, theta: EntrywiseVector) -> EntrywiseVector:
        """grad U(theta)."""
        self._check(theta, "grad")
        dim = self._field.dim
        return EntrywiseVector(
            [self._field.symbol("U", 0, tuple(int(i == k) for k in range(dim))) for i in range(dim)]
        )

    def divergence(self, theta: EntrywiseVector) -> EntrywiseVector:
        """The vector sum_j d_j (G^-1)_ij."""
        return self._divergence(self.diffusion(theta).rows)

    def root_divergence(self, theta: EntrywiseVector) -> EntrywiseVector:
        """The vector sum_j d_j B_ji."""
        return self._divergence(transpose(self.rows(theta)))

    def _divergence(self, rows: list[list[Element]]) -> EntrywiseVector:
        field = self._field
        places = [field.coordinates.index(("theta", j)) for j in range(field.dim)]
        zero = field.element(0)
        return EntrywiseVector(
            [sum((field.derivative(b, j) for b, j in zip(row, places, strict=True)), zero) for row in rows]
        )

    def rows(self, theta: EntrywiseVector) -> list[list[Element]]:
        """B."""
        self._check(theta, "metric")
        field, here = self._field, (0,) * self._field.dim
        flat = [field.symbol("B", member, here) for member in range(field.dim**2)]
        return [flat[i * field.dim : (i + 1) * field.dim] for i in range(field.dim)]

    def _check(self, theta: EntrywiseVector, name: str) -> None:
        here = [self._field.symbol("theta", i) for i in range(self._field.dim)]
        if not isinstance(theta, EntrywiseVector) or any(
            a - b for a, b in zip(theta.entries, here, strict=True)
        ):
            raise NotExpandableError(f"{name} at another place than theta")


def read_dynamics(dynamics: Dynamics, field: Field) -> tuple[list[Element], list[list[Element]]]:
    """Drift F and half squared diffusion a = sigma sigma^T / 2 in coordinates."""
    drift, diffusion = dynamics.coefficients(_state(field), **_ingredients(dynamics, field))
    size = len(field.coordinates)
    squares = [[field.element(0) for _ in range(size)] for _ in range(size)]
    for (i, j), value in squares_of(diffusion, field.shapes, field.dim).items():
        squares[i][j] = field.element(value)
    return [field.element(value) for value in coordinates_of(drift, field.shapes, field.dim)], squares


def read_density(density: Density, field: Field) -> Element:
    """log rho."""
    return field.element(density.log(_state(field), **_ingredients(density, field)))


def _state(field: Field) -> tuple[Any, ...]:
    return state_of(field.shapes, field.dim, lambda name, i: Element(field, field.coordinate(name, i)))


def _ingredients(definition: Dynamics | Density, field: Field) -> dict[str, Any]:
    functions = Functions(field)
    return {
        "U": functions.potential,
        "grad": functions.gradient,
        "metric": functions,
        "dim": field.parameter(DIM) if DIM in field.parameters else field.dim,
        **{name: field.parameter(name) for name in definition.parameters},
    }


EXACT_OR_BALLS = replace(
    BALLS,
    exp=lambda x: arb(x).exp(),
    sqrt=lambda x: arb(x).sqrt(),
    log=lambda x: arb(x).log(),
    coefficient=fmpq,
)
"""Fractions, which become balls where a root or an exponential stands beside them."""

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
    stated = density_of(dynamics, density)
    field = field_of(dynamics, stated, dim, fixed, symbolic)
    log_density = read_density(stated, field)
    drift, squares = read_dynamics(dynamics, field)
    left = residual_of(drift, squares, log_density, field)
    groups = Periods.of((*dynamics.constants, *stated.constants)).groups(dim)
    return Residual(
        dynamics=dynamics.name,
        density=stated.name,
        log_density=str(log_density),
        dim=dim,
        text=str(left) if left else "0",
        zero=not left,
        witness=find_witness(left),
        integrable=integrable(log_density, field),
        fixed={name: str(value) for name, value in field.fixed.items()},
        sums=field.sums,
        crowd=inf if field.counts else _crowd(drift, squares, log_density, field, groups),
    )


def _crowd(
    drift: list[Element],
    squares: list[list[Element]],
    log_density: Element,
    field: Field,
    groups: Sequence[int],
) -> int:
    """The most coordinates of a term of div(F rho) / rho or of d_i d_j (a rho) / rho, those of one of the `groups` counted once."""

    def of(*values: Element) -> set[frozenset[int]]:
        return {kinds for value in values for kinds in _coordinates(value, groups)}

    gradient = [of(field.derivative(log_density, k)) for k in range(len(drift))]
    most = 0
    for k, (name, i) in enumerate(field.coordinates):
        own = {groups[i]} if field.shapes[name] == "vector" else set()
        terms = of(drift[k])
        for j, square in enumerate(squares[k]):
            terms |= {one | other for one in of(square) for other in gradient[j]} | of(square)
        most = max(
            most,
            *(
                len(one | other | own)
                for one in terms or [frozenset()]
                for other in gradient[k] or [frozenset()]
            ),
        )
    return most


def _coordinates(value: Element, groups: Sequence[int]) -> Iterator[frozenset[int]]:
    """The groups of the coordinates of each term of an element."""
    field = value.field
    divisors = () if value.below.is_one() else field.occurring(value.below)
    below = {groups[i] for k in divisors for i in field.entries_of(k)}
    for powers in value.top.monoms():
        used = (field.entries_of(k) for k, n in enumerate(powers) if n)
        yield frozenset(below.union(*({groups[i] for i in entries} for entries in used)))


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


def field_of(
    dynamics: Dynamics, density: Density, dim: int, fixed: Mapping[str, Any] | None, symbolic: bool = False
) -> Field:
    """The field that holds a dynamics and a density, with a symbol for `dim` where this is `symbolic`."""
    parameters = (*dynamics.parameters, *density.parameters, *([DIM] if symbolic else []))
    return Field(
        dim,
        dynamics.shapes,
        parameters,
        metric=dynamics.riemannian,
        fixed=fixed,
        positive=dynamics.positive,
    )


def residual_of(
    drift: list[Element], squares: list[list[Element]], log_density: Element, field: Field
) -> Element:
    """L* rho / rho = -div J - J . grad log rho, J = F - a grad log rho - div a the current's velocity."""
    gradient = [field.derivative(log_density, k) for k in range(len(drift))]
    total = field.element(0)
    for k, current in enumerate(velocity(drift, squares, gradient, field)):
        if current:
            total = total - field.derivative(current, k) - current * gradient[k]
    return field.reduce(total)


def velocity(
    drift: list[Element], squares: list[list[Element]], gradient: list[Element], field: Field
) -> list[Element]:
    """J_i = F_i - sum_j (a_ij d_j log rho + d_j a_ij): the probability current divided by rho."""
    found = []
    for f, row in zip(drift, squares, strict=True):
        for j, a in enumerate(row):
            if a:
                f = f - a * gradient[j] - field.derivative(a, j)
        found.append(field.reduce(f))
    return found


def integrable(log_density: Element, field: Field) -> bool | None:
    """False where rho is not integrable over the variables besides theta, at any theta; None where that is undecided.

    Decided where log rho = c U + q with c < 0 and q of degree at most 2 in these variables, with coefficients that are
    numbers and parameters: the integral over them exists iff the quadratic part is negative definite. Signs are taken
    at the parameters' value 1 (and at what they are fixed to).
    """
    if not log_density:
        return None
    potential = field.position("U", 0, (0,) * field.dim)
    others = [k for k, (name, _) in enumerate(field.coordinates) if name != "theta"]
    parameters = field.parameter_positions
    scale = _at_one(log_density.below, parameters)
    if scale is None:
        return None
    slope = Fraction(0)
    size = len(others)
    form = [[Fraction(0)] * size for _ in range(size)]
    for exponents, factor in log_density.top.to_dict().items():
        number = to_fraction(factor) / scale
        used = {place: power for place, power in enumerate(exponents) if power and place not in parameters}
        if used == {potential: 1}:
            slope += number
            continue
        powers = [place for place, power in used.items() for _ in range(power)]
        if any(place not in others for place in powers) or len(powers) > 2:
            return None
        if len(powers) == 2:
            i, j = (others.index(place) for place in powers)
            form[i][j] += number
            form[j][i] += number
    # By the leading minors (Sylvester).
    if not all(minor > 0 for minor in leading_minors([[-entry for entry in row] for row in form])):
        return False
    return True if slope < 0 else None


def find_witness(value: Element) -> dict[str, str]:
    """Values of the symbols that occur at which `value` is not zero, and the value there; empty where none is found.

    A smooth U may have any derivatives at a point, so that such a point refutes that `value` vanishes for all U. With
    roots, exponentials or logarithms the value is enclosed in a ball that excludes 0.
    """
    if not value:
        return {}
    field = value.field
    # Those in the arguments of roots and exponentials too.
    places = sorted(field.occurring(value.top, value.below) - field.opaque.keys())
    for attempt in range(TRIES):
        chosen = {
            place: Fraction(
                PLAIN[(attempt * (k + 1)) % len(PLAIN)] if _free(field, place) else 1 + attempt % 3
            )
            for k, place in enumerate(places)
        }
        if _at(value, chosen) is None:
            continue
        for place in places:
            # A witness with mostly zeros is easy to check by hand.
            fewer = {**chosen, place: Fraction(0)}
            if _free(field, place) and _at(value, fewer) is not None:
                chosen = fewer
        found = {field.label(place)[0]: str(number) for place, number in chosen.items()}
        return {**found, "residual": str(_at(value, chosen))}
    return {}


def _at_one(polynomial: Polynomial, parameters: set[int]) -> Fraction | None:
    """A polynomial in the parameters alone at 1; None where it is none, or vanishes there."""
    total = Fraction(0)
    for exponents, factor in polynomial.to_dict().items():
        if any(power and place not in parameters for place, power in enumerate(exponents)):
            return None
        total += to_fraction(factor)
    return total or None


def _free(field: Field, place: int) -> bool:
    """Whether a symbol may take any sign, and zero: not so parameters, nor the diagonal of B, which is invertible."""
    key = field.keys[place]
    if key[0] == "B":
        return key[1] % (field.dim + 1) != 0 or any(key[2])
    return key[0] != "parameter"


def _at(value: Element, chosen: dict[int, Fraction]) -> Any:
    """The value at a point, exact or as a ball that excludes 0; None where it is 0, undefined or may be 0."""
    values = Values(value.field, lambda place: to_fmpq(chosen[place]), EXACT_OR_BALLS)
    try:
        top, below = values(value.top), values(value.below)
        if below == 0 or top == 0:
            return None
        found = top / below
    except (ZeroDivisionError, ValueError):
        return None
    if isinstance(found, arb):
        return found if found.is_finite() and not found.contains(0) else None
    return found
