"""Which bars does a cell have, and are they met?

At 100 chains and more: three times the best library, or within 1.3 of the floor. At one chain: the best library. In every cell:
the loops written by hand. And no cell may fall to half of what was last measured, beside the loop in torch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.cells import Cell
from benchmarks.peers.comparison import Measured
from benchmarks.peers.contenders import CONTENDERS, FLOOR, LIBRARY, LOOP

LEAST_OF_LIBRARY, MOST_OF_FLOOR = 3.0, 1.3
FALL = 0.5
REFERENCE = "torch loop"
LAST = Path(__file__).with_name("last_measured.json")
"""Our speed over the reference's in each cell, as `--set-bars` wrote it."""


@dataclass(frozen=True)
class Judgement:
    """Our speed over each contender's, and the margin by which the bars are met: 1 is just met, below 1 is missed.

    `of`: what the margin is measured against. `fell`: the speed over the reference's is less than half of the last one.
    """

    ratios: Mapping[str, float]
    margin: float
    of: str
    fell: bool = False

    @property
    def met(self) -> bool:
        """Whether every bar is met."""
        return self.margin >= 1


def judge(cell: Cell, measured: Sequence[Measured], last: Mapping[str, float] | None = None) -> Judgement:
    """Hold a cell to its bars; what was not measured sets none."""
    ours = measured[0].rate
    ratios = {one.contender: ours / one.rate for one in measured[1:] if one.seconds}
    margins: list[tuple[float, str]] = []
    libraries = [(ratio, name) for name, ratio in ratios.items() if CONTENDERS[name].role == LIBRARY]
    if libraries:
        least, name = min(libraries)
        margins.append((least, name) if cell.chains == 1 else _of_library(least, name, ratios))
    margins += [(ratio, name) for name, ratio in ratios.items() if CONTENDERS[name].role == LOOP]
    margin, of = min(margins, default=(math.nan, "nobody"))
    before = (last or {}).get(cell.key)
    now = ratios.get(REFERENCE, math.nan)
    return Judgement(ratios, margin, of, before is not None and now < FALL * before)


def _of_library(least: float, name: str, ratios: Mapping[str, float]) -> tuple[float, str]:
    floors = [ratio * MOST_OF_FLOOR for other, ratio in ratios.items() if CONTENDERS[other].role == FLOOR]
    beside = (least / LEAST_OF_LIBRARY, f"3 x {name}")
    return max([beside, *((value, "floor / 1.3") for value in floors)])


def last_measured() -> dict[str, float]:
    """What was last measured; nothing where there is no file."""
    found: dict[str, float] = json.loads(LAST.read_text(encoding="utf-8")) if LAST.exists() else {}
    return found
