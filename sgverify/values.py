"""The types of configuration values, from which the types of keys are composed."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

MOST_STEPS = 10**12

MOST_CHAINS = 10**7

SMALLEST, LARGEST = 1e-100, 1e100
"""The sizes of numbers of a configuration other than 0: squares and sums of these are still numbers of float64."""


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("a finite number, not NaN or infinity")
    if value and not SMALLEST <= abs(value) <= LARGEST:
        raise ValueError(f"0 or a size from {SMALLEST:g} to {LARGEST:g}, so that float64 can follow")
    return float(value)


def _number(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError("a number")
    return value


def _plain(value: Any) -> Any:
    """An array as the lists that are stored; who has many data gives a file."""
    return value.tolist() if hasattr(value, "tolist") else value


class NearlyWhole(float):
    """A float that is whole, of a number that was written with more digits and is not; messages show these."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _whole(value: Any) -> Any:
    """1e10 is how people write a length; it is taken as the whole number that it is."""
    if isinstance(value, NearlyWhole):
        raise ValueError("a whole number")
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return int(value)
    return value


Finite = Annotated[float, BeforeValidator(_number), AfterValidator(_finite)]
Positive = Annotated[Finite, Field(gt=0)]
Whole = Annotated[int, BeforeValidator(_number), BeforeValidator(_whole)]
Count = Annotated[Whole, Field(ge=1)]
Length = Annotated[Whole, Field(ge=1, le=MOST_STEPS)]
Chance = Annotated[Finite, Field(gt=0, lt=0.5)]
Exponent = Annotated[Finite, Field(gt=0, lt=1)]
Growth = Annotated[Finite, Field(ge=1)]
Share = Annotated[Finite, Field(ge=0)]
Numbers = Finite | list[Finite] | list[list[Finite]]
Rows = Annotated[list[Finite] | list[list[Finite]] | None, BeforeValidator(_plain)]
