"""A calibration: how often a decision procedure errs, as counted verdicts on simulated truths, and the bars it is held to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from sgverify.evidence.model import Number
from sgverify.evidence.provenance import Provenance
from sgverify.evidence.published import Published
from sgverify.evidence.storage import write_atomically

Truth = Literal["keeps", "breaks", "either"]
Outcome = Literal["met", "missed", "undecided"]

CALIBRATION = Published(
    "sgverify/calibration/2",
    "calibration-2.json",
    "calibration",
    "Write it again with `sgverify calibrate --json FILE`.",
)


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Counted verdicts on one truth at one noise level.

    `truth` is what holds of the claim: it `keeps` it, `breaks` it, or lies where `either` answer is right. `noise` is
    relative, in the table's own unit. `habit` counts the replications that the field's slope accepts, `fitted` those in which
    the points had an exponent (None: all), and `covered` those of them whose interval holds the true one; None where there is no
    such question.
    """

    name: str
    truth: Truth
    claim: str
    sampling: str
    errors: str
    looks: int
    noise: Number
    replications: int
    conforms: int
    violates: int
    inconclusive: int
    habit: int | None = None
    fitted: int | None = None
    covered: int | None = None

    def __post_init__(self) -> None:
        if self.conforms + self.violates + self.inconclusive != self.replications:
            raise ValueError(f"{self.name}: the verdicts do not add up to {self.replications} replications")

    @property
    def intervals(self) -> int:
        """In how many replications the points had an exponent with an interval."""
        return self.replications if self.fitted is None else self.fitted

    @property
    def wrong(self) -> int | None:
        """False verdicts; None where either answer is right."""
        return {"keeps": self.violates, "breaks": self.conforms, "either": None}[self.truth]

    @property
    def label(self) -> str:
        """The cell in words."""
        looks = f"{self.looks} look{'s' * (self.looks > 1)}"
        return f"{self.name}, claimed {self.claim}, noise {self.noise:.1%}, {self.sampling}, {self.errors}, {looks}"


@dataclass(frozen=True)
class Counted:
    """One table: what was simulated, and its cells. `level` is the chance of a false verdict that is promised."""

    name: str
    title: str
    note: str
    level: Number
    cells: tuple[Tally, ...]


@dataclass(frozen=True)
class Bar:
    """What is promised of some cells, and whether the counts bear it out.

    `worst` is the label of the cell nearest to breaking it, or beyond; `count` of its `replications` fall under the bar, and
    [`interval`] holds the rate behind them at 95 % (Clopper and Pearson). `low` and `high` are the bar, None: open.
    """

    statement: str
    low: Number | None
    high: Number | None
    cells: int
    worst: str
    count: int
    replications: int
    interval: tuple[Number, Number]
    outcome: Outcome


@dataclass(frozen=True)
class Calibration:
    """Tables and bars of one run of `sgverify calibrate`; `habit` says in words what the habit accepts."""

    seed: int
    margin: Number
    habit: str
    tables: tuple[Counted, ...]
    bars: tuple[Bar, ...]
    provenance: Provenance


def encode_calibration(calibration: Calibration) -> dict[str, Any]:
    """The calibration in the form of the published schema, and checked against it."""
    document = json.loads(json.dumps({"schema": CALIBRATION.name, **asdict(calibration)}, allow_nan=False))
    CALIBRATION.check(document, "the calibration to be written")
    return dict(document)


def decode_calibration(document: Mapping[str, Any]) -> Calibration:
    """The inverse of `encode_calibration`; raises UserError for a document of another kind or version."""
    return CALIBRATION.decode(Calibration, document)


def write_calibration(path: str | Path, calibration: Calibration) -> None:
    """Write the calibration to a file in one step; raises UserError when the place cannot be written."""
    document = encode_calibration(calibration)
    write_atomically(path, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
