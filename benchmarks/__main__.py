"""`python -m benchmarks [NAME ...] [--json FILE [--resume]] [--markdown FILE] [--figures FOLDER] [--repeats N] [--tiny]`.

`peers` has options of its own: `--quick`, `--only TEXT` and `--set-bars`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import describe_machine
from benchmarks.measuring import Row, Setting
from benchmarks.peers.command import fallen, measure_peers, peers_page, set_bars
from benchmarks.printing import as_json, markdown, row_of, text_table
from benchmarks.registry import BENCHMARKS
from sgverify.keeping.files import write_atomically

FEWEST = 5
PEERS = "peers"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks that are named, or all; print the tables and write the files that are asked for.

    The file of `--json` is written after every benchmark, and after every cell of `peers`; `--resume` continues it. Returns 1 if a
    cell of `peers` fell to half of what was last measured, else 0.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    names = given.names or [*BENCHMARKS, PEERS]
    unknown = [name for name in names if name not in (*BENCHMARKS, PEERS)]
    if unknown:
        parser.error(f"{', '.join(unknown)}: expected one of {', '.join([*BENCHMARKS, PEERS])}")
    if given.repeats < FEWEST:
        parser.error(f"--repeats {given.repeats}: expected at least {FEWEST}, or the median says little")
    if given.resume and not given.json:
        parser.error("--resume: expected --json FILE, which is continued")
    setting = Setting(1, tiny=True) if given.tiny else Setting(given.repeats, figures=given.figures)
    stored: dict[str, Any] = {}
    if given.resume and given.json.exists():
        stored = json.loads(given.json.read_text(encoding="utf-8"))
    machine = describe_machine()
    peers: dict[str, Any] = stored.get(PEERS, {})
    measured: dict[str, list[Row]] = {}
    for record in stored.get("results", []):
        measured.setdefault(record["benchmark"], []).append(row_of(record))

    def write() -> None:
        if given.json:
            held = {**as_json(measured, machine), **({PEERS: peers} if peers else {})}
            # In one piece: an interruption leaves the last whole file.
            beside = given.json.with_name(given.json.name + ".part")
            write_atomically(beside, json.dumps(held, indent=2) + "\n")
            beside.replace(given.json)

    for name in names:
        print(name, file=sys.stderr, flush=True)
        if name == PEERS:
            measure_peers(peers, quick=given.quick, only=given.only, write=write)
        elif name not in measured:
            measured[name] = list(BENCHMARKS[name](setting))
            write()
    rows = [row for name in BENCHMARKS for row in measured.get(name, [])]
    print(text_table(rows))
    page = peers_page(peers) if peers else ""
    print(page)
    if given.markdown:
        write_atomically(given.markdown, markdown(rows, machine, setting.repeats, page))
    down = bool(peers) and fallen(peers)
    if given.set_bars:
        set_bars(peers)
    return int(down)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed beside a named peer.")
    every = ", ".join([*BENCHMARKS, PEERS])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {every}; default: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measured time")
    parser.add_argument("--resume", action="store_true", help="continue the file of --json")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables as a page")
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="write the figures to this folder")
    parser.add_argument("--repeats", type=int, default=FEWEST, help=f"calls of each, at least {FEWEST}")
    parser.add_argument(
        "--tiny", action="store_true", help="one call on the smallest sizes, to see that all runs"
    )
    parser.add_argument("--quick", action="store_true", help="peers: short runs of a third of the cells")
    parser.add_argument("--only", default="", metavar="TEXT", help="peers: cells with this text, as saga/100")
    parser.add_argument(
        "--set-bars", action="store_true", help="peers: no cell may fall to half of what was measured now"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
