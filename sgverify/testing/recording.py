"""The collection of the evidence found in this process, until a report takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from sgverify.evidence import Evidence

Standing = Literal["row", "unheld", "expected"]
"""How evidence stands to a baseline: a row may hold its violation, none may, or the suite says itself that it fails."""

STANDINGS: tuple[str, ...] = get_args(Standing)

_FOUND: list[tuple[Evidence, Standing]] = []
_REMARKS: list[str] = []
_TALLIES: list[dict[str, int]] = []


def record(evidence: Evidence, standing: Standing = "unheld") -> None:
    """Keep a piece of evidence for the test run's summary."""
    _FOUND.append((evidence, standing))


def remark(text: str) -> None:
    """Keep a line that the test run's summary shows."""
    _REMARKS.append(text)


def tally(outcomes: Mapping[str, int]) -> None:
    """Keep how often each outcome occurred among the configurations of one property."""
    _TALLIES.append(dict(outcomes))


def take() -> list[tuple[Evidence, Standing]]:
    """The evidence recorded since the last call, and how it stands to a baseline."""
    found, _FOUND[:] = list(_FOUND), []
    return found


def take_remarks() -> list[str]:
    """The remarks recorded since the last call."""
    found, _REMARKS[:] = list(_REMARKS), []
    return found


def take_tallies() -> list[dict[str, int]]:
    """The outcomes of every property since the last call."""
    found, _TALLIES[:] = list(_TALLIES), []
    return found
