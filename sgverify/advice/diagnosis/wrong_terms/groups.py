"""The terms of a step's generator, sorted by what they do to a variable, beside those of the dynamics.

A term of the drift of a variable v is a

- *force*: it holds a derivative of U,
- *correction*: it holds a derivative of the metric,
- *friction*: v occurs in it (-D p, -xi p in the drift of p),
- *motion*: another variable moves v, a vector (p in the drift of theta),
- *feedback*: v is a scalar, such as a thermostat's xi,
- *constant*: none of these.

Every term is a coefficient of numbers and parameters times powers of state and derivatives, so that two groups are
proportional where the quotients of all their coefficients are one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sgverify.advice.diagnosis.wrong_terms.moments import StepMoments
from sgverify.advice.diagnosis.wrong_terms.ratio import Quotient
from sgverify.exact.rings.polynomials import Polynomial, parts_in
from sgverify.exact.rings.ring import Ring

Kind = Literal["force", "correction", "friction", "motion", "feedback", "constant"]


@dataclass(frozen=True)
class DriftGroup:
    """The terms of one kind in the drift of a variable: found in a step and expected by its dynamics, by coordinate."""

    variable: str
    kind: Kind
    found: Mapping[int, Polynomial]
    expected: Mapping[int, Polynomial]
    ring: Ring

    @property
    def wrong(self) -> bool:
        """Whether the two differ."""
        return dict(self.found) != dict(self.expected)

    @property
    def place(self) -> int:
        """The first coordinate in which they differ, or the first of all."""
        apart = [k for k in self.expected if self.found[k] != self.expected[k]]
        return apart[0] if apart else next(iter(self.expected))

    @property
    def ratio(self) -> Quotient | None:
        """found / expected; None where they are not proportional with one factor."""
        return quotient(self.found[self.place], self.expected[self.place], self.ring)


def quotient(found: Polynomial, expected: Polynomial, ring: Ring) -> Quotient | None:
    """found / expected where that is a function of the parameters alone, else None."""
    if not expected:
        return None
    places = state_positions(ring, found, expected)
    numbers, own = parts_in(expected, places), parts_in(found, places)
    (index, bottom), *_ = numbers.items()
    top = own.get(index, ring.zero)
    if ring.reduce(found * bottom - expected * top):
        return None
    return Quotient.of(top, bottom, ring)


def state_positions(ring: Ring, *values: Polynomial) -> list[int]:
    """The generators in `values` that are no function of the parameters: state, derivatives, and roots and reciprocals of them."""
    used = sorted({k for value in values for k, degree in enumerate(value.degrees()) if degree > 0})
    return [k for k in used if not ring.depends_only_on_parameters(ring.generator_at(k))]


def drift_groups(moments: StepMoments) -> list[DriftGroup]:
    """The terms of the drift, by variable and kind; those of the step are its mean at h^1."""
    ring = moments.ring
    found: dict[tuple[str, Kind], dict[int, Polynomial]] = {}
    expected: dict[tuple[str, Kind], dict[int, Polynomial]] = {}
    for table, mean in ((expected, moments.expected_mean), (found, moments.mean)):
        _sort(table, lambda k, mean=mean: mean(k, 2), ring)  # type: ignore[misc]
    groups = []
    for variable, kind in [*expected, *(key for key in found if key not in expected)]:
        places = [k for k, (name, _) in enumerate(ring.coordinates) if name == variable]
        sides = [
            {k: table.get((variable, kind), {}).get(k, ring.zero) for k in places}
            for table in (found, expected)
        ]
        groups.append(DriftGroup(variable, kind, sides[0], sides[1], ring))
    return groups


def _sort(
    table: dict[tuple[str, Kind], dict[int, Polynomial]], mean: Callable[[int], Polynomial], ring: Ring
) -> None:
    for k, (variable, _) in enumerate(ring.coordinates):
        for kind, value in kinds_of(mean(k), k, ring).items():
            table.setdefault((variable, kind), {})[k] = value


def kinds_of(value: Polynomial, k: int, ring: Ring) -> dict[Kind, Polynomial]:
    """The terms of coordinate k's drift by their kind."""
    sums: dict[Kind, dict[tuple[int, ...], Any]] = {}
    for exponents, factor in value.to_dict().items():
        sums.setdefault(_kind(_used(exponents, ring), k, ring), {})[exponents] = factor
    return {kind: ring.context.from_dict(terms) for kind, terms in sums.items()}


def _used(exponents: tuple[int, ...], ring: Ring) -> set[int]:
    """The generators in a term, those under its roots too."""
    used = {k for k, e in enumerate(exponents) if e}
    for k in [k for k in used if k in ring.opaque]:
        argument = ring.opaque[k].argument
        if argument is not None:
            used |= {j for monomial in argument.monoms() for j, e in enumerate(monomial) if e}
    return used


def _kind(used: set[int], k: int, ring: Ring) -> Kind:
    variable, _ = ring.coordinates[k]
    families = {ring.jets[j][0] for j in used if j in ring.jets}
    if families & {"U", "prior"}:
        return "force"
    if any(ring.jets[j][0] == "B" and any(ring.jets[j][2]) for j in used if j in ring.jets):
        return "correction"
    variables = {ring.coordinates[j][0] for j in used if j < len(ring.coordinates)}
    if ring.shapes[variable] != "vector":
        return "feedback"
    if variable in variables:
        return "friction"
    return "motion" if variables else "constant"


__all__ = ["DriftGroup", "Kind", "drift_groups", "kinds_of", "quotient", "state_positions"]
