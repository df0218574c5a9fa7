"""The results as a table for a terminal, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.measuring import Row, Timing

HEADINGS = ("benchmark", "median", "min to max", "first call", "bar", "peer", "peer's median", "ratio")
LEFT = {"benchmark", "peer"}
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def text_table(rows: Sequence[Row]) -> str:
    """Columns of plain text, the notes below."""
    cells = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(HEADINGS))]
    lines = [
        "  ".join(
            cell.ljust(width) if heading in LEFT else cell.rjust(width)
            for cell, width, heading in zip(line, widths, HEADINGS, strict=True)
        ).rstrip()
        for line in cells
    ]
    return "\n".join([*lines, "", *(f"{row.name}: {row.note}" for row in rows if row.note)])


def markdown(rows: Sequence[Row], machine: Mapping[str, str], repeats: int, peers: str = "") -> str:
    """The page that is committed as RESULTS.md; `peers` is the section beside other samplers."""
    aligned = [":--" if heading in LEFT else "--:" for heading in HEADINGS]
    table = ["| " + " | ".join(line) + " |" for line in (HEADINGS, aligned, *(_cells(row) for row in rows))]
    named = ", ".join(
        f"{name} {value}" for name, value in machine.items() if name not in ("cores", "threads")
    )
    missed = [row.name for row in rows if row.met is False]
    verdict = "Every bar is met." if not missed else "Missed: " + "; ".join(missed) + "."
    return "\n".join(
        [
            "# Benchmarks",
            "",
            "Written by `python -m benchmarks --markdown benchmarks/RESULTS.md`. "
            f"Wall times of {repeats} calls each, taken in turns with the peer's in one run, after imports. "
            "The ratio is the peer's median over ours: above 1, sgverify is that many times as fast. Before times are "
            "compared, the two answers are. A bar is a time, or a least ratio, that the project allows itself.",
            "",
            f"Machine: {machine['cores']} cores, {machine['threads']} OMP threads, {named}.",
            "",
            verdict,
            "",
            *table,
            "",
            *(f"- {row.name}: {row.note}" for row in rows if row.note),
            "",
            *(["## Beside other samplers", "", peers] if peers else []),
        ]
    )


def as_json(measured: Mapping[str, Sequence[Row]], machine: Mapping[str, str]) -> dict[str, Any]:
    """Everything measured, in seconds, by benchmark."""
    records = [_record(name, row) for name, rows in measured.items() for row in rows]
    return {"machine": dict(machine), "results": records}


def row_of(record: Mapping[str, Any]) -> Row:
    """The row of a record of `as_json`."""
    peer = record["peer_seconds"]
    return Row(
        record["name"],
        Timing(tuple(record["seconds"])),
        record["bar"],
        record["peer"],
        None if peer is None else Timing(tuple(peer)),
        record["peer_scale"],
        record["work"],
        record["unit"],
        record["note"],
        record["least_ratio"],
    )


def _record(benchmark: str, row: Row) -> dict[str, Any]:
    record = {
        "benchmark": benchmark,
        "name": row.name,
        "seconds": list(row.timing.seconds),
        "median": row.timing.median,
        "bar": row.bar,
        "least_ratio": row.least,
        "met": row.met,
        "peer": row.peer,
        "peer_seconds": list(row.peer_timing.seconds) if row.peer_timing else None,
        "peer_scale": row.scale,
        "peer_median": row.peer_median,
        "ratio": row.ratio,
        "note": row.note,
        "work": row.work,
        "unit": row.unit,
    }
    return {**record, row.unit: row.work / row.timing.median} if row.work else record


def _cells(row: Row) -> tuple[str, ...]:
    median, peer = _figure(row, row.timing), "-"
    if row.peer_median is not None and row.peer_timing is not None:
        peer = _figure(row, row.peer_timing) if row.work else seconds(row.peer_median)
    low, high = row.timing.spread
    bars = [f"< {seconds(row.bar)}"] if row.bar is not None else []
    bars += [f"ratio ≥ {row.least:g}"] if row.least is not None else []
    bar = "-" if row.met is None else f"{', '.join(bars)} {'✓' if row.met else '✗'}"
    ratio = "-" if row.ratio is None else f"{row.ratio:.3g}"
    spread = f"{seconds(low)} to {seconds(high)}"
    return row.name, median, spread, seconds(row.timing.first), bar, row.peer or "-", peer, ratio


def _figure(row: Row, timing: Timing) -> str:
    return f"{row.work / timing.median:,.0f} {row.unit}" if row.work else seconds(timing.median)


def seconds(value: float) -> str:
    """Three digits and a unit: 0.0123 is 12.3 ms; hours and days above an hour."""
    if value >= 3600:
        hours = value / 3600
        return f"{hours:.3g} h" if hours < 48 else f"{hours / 24:.3g} d"
    size, unit = next(((size, unit) for size, unit in UNITS if value >= size), UNITS[-1])
    number = value / size
    return f"{number:.0f} {unit}" if number >= 99.95 else f"{number:.3g} {unit}"
