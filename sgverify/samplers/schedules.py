"""The rows of a sampled sweep: each a schedule of step sizes and the lengths at which it is averaged."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sgverify.errors import ConfigurationError


@dataclass(frozen=True)
class Fixed:
    """h_l = step. Averages are 1/L sum_l phi(X_l)."""

    step: float

    weighted = False

    def at(self, number: int) -> float:
        """h_l at l = `number`, counted from 1."""
        return self.step

    @property
    def key(self) -> bytes:
        """The bits of the schedule, from which its random streams are derived."""
        return b"fixed" + struct.pack("<d", self.step)

    def __str__(self) -> str:
        return f"step={self.step!r}"


@dataclass(frozen=True)
class Power:
    """h_l = scale l^-alpha. Averages are sum_l h_l phi(X_l) / S_L, S_L = sum_l h_l (chen2015 section 4.2)."""

    scale: float
    alpha: float

    weighted = True

    def at(self, number: int) -> float:
        """h_l at l = `number`, counted from 1."""
        return self.scale * float(number) ** -self.alpha

    @property
    def key(self) -> bytes:
        """The bits of the schedule, from which its random streams are derived."""
        return b"power" + struct.pack("<dd", self.scale, self.alpha)

    def __str__(self) -> str:
        return f"scale={self.scale!r}, alpha={self.alpha!r}"


@dataclass(frozen=True)
class Row:
    """One schedule and the lengths L, increasing, at which its running average is taken.

    `burn_in`: the number of first steps that its averages leave out; None: that of the settings. L counts them.
    `replica` numbers the rows that a composite makes of one, from 0; they have one schedule, each times its `factor`.
    """

    schedule: Fixed | Power
    lengths: tuple[int, ...]
    burn_in: int | None = None
    replica: int = 0
    factor: float = 1.0

    def at(self, number: int) -> float:
        """h_l of the row at l = `number`, counted from 1: that of the schedule, times the row's own factor."""
        return self.schedule.at(number) * self.factor

    @property
    def key(self) -> bytes:
        """The bits that its noise is derived from: each replica has its own, all have the minibatches of the schedule."""
        return self.schedule.key + (b"replica" + struct.pack("<q", self.replica) if self.replica else b"")

    @property
    def name(self) -> str:
        """The schedule, and the number of the replica where it is not the first."""
        return f"{self.schedule}, replica {self.replica + 1}" if self.replica else str(self.schedule)


def fixed(steps: Sequence[float], lengths: Sequence[int]) -> tuple[Row, ...]:
    """One row for each step size, every one averaged at each of `lengths`.

    Raises `ConfigurationError` for an empty list, a step that is not positive, lengths that do not increase.
    """
    checked = _lengths(lengths)
    return tuple(Row(Fixed(_positive("step", step)), checked) for step in _some("steps", steps))


def horizon(scale: float, alpha: float, lengths: Sequence[int]) -> tuple[Row, ...]:
    """One row for each length L, with the step h = scale L^-alpha chosen for it (chen2015 theorem 2).

    Raises `ConfigurationError` as `fixed` does.
    """
    scale, alpha = _positive("scale", scale), _positive("alpha", alpha)
    return tuple(Row(Fixed(scale * float(length) ** -alpha), (length,)) for length in _lengths(lengths))


def power(scales: Sequence[float], alpha: float, lengths: Sequence[int]) -> tuple[Row, ...]:
    """One row for each scale, h_l = scale l^-alpha, averaged with weights h_l (chen2015 theorem 5).

    Raises `ConfigurationError` as `fixed` does.
    """
    alpha, checked = _positive("alpha", alpha), _lengths(lengths)
    return tuple(Row(Power(_positive("scale", scale), alpha), checked) for scale in _some("scales", scales))


def burn_ins(rows: Sequence[Row], burn_in: int, thinning: int) -> tuple[int, ...]:
    """How many first steps the averages of each row leave out.

    Raises `ConfigurationError` where nothing is left of the shortest average.
    """
    found = tuple(burn_in if row.burn_in is None else row.burn_in for row in rows)
    for row, left_out in zip(rows, found, strict=True):
        if left_out < 0 or left_out + thinning > row.lengths[0]:
            raise ConfigurationError(
                f"burn_in={left_out}, thinning={thinning}: no state is left of the first {row.lengths[0]} of "
                f"{row.schedule}; expected burn_in >= 0 and burn_in + thinning <= {row.lengths[0]}; take a longer "
                "run, a shorter burn-in or a smaller thinning"
            )
    return found


def _some(name: str, values: Sequence[Any]) -> Sequence[Any]:
    if not len(values):
        raise ConfigurationError(f"{name}=[]: expected at least one number; give some")
    return values


def _positive(name: str, value: float) -> float:
    number = float(value)
    if not (math.isfinite(number) and number > 0):
        raise ConfigurationError(f"{name}={value!r}: expected a positive, finite number")
    return number


def _lengths(values: Sequence[int]) -> tuple[int, ...]:
    lengths = tuple(int(value) for value in _some("lengths", values))
    if lengths[0] < 1 or any(a >= b for a, b in pairwise(lengths)) or lengths != tuple(values):
        raise ConfigurationError(
            f"lengths={list(values)}: expected whole numbers of at least 1, each above the last"
        )
    return lengths
