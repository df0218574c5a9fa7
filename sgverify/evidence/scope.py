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

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Annotated, Any, Literal, get_args

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

HELD = "held: "
"""The beginning of the text of what was held."""


@dataclass(frozen=True)
class Extent:
    """How far an answer reaches along one axis: `told` names what was tried or held.

    `values` are the numbers that were tried, () where none of those that can be asked for was; None where it was tried as it was
    asked. Stored, an extent is its text, from which its numbers are not read again.
    """

    reach: Reach
    told: str = ""
    values: tuple[float, ...] | None = field(default=None, compare=False)

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

    def beyond(self, asked: Collection[float]) -> bool:
        """Do the values reach more than those that are asked for?"""
        return self.reach == "every" or bool(set(self.values or ()) - set(map(float, asked)))

    def meet(self, other: Extent) -> Extent:
        """All that both reach.

        >>> str(tried("1 and 2", (1, 2)).meet(EVERY))
        '1 and 2'
        """
        if self.reach != other.reach:
            return max(self, other, key=lambda extent: REACHES.index(extent.reach))
        if self == other:
            return self
        if self.values is None or other.values is None:
            return Extent(
                self.reach, _joined(self, other), other.values if self.values is None else self.values
            )
        return _of_numbers(self, other, {*self.values} & {*other.values})

    def join(self, other: Extent) -> Extent:
        """All that one of both reaches, where each of the two would have seen an error: of two that were held, both.

        >>> str(tried("dimension 1", (1,)).join(tried("dimension 2", (2,))))
        'dimension 1 and dimension 2'
        """
        if "held" in (self.reach, other.reach) or self == other:
            return self.meet(other)
        if "every" in (self.reach, other.reach):
            return EVERY
        if self.values is None or other.values is None:
            return Extent("tried", _joined(self, other))
        return _of_numbers(self, other, {*self.values, *other.values})

    def __str__(self) -> str:
        return f"{HELD * (self.reach == 'held')}{self.told}" or self.reach

    @classmethod
    def read(cls, text: str) -> Extent:
        """The extent that a text was written from, without its numbers."""
        if text.startswith(HELD):
            return cls("held", text.removeprefix(HELD))
        return cls("every") if text == "every" else cls("tried", text)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        # Imported here: every answer makes a scope, and few runs read one from a document.
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(cls.read, core_schema.str_schema(min_length=1))


EVERY = Extent("every")


def tried(told: str, values: Iterable[float] | None = None) -> Extent:
    """An extent that was tried, in words, and its numbers where it has some."""
    return Extent("tried", told, None if values is None else tuple(values))


def held(told: str) -> Extent:
    """An extent that was held although the answer was seen to depend on it."""
    return Extent("held", told)


def _of_numbers(one: Extent, other: Extent, numbers: set[float]) -> Extent:
    """The extent of some of the numbers of two, in the words of the one that has exactly these."""
    same = (extent.told for extent in (one, other) if numbers == set(extent.values or ()))
    return Extent(one.reach, next(same, None) or _joined(one, other), tuple(sorted(numbers)))


def _joined(one: Extent, other: Extent) -> str:
    for extent, wider in ((one, other), (other, one)):
        if extent.told in wider.told:
            return wider.told
    return f"{one.told} and {other.told}"


@dataclass(frozen=True)
class Scope:
    """The extents of an answer by their axes; None for an axis that this answer did not examine.

    >>> proof = Scope(dimensions=EVERY, steps=tried("h -> 0"))
    >>> code = Scope(dimensions=tried("1 to 3", (1, 2, 3)), time=held("the counter n at 1"))
    >>> print(proof.meet(code))
    dimensions: 1 to 3; steps: h -> 0; time: held: the counter n at 1
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
        return reduce(lambda one, other: one._along_both(other, Extent.meet), others, self)

    def join(self, *others: Scope) -> Scope:
        """The scope of answers of which each would have shown an error of the same claim: along each axis what one reaches."""
        return reduce(lambda one, other: one._along_both(other, Extent.join), others, self)

    def _along_both(self, other: Scope, combined: Callable[[Extent, Extent], Extent]) -> Scope:
        mine, theirs = self.extents, other.extents
        both = {axis: combined(mine[axis], theirs[axis]) for axis in mine if axis in theirs}
        return Scope(**{**mine, **theirs, **both})

    def missing(self, asked: Mapping[Axis, Collection[float]]) -> dict[Axis, Extent]:
        """The axes along which the scope does not reach the numbers that are asked for, or along which something was held."""
        return {
            axis: extent for axis, extent in self.extents.items() if not extent.covers(asked.get(axis, ()))
        }

    def __str__(self) -> str:
        return "; ".join(f"{axis}: {extent}" for axis, extent in self.extents.items())


NOWHERE = Scope()
"""The scope of an answer that examined nothing."""
