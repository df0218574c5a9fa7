"""The coordinates that the constants of a definition tell apart, over the least common multiple of all their periods.

Constants of the periods 2 and 3 give six different coordinates, and a product of them may single out the sixth alone. Coordinates
at which all constants agree are of one kind. A matrix couples coordinates; those that are coupled, by however many steps, form a
unit, which a proof follows as a whole, or as what is left of it where the dimension ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from math import comb, lcm
from typing import Any

from sgverify.schemes.numbers.constants import Constant, places_of

MOST_COORDINATES = 20_000
"""The longest period that is looked through."""

Places = tuple[int, ...]


@dataclass(frozen=True)
class Periods:
    """Constants that repeat after `length` coordinates together, and the `units` of coordinates that differ by them.

    A unit is given by the places of its first occurrence; the last of the units, `cut` of them, occur at the end of a dimension
    alone. None where the period is too long.
    """

    constants: tuple[Constant, ...]
    length: int
    units: tuple[Places, ...] | None
    cut: int = 0

    @staticmethod
    @cache
    def of(constants: tuple[Constant, ...]) -> Periods:
        """The periods of these constants.

        >>> Periods.of(((0, 1), (0, 0, 1))).units
        ((0,), (1,), (2,), (5,))
        >>> Periods.of((((0, 1), (-1, 0)), (1, 2))).units
        ((0, 1), (0,))
        """
        length = lcm(*map(len, constants))
        if length > MOST_COORDINATES:
            return Periods(constants, length, None)
        whole: dict[Any, Places] = {}
        units = list(_units(range(length), constants))
        for unit in units:
            whole.setdefault(_kind(unit, constants), unit)
        parts: dict[Any, Places] = {}
        for unit in units:
            for last in unit[1:]:
                for part in _units([place for place in unit if place < last], constants):
                    parts.setdefault(_kind(part, constants), part)
        cut = [part for kind, part in parts.items() if kind not in whole]
        return Periods(constants, length, (*whole.values(), *cut), len(cut))

    @property
    def width(self) -> int:
        """The most coordinates of a unit."""
        return max(map(len, self.units or ()), default=1)

    def groups(self, dim: int) -> list[int]:
        """The unit, by its first entry, of each of `dim` entries at the places that are followed."""
        places = list(places_of(dim))
        found = [0] * dim
        for unit in _units(places, self.constants):
            for place in unit:
                found[places.index(place)] = places.index(unit[0])
        return found

    def selections(self, most: int, limit: int) -> Iterator[tuple[Places, bool]] | None:
        """All selections of at most this many units by their places, and whether one of them is cut; None for more than `limit`."""
        if self.units is None or comb(len(self.units) + most, most) > limit:
            return None
        return self._selections(self.units, most)

    def _selections(self, units: Sequence[Places], most: int) -> Iterator[tuple[Places, bool]]:
        whole = len(units) - self.cut
        for count in range(1, most + 1):
            for chosen in combinations_with_replacement(range(len(units)), count):
                places = [
                    place + self.length * chosen[:k].count(unit)
                    for k, unit in enumerate(chosen)
                    for place in units[unit]
                ]
                # Units of two kinds may share places where one of them is cut: it is the last, in a later period.
                if len(set(places)) < len(places):
                    places = [
                        place + self.length * k for k, unit in enumerate(chosen) for place in units[unit]
                    ]
                yield tuple(sorted(places)), chosen[-1] >= whole


def _is_matrix(constant: Constant) -> bool:
    return isinstance(constant[0], tuple)


def _units(places: Sequence[int], constants: Sequence[Constant]) -> Iterator[Places]:
    """The places, those that matrices couple together."""
    unit = {place: [place] for place in places}
    for matrix in filter(_is_matrix, constants):
        size = len(matrix)
        for i in places:
            for j in range(i - i % size, i - i % size + size):
                if matrix[i % size][j % size] and j in unit and unit[i] is not unit[j]:
                    joined = sorted(unit[i] + unit[j])
                    for place in joined:
                        unit[place] = joined
    yield from dict.fromkeys(tuple(unit[place]) for place in places)


def _kind(unit: Places, constants: Sequence[Constant]) -> Any:
    """The constants at the places of a unit: units of one kind are alike."""
    return tuple(
        tuple(
            constant[i % len(constant)][j % len(constant)] if i // len(constant) == j // len(constant) else 0
            for i in unit
            for j in unit
        )
        if _is_matrix(constant)
        else tuple(constant[i % len(constant)] for i in unit)
        for constant in constants
    )
