"""Replications, counted: the same counts on any number of processes."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from reports.making.calibration.document import Tally

CHUNK = 250
"""Replications on one stream of random numbers."""


@dataclass(frozen=True)
class Verdict:
    """The result of one replication; a field is None without a habit, a regression, or an exponent with an interval."""

    verdict: str
    habit: bool | None = None
    fitted: bool | None = None
    covered: bool | None = None


class CalibrationSetting(Protocol):
    """A truth, its sampling, and the procedure that judges the samples: a frozen dataclass of plain values."""

    def replicate(self, rng: np.random.Generator) -> Verdict:
        """The verdict on one simulated sample."""
        ...

    def described(self) -> dict[str, Any]:
        """The fields of a `Tally` that are not counts."""
        ...


@dataclass(frozen=True)
class Counts:
    """Counted verdicts, which add up."""

    replications: int = 0
    conforms: int = 0
    violates: int = 0
    inconclusive: int = 0
    habit: int | None = None
    fitted: int | None = None
    covered: int | None = None

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.replications + other.replications,
            self.conforms + other.conforms,
            self.violates + other.violates,
            self.inconclusive + other.inconclusive,
            _sum(self.habit, other.habit),
            _sum(self.fitted, other.fitted),
            _sum(self.covered, other.covered),
        )


def count_chunk(setting: CalibrationSetting, seed: int, chunk: int, replications: int) -> Counts:
    """`replications` on the stream of `(seed, setting, chunk)`, whatever else is simulated."""
    rng = np.random.default_rng([seed, _name(setting), chunk])
    found = [setting.replicate(rng) for _ in range(replications)]
    verdicts = [one.verdict for one in found]
    return Counts(
        replications,
        verdicts.count("conforms"),
        verdicts.count("violates"),
        verdicts.count("inconclusive"),
        _true([one.habit for one in found]),
        _true([one.fitted for one in found]),
        _true([one.covered for one in found]),
    )


def count(setting: CalibrationSetting, *, replications: int, seed: int) -> Counts:
    """Count all replications, in this process."""
    return sum((count_chunk(setting, seed, *chunk) for chunk in chunks_of(replications)), Counts())


def chunks_of(replications: int) -> list[tuple[int, int]]:
    """(chunk, its replications), `CHUNK` each and the rest in the last."""
    return [(chunk, min(CHUNK, replications - chunk * CHUNK)) for chunk in range(-(-replications // CHUNK))]


def tally(setting: CalibrationSetting, counts: Counts) -> Tally:
    """The counts with the setting that they belong to."""
    return Tally(**setting.described(), **asdict(counts))


def _name(setting: CalibrationSetting) -> int:
    """A number that depends on the setting's class and fields alone, the same in every process."""
    return int.from_bytes(hashlib.sha256(repr(setting).encode()).digest()[:8], "big")


def _sum(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return one + other


def _true(answers: list[bool | None]) -> int | None:
    given = [answer for answer in answers if answer is not None]
    return sum(given) if given else None
