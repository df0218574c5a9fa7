"""The measured cells as a table, with what was not measured and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.peers.bars import Judgement, judge
from benchmarks.peers.cells import Cell
from benchmarks.peers.comparison import Measured
from benchmarks.peers.contenders import CONTENDERS, OTHER_LAW, OURS
from benchmarks.peers.earlier import earlier_rows

Found = Sequence[tuple[Cell, Sequence[Measured]]]

PEERS = tuple(name for name, one in CONTENDERS.items() if one.role != OURS)
SAID = (
    "CPU time of one thread, the contenders of a cell in turns, each in a process of its own; their laws are compared first. A "
    "column of a contender is our speed over its: above 1, sgverify is that many times as fast. The floor is the random numbers of "
    "a step, the gathering of its data and its matrix products, by torch. Bars: at 100 chains and more three times the best "
    "library, or within 1.3 of the floor; at one chain the best library; everywhere the loops written by hand. The last column is "
    "the margin to the nearest bar: 1 is just met."
)


def progress_line(cell: Cell, measured: Sequence[Measured], judged: Judgement) -> str:
    """One cell, for a terminal."""
    ratios = ", ".join(f"{name} {ratio:.3g}" for name, ratio in judged.ratios.items())
    ours = measured[0]
    speed = f"{ours.rate:,.0f} steps/s ({ours.note})" if ours.seconds else f"not measured: {ours.reason}"
    return f"{cell.chains:>5} chains, {cell.name}: {speed}; over {ratios}; {_bar(judged)}"


def tables(found: Found, first: Mapping[str, Mapping[str, Any]], last: Mapping[str, float]) -> str:
    """The table of all cells, the first calls, and the notes, in Markdown."""
    judged = [(cell, measured, judge(cell, measured, last)) for cell, measured in found]
    missed = sum(not one.met for *_, one in judged)
    heads = ("problem", "chains", "steps/s", *PEERS, "MB", "MB of blackjax", "bar")
    rows = [
        (
            cell.name,
            str(cell.chains),
            f"{measured[0].rate:,.0f}" if measured[0].seconds else "not measured",
            *(_ratio(name, measured, one) for name in PEERS),
            _memory(measured, "sgverify"),
            _memory(measured, "blackjax"),
            _bar(one),
        )
        for cell, measured, one in judged
    ]
    fallen = [f"{cell.chains} chains, {cell.name}" for cell, _, one in judged if one.fell]
    runs = [one.seconds for _, measured, _ in judged for one in measured if one.seconds]
    least, turns = min(map(sum, runs), default=0.0), min(map(len, runs), default=0)
    parts = [
        SAID,
        f"{turns} turns, in which a contender ran for at least {least:.2g} s in all. "
        f"Bars met in {len(rows) - missed} of {len(rows)} cells.",
    ]
    if fallen:
        parts.append("Fallen to less than half of what was last measured: " + "; ".join(fallen) + ".")
    parts += [_markdown(heads, rows), _notes(found)]
    beside = earlier_rows({cell.key: measured for cell, measured in found})
    if beside:
        heads = (
            "problem",
            "chains then; now",
            "over torch, then",
            "now",
            "over blackjax, then",
            "now",
            "other",
        )
        parts += [
            "Our time over a torch loop's and over blackjax's, in a measurement of f4cb324 by an independent reader and now: below "
            "1, ours is less.",
            _markdown(heads, beside),
        ]
    if first:
        parts += [
            "First calls, cold: a fresh process without caches, 100 chains, the imports and then 1000 steps, CPU seconds.",
            _first_calls(first),
        ]
    return "\n\n".join(parts) + "\n"


def _bar(judged: Judgement) -> str:
    if math.isnan(judged.margin):
        return "not measured"
    return f"{'✓' if judged.met else '✗'} {judged.margin:.2g} ({judged.of})"


def _ratio(name: str, measured: Sequence[Measured], judged: Judgement) -> str:
    return f"{judged.ratios[name]:.3g}" if name in judged.ratios else "-"


def _memory(measured: Sequence[Measured], name: str) -> str:
    peaks = [one.peak for one in measured if one.contender == name and one.seconds]
    return f"{peaks[0] / 1e6:,.0f}" if peaks else "-"


def _notes(found: Found) -> str:
    """Who was not measured where, and why; which answers were not compared; how far off the others were at most."""
    reasons: dict[str, list[str]] = {}
    for cell, measured in found:
        for one in measured:
            if one.reason:
                cells = reasons.setdefault(f"{one.contender}: {one.reason}", [])
                cells.append(f"{cell.problem} at {cell.chains}")
    lines = [
        f"- not measured, {reason}" + ("" if len(cells) == len(found) else f" ({', '.join(cells)})")
        for reason, cells in reasons.items()
    ]
    lines += [
        f"- {name} in {problem}: {why}; answers are not compared"
        for (problem, name), why in OTHER_LAW.items()
    ]
    gaps = [one.gap for _, measured in found for one in measured if one.gap is not None]
    if gaps:
        lines.append(
            f"- {len(gaps)} answers were compared, each by all coordinates, their squares and the averages: at most "
            f"{max(gaps):.2g} standard errors from ours"
        )
    ways = sorted({measured[0].note for _, measured in found if measured[0].note})
    lines += [
        f"- `compiled={way!r}`: "
        + ", ".join(f"{cell.problem} at {cell.chains}" for cell, measured in found if measured[0].note == way)
        for way in ways
    ]
    return "\n".join(lines)


def _first_calls(first: Mapping[str, Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in first.values() for name in row))
    rows = [
        (
            problem,
            *(
                f"{row[name]['imports']:.2g} + {row[name]['cpu']:.3g}" if "cpu" in row.get(name, {}) else "-"
                for name in names
            ),
        )
        for problem, row in first.items()
    ]
    return _markdown(("problem", *names), rows)


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in (heads, [":--", *["--:"] * (len(heads) - 1)], *rows)]
    return "\n".join(lines)
