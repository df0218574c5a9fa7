"""The applications at the length of a batch: more seeds and larger grids than `python -m reports.applications` takes by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports.applications.result import read_application
from reports.applications.running import run_application
from reports.applications.writing import RESULT, SUMMARY, write_result


@dataclass(frozen=True)
class Batch:
    """How an application is run for its committed result: independent chains of each setting, and options that differ from its
    defaults (`-` in a name is `_`). `minutes` of processor time is what it costs.
    """

    minutes: float
    seeds: int = 5
    options: Mapping[str, Any] = field(default_factory=dict)


BATCHES: dict[str, Batch] = {
    "lda": Batch(11, options={"friction": (20.0, 40.0, 80.0), "refinements": 16}),
    "sbn": Batch(11, options={"hidden": (30,), "refinements": 8}),
    "classifier": Batch(6, options={"epochs": 200}),
}
"""By the name of the application: a part `app-NAME`, whose result lies in `models/NAME/`."""

FILES = (RESULT, SUMMARY, "figures/")
"""What the folder of an application's result holds."""


def make(name: str, folder: Path, *, again: bool = False) -> None:
    """Run an application as its batch says, into a folder of reports; a run that was killed goes on, unless `again`."""
    batch = BATCHES[name]
    place = folder / "models" / name
    place.mkdir(parents=True, exist_ok=True)
    run_application(
        name,
        out=place,
        seeds=batch.seeds,
        again=again,
        command=f"python -m reports app-{name}",
        **batch.options,
    )


def render(name: str, folder: Path) -> None:
    """Write summary and figures of an application anew from its stored result."""
    place = folder / "models" / name
    write_result(read_application(place / RESULT), place)
