"""Which step sizes and lengths has each row of a sampled sweep?"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from sgverify.errors import ConfigurationError

CYCLES = 4
"""The default number of cycles in a run."""


class _EveryStep:
    """A schedule of which every state counts."""

    def samples(self, number: int) -> bool:
        """Whether the state after step `number`, or after each of an array of steps, is one to average over."""
        return True


@dataclass(frozen=True)
class Fixed(_EveryStep):
    """The schedule h_l = step. Averages are 1/L sum_l phi(X_l)."""

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
class Power(_EveryStep):
    """The schedule h_l = scale l^-alpha. Averages are sum_l h_l phi(X_l) / S_L, S_L = sum_l h_l (chen2015 section 4.2)."""

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
class Cyclical:
    """Steps that fall from `scale` towards `low` in every cycle, and jump back: with r = mod(l - 1, period)/period

        h_l = low + (scale - low)/2 (cos(pi r) + 1)   (`cosine`),        h_l = scale - (scale - low) r   (`linear`).

    period = ceil(L/M) for M cycles of L steps. While r < threshold the chain explores; averages are
    sum_l h_l phi(X_l) / sum_l h_l over the l with r >= threshold. The noise is that of the scheme in both stages.
    Source: Zhang et al. 2020, equation (1) and Algorithm 1, with low = 0.
    """

    scale: float
    period: int
    low: float = 0.0
    threshold: float = 0.0
    shape: str = "cosine"

    weighted = True

    def at(self, number: int) -> float:
        """h_l at l = `number`, counted from 1."""
        share = ((number - 1) % self.period) / self.period
        if self.shape == "linear":
            return self.scale - (self.scale - self.low) * share
        return self.low + (self.scale - self.low) / 2 * (math.cos(math.pi * share) + 1)

    @property
    def key(self) -> bytes:
        """The bits of the schedule, from which its random streams are derived."""
        numbers = struct.pack("<dqdd", self.scale, self.period, self.low, self.threshold)
        return b"cyclical" + self.shape.encode() + numbers

    def samples(self, number: int) -> bool:
        """Does the state after step `number` count in averages, that is, r >= threshold? Of an array of steps, one by one."""
        return (number - 1) % self.period >= self._first

    @cached_property
    def _first(self) -> int:
        return math.ceil(_steps(self.threshold, self.period))

    def __str__(self) -> str:
        return (
            f"scale={self.scale!r}, low={self.low!r}, period={self.period}, threshold={self.threshold!r}, "
            f"shape={self.shape}"
        )


@dataclass(frozen=True)
class Annealed(_EveryStep):
    """The schedule h_l = scale decay^max(0, k + 1 - after), l in epoch k = floor((l - 1)/epoch), counted from 0.

    The step is `scale` for the first `after` epochs and falls by `decay` with every further one. Averages are
    sum_l h_l phi(X_l) / sum_l h_l. Source: vr-resgld section 5.2, with decay = 0.984 and after = 200.
    """

    scale: float
    epoch: int
    decay: float
    after: int = 0

    weighted = True

    def at(self, number: int) -> float:
        """h_l at l = `number`, counted from 1."""
        return float(self.scale * self.decay ** max(0, (number - 1) // self.epoch + 1 - self.after))

    @property
    def key(self) -> bytes:
        """The bits of the schedule, from which its random streams are derived."""
        return b"annealed" + struct.pack("<dqdq", self.scale, self.epoch, self.decay, self.after)

    def __str__(self) -> str:
        return f"scale={self.scale!r}, epoch={self.epoch}, decay={self.decay!r}, after={self.after}"


Schedule = Fixed | Power | Cyclical | Annealed


@dataclass(frozen=True)
class Row:
    """One schedule and the lengths L, increasing, at which its running average is taken.

    `burn_in` is the number of first states that do not count in averages; None takes that of the settings. L includes them.
    `replica` numbers, from 0, the rows that a composite makes of one row; they share a schedule, each with its own `factor`.
    """

    schedule: Schedule
    lengths: tuple[int, ...]
    burn_in: int | None = None
    replica: int = 0
    factor: float = 1.0

    def at(self, number: int) -> float:
        """h_l of the row at l = `number`, counted from 1: the schedule's step size times the row's factor."""
        return self.schedule.at(number) * self.factor

    @property
    def key(self) -> bytes:
        """The bits from which the row's noise is derived; replicas differ in them, but share the schedule's minibatches."""
        return self.schedule.key + (b"replica" + struct.pack("<q", self.replica) if self.replica else b"")

    @property
    def name(self) -> str:
        """The schedule as text, with the number of the replica if it is not the first."""
        return f"{self.schedule}, replica {self.replica + 1}" if self.replica else str(self.schedule)


def fixed(steps: Sequence[float], lengths: Sequence[int]) -> tuple[Row, ...]:
    """One row for each step size, averaged at each of `lengths`.

    Raises `ConfigurationError` for lengths that do not increase.
    """
    checked = _lengths(lengths)
    return tuple(Row(Fixed(float(step)), checked) for step in steps)


def horizon(scale: float, alpha: float, lengths: Sequence[int]) -> tuple[Row, ...]:
    """One row for each length L, with the step size h = scale L^-alpha (chen2015 theorem 2).

    Raises `ConfigurationError` as `fixed` does.
    """
    scale, alpha = float(scale), float(alpha)
    return tuple(Row(Fixed(scale * float(length) ** -alpha), (length,)) for length in _lengths(lengths))


def power(scales: Sequence[float], alpha: float, lengths: Sequence[int]) -> tuple[Row, ...]:
    """One row for each scale, h_l = scale l^-alpha, averaged with weights h_l (chen2015 theorem 5).

    Raises `ConfigurationError` as `fixed` does.
    """
    alpha, checked = float(alpha), _lengths(lengths)
    return tuple(Row(Power(float(scale), alpha), checked) for scale in scales)


def cyclical(
    scales: Sequence[float],
    lengths: Sequence[int],
    *,
    cycles: int | None = None,
    low: float | None = None,
    threshold: float | None = None,
    shape: str | None = None,
) -> tuple[Row, ...]:
    """One row for each scale, with `cycles` cycles over the last of `lengths`; see `Cyclical`.

    The defaults are 4 cycles, low = 0, threshold = 0, and the cosine.

    Raises `ConfigurationError` as `fixed` does, and for cycles without a step that is averaged over.
    """
    checked = _lengths(lengths)
    count = CYCLES if cycles is None else cycles
    if not 1 <= count <= checked[-1]:
        raise ConfigurationError(
            f"schedule.cycles={count!r}: expected 1 to {checked[-1]}, one step in each at least; take a longer run or fewer"
        )
    period, lowest, first = -(-checked[-1] // count), float(low or 0.0), float(threshold or 0.0)
    _check_cycle(period, first)
    rows = []
    for given in scales:
        scale = float(given)
        if not 0 <= lowest <= scale:
            raise ConfigurationError(
                f"schedule.low={low!r}: expected 0 <= low <= scale={scale!r}, towards which the steps fall"
            )
        rows.append(Row(Cyclical(scale, period, lowest, first, shape or "cosine"), checked))
    return tuple(rows)


def annealed(
    scales: Sequence[float], lengths: Sequence[int], *, epoch: int, decay: float, after: int = 0
) -> tuple[Row, ...]:
    """One row for each scale, whose steps fall by `decay` with every epoch after the first `after`; see `Annealed`.

    Raises `ConfigurationError` as `fixed` does.
    """
    checked = _lengths(lengths)
    return tuple(
        Row(Annealed(float(scale), int(epoch), float(decay), int(after)), checked) for scale in scales
    )


def step_sizes(rows: Sequence[Row], done: int, count: int) -> np.ndarray:
    """h_l of the steps l = done + 1, ..., done + count of each row, shape (count, S)."""
    moving = not all(isinstance(row.schedule, Fixed) for row in rows)
    numbers = range(done + 1, done + 1 + (count if moving else 1))
    sizes = np.array([[row.at(number) for row in rows] for number in numbers])
    return sizes if moving else sizes.repeat(count, axis=0)


def _check_cycle(period: int, threshold: float) -> None:
    """Raise `ConfigurationError` for a cycle without a sampling stage."""
    if not 0 <= _steps(threshold, period) <= period - 1:
        raise ConfigurationError(
            f"schedule.threshold={threshold!r}: no step of a cycle of {period} is left to average over; expected "
            f"0 <= threshold <= {1 - 1 / period:.6g}, or fewer cycles"
        )


def burn_ins(rows: Sequence[Row], burn_in: int, thinning: int) -> tuple[int, ...]:
    """The number of first states of each row that do not count in averages.

    Raises `ConfigurationError` if no state is left for the shortest average.
    """
    found = tuple(burn_in if row.burn_in is None else row.burn_in for row in rows)
    for row, left_out in zip(rows, found, strict=True):
        if left_out < 0 or left_out + thinning > row.lengths[0] or not _reaches(row, left_out, thinning):
            raise ConfigurationError(
                f"burn_in={left_out}, thinning={thinning}: no state is left of the first {row.lengths[0]} of "
                f"{row.schedule}; expected burn_in >= 0 and burn_in + thinning <= {row.lengths[0]}; take a longer "
                "run, a shorter burn-in or a smaller thinning"
            )
    return found


def _steps(threshold: float, period: int) -> Fraction:
    """The threshold in steps of a cycle, read as its decimal: 0.7 is 7/10, so that 7 of 10 steps explore."""
    return Fraction(repr(float(threshold))) * period


def _reaches(row: Row, burn_in: int, thinning: int) -> bool:
    """Has the shortest average a state in a sampling stage?"""
    return not isinstance(row.schedule, Cyclical) or any(
        row.schedule.samples(number) for number in range(burn_in + thinning, row.lengths[0] + 1, thinning)
    )


def _lengths(values: Sequence[int]) -> tuple[int, ...]:
    lengths = tuple(int(value) for value in values)
    if lengths[0] < 1 or any(a >= b for a, b in pairwise(lengths)) or lengths != tuple(values):
        raise ConfigurationError(
            f"lengths={list(values)}: expected whole numbers of at least 1, each above the last"
        )
    return lengths
