"""For what an answer holds, axis by axis: everything, what was tried, or what was held.

A verdict is no wider than its evidence. Every answer carries a `Scope`; an answer that rests on others carries their `meet`; and
`Scope.missing` says along which axes a scope does not reach what a question asks for. Each axis has one `Extent`:

- `every`: the answer holds for all values along the axis, by a proof or because the axis does not enter;
- `tried`: it holds for the values that were tried, which are named, and as numbers where they are numbers;
- `held`: the answer was found at one value of something on which it was seen to depend, such as a counter that was held, so that it
  says nothing of other values. Nothing that was held is a pass, nor a failure of the scheme.

An axis that a scope does not name was not examined by this answer: another answer has to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, Literal, get_args

from sgverify.evidence.published import Says

Axis = Literal[
    "dimensions",
    "steps",
    "temperatures",
    "states",
    "targets",
    "gradients",
    "time",
    "options",
    "shapes",
    "dtypes",
]
Reach = Literal["every", "tried", "held"]

AXES: tuple[Axis, ...] = get_args(Axis)
REACHES: tuple[Reach, ...] = get_args(Reach)
"""From the widest to the narrowest."""


@dataclass(frozen=True)
class Extent:
    """How far an answer reaches along one axis: `told` names what was tried or held, `values` are its numbers."""

    reach: Reach
    told: Annotated[str, Says("what was tried or held, in words", optional=True)] = ""
    values: Annotated[
        tuple[float, ...] | None,
        Says("the numbers that were tried; null where the configured ones were", optional=True),
    ] = None

    def __post_init__(self) -> None:
        if self.reach not in REACHES:
            raise ValueError(f"reach={self.reach!r}: expected one of {', '.join(REACHES)}")
        if bool(self.told) == (self.reach == "every"):
            raise ValueError(
                "what was tried or held is named, and nothing is where an answer holds for every value"
            )
        if self.values is not None:
            object.__setattr__(self, "values", tuple(map(float, self.values)))

    def covers(self, asked: Collection[float]) -> bool:
        """Do the values reach all that are asked for? None was tried as it was asked; no number at all reaches none."""
        if self.reach == "held" or self.values == ():
            return False
        return self.reach == "every" or self.values is None or set(self.values).issuperset(map(float, asked))

    def meet(self, other: Extent) -> Extent:
        """What both reach.

        >>> Extent("tried", "1 and 2", (1, 2)).meet(Extent("every"))
        Extent(reach='tried', told='1 and 2', values=(1.0, 2.0))
        """
        if self.reach != other.reach:
            return max(self, other, key=lambda extent: REACHES.index(extent.reach))
        if self == other or self.reach == "every":
            return self
        if self.values is not None and other.values is not None:
            both = tuple(value for value in self.values if value in other.values)
            for extent in (self, other):
                if len(both) == len(extent.values):
                    return extent
            return Extent("tried", _joined(self.told, other.told), both)
        return Extent(
            self.reach, _joined(self.told, other.told), other.values if self.values is None else self.values
        )

    def __str__(self) -> str:
        return self.told or self.reach


EVERY = Extent("every")


def tried(told: str, values: Iterable[float] | None = None) -> Extent:
    """What was tried, in words, and its numbers where it has some."""
    return Extent("tried", told, None if values is None else tuple(values))


def held(told: str) -> Extent:
    """What was held although the answer was seen to depend on it."""
    return Extent("held", told)


@dataclass(frozen=True)
class Scope:
    """The extents of an answer by their axes; None for an axis that this answer did not examine.

    >>> proof = Scope(dimensions=EVERY, steps=tried("h -> 0"))
    >>> code = Scope(dimensions=tried("1 to 3", (1, 2, 3)), time=held("the counter n at 1"))
    >>> print(proof.meet(code))
    dimensions: 1 to 3; steps: h -> 0; time: the counter n at 1 (held)
    >>> list(proof.meet(code).missing({"dimensions": (7,)}))
    ['dimensions', 'time']
    """

    dimensions: Annotated[Extent | None, Says("of the state", optional=True)] = None
    steps: Annotated[Extent | None, Says("step sizes h", optional=True)] = None
    temperatures: Annotated[
        Extent | None, Says("T, and the friction D where there is one", optional=True)
    ] = None
    states: Annotated[Extent | None, Says("states that the step is taken from", optional=True)] = None
    targets: Annotated[Extent | None, Says("potentials", optional=True)] = None
    gradients: Annotated[Extent | None, Says("gradient estimators", optional=True)] = None
    time: Annotated[Extent | None, Says("steps of a run", optional=True)] = None
    options: Annotated[Extent | None, Says("options of somebody's code", optional=True)] = None
    shapes: Annotated[Extent | None, Says("shapes and groups of parameters", optional=True)] = None
    dtypes: Annotated[Extent | None, Says("types of floating-point numbers", optional=True)] = None

    @property
    def extents(self) -> dict[Axis, Extent]:
        """The extents of the axes that were examined."""
        found = {axis: getattr(self, axis) for axis in AXES}
        return {axis: extent for axis, extent in found.items() if extent is not None}

    def __bool__(self) -> bool:
        return bool(self.extents)

    def meet(self, *others: Scope) -> Scope:
        """The scope of an answer that rests on this one and on the others: along each axis what all reach that examined it."""
        return reduce(Scope._meet, others, self)

    def _meet(self, other: Scope) -> Scope:
        mine, theirs = self.extents, other.extents
        both = {axis: mine[axis].meet(theirs[axis]) for axis in mine if axis in theirs}
        return Scope(**{**mine, **theirs, **both})

    def missing(self, asked: Mapping[Axis, Collection[float]]) -> dict[Axis, Extent]:
        """The axes along which the scope does not reach the numbers that are asked for, or along which something was held."""
        return {
            axis: extent for axis, extent in self.extents.items() if not extent.covers(asked.get(axis, ()))
        }

    def __str__(self) -> str:
        shown = (
            f"{axis}: {extent}{' (held)' if extent.reach == 'held' else ''}"
            for axis, extent in self.extents.items()
        )
        return "; ".join(shown)


NOWHERE = Scope()
"""The scope of an answer that examined nothing."""


def _joined(one: str, other: str) -> str:
    return one if other in one else other if one in other else f"{one}, and {other}"


__all__ = ["AXES", "EVERY", "NOWHERE", "Axis", "Extent", "Scope", "held", "tried"]
