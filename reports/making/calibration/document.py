"""A calibration: how often a decision procedure errs, as counted verdicts on simulated truths, and the bars it is held to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from sgverify.evidence.published import Chance, Count, Name, Number, Provenance, Published, Says, Size
from sgverify.keeping.files import json_text, write_atomically

Truth = Literal["keeps", "breaks", "either"]
Outcome = Literal["met", "missed", "undecided"]
Positive = Annotated[int, Says(minimum=1)]


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Counted verdicts on one truth at one noise level.

    `truth` is what holds of the claim: it `keeps` it, `breaks` it, or lies where `either` answer is right. `noise` is
    relative, in the table's own unit. `habit` counts the replications that the field's slope accepts, `fitted` those in which
    the points had an exponent (None: all), and `covered` those of them whose interval holds the true one; None where there is no
    such question.
    """

    name: Name
    truth: Truth
    claim: Name
    sampling: Name
    errors: Name
    looks: Positive
    noise: Size
    replications: Positive
    conforms: Count
    violates: Count
    inconclusive: Count
    habit: Annotated[int | None, Says(minimum=0)] = None
    fitted: Annotated[int | None, Says(minimum=0)] = None
    covered: Annotated[int | None, Says(minimum=0)] = None

    def __post_init__(self) -> None:
        if self.conforms + self.violates + self.inconclusive != self.replications:
            raise ValueError(f"{self.name}: the verdicts do not add up to {self.replications} replications")

    @property
    def intervals(self) -> int:
        """The number of replications whose points had an exponent with an interval."""
        return self.replications if self.fitted is None else self.fitted

    @property
    def wrong(self) -> int | None:
        """The number of false verdicts; None if either answer is right."""
        return {"keeps": self.violates, "breaks": self.conforms, "either": None}[self.truth]

    @property
    def label(self) -> str:
        """The text of the cell: claim, truth, sampling and noise."""
        looks = f"{self.looks} look{'s' * (self.looks > 1)}"
        return f"{self.name}, claimed {self.claim}, noise {self.noise:.1%}, {self.sampling}, {self.errors}, {looks}"


@dataclass(frozen=True)
class Counted:
    """One table of simulations with its cells. `level` is the promised probability of a false verdict."""

    name: Annotated[str, Says(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: Name
    note: str
    level: Chance
    cells: tuple[Tally, ...]


@dataclass(frozen=True)
class Bar:
    """What is promised of some cells, and whether the counts bear it out.

    `worst` is the label of the cell nearest to breaking it, or beyond; `count` of its `replications` fall under the bar, and
    [`interval`] holds the rate behind them at 95 % (Clopper and Pearson). `low` and `high` are the bar, None: open.
    """

    statement: Name
    low: Chance | None
    high: Chance | None
    cells: Positive
    worst: Name
    count: Count
    replications: Positive
    interval: tuple[Chance, Chance]
    outcome: Outcome


@dataclass(frozen=True)
class Calibration:
    """Tables and bars of one run of `python -m reports calibration`; `habit` says in words what the habit accepts."""

    seed: Count
    margin: Annotated[Number, Says(exclusiveMinimum=0)]
    habit: Name
    tables: tuple[Counted, ...]
    bars: tuple[Bar, ...]
    provenance: Provenance


CALIBRATION = Published(
    "sgverify/calibration/2",
    Calibration,
    "calibration",
    "Write it again with `python -m reports calibration --json FILE`.",
)


def encode_calibration(calibration: Calibration) -> dict[str, Any]:
    """The calibration in the form of the published schema, and checked against it."""
    told = {**asdict(calibration), "provenance": calibration.provenance.document()}
    document = json.loads(json.dumps({"schema": CALIBRATION.name, **told}, allow_nan=False))
    CALIBRATION.check(document, "the calibration to be written")
    return dict(document)


def decode_calibration(document: Mapping[str, Any]) -> Calibration:
    """The inverse of `encode_calibration`; raises UserError for a document of another kind or version."""
    return CALIBRATION.decode(document)


def write_calibration(path: str | Path, calibration: Calibration) -> None:
    """Write the calibration to a file in one step; raises UserError when the place cannot be written."""
    document = encode_calibration(calibration)
    write_atomically(path, json_text(document))
