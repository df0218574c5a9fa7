"""`python -m benchmarks [NAME ...] [--json FILE] [--markdown FILE] [--figures FOLDER] [--repeats N] [--tiny]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import describe_machine
from benchmarks.measuring import Row, Setting
from benchmarks.printing import as_json, markdown, text_table
from benchmarks.registry import BENCHMARKS

FEWEST = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks that are named, or all; print the table and write the files that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed beside a named peer.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; default: all"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measured time")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as a page")
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="write the figures to this folder")
    parser.add_argument("--repeats", type=int, default=FEWEST, help=f"calls of each, at least {FEWEST}")
    parser.add_argument(
        "--tiny", action="store_true", help="one call on the smallest sizes, to see that all runs"
    )
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"{', '.join(unknown)}: expected one of {', '.join(BENCHMARKS)}")
    if given.repeats < FEWEST:
        parser.error(f"--repeats {given.repeats}: expected at least {FEWEST}, or the median says little")
    setting = Setting(1, tiny=True) if given.tiny else Setting(given.repeats, figures=given.figures)
    rows: list[Row] = []
    for name in given.names or BENCHMARKS:
        print(name, file=sys.stderr, flush=True)
        rows += BENCHMARKS[name](setting)
    print(text_table(rows))
    machine = describe_machine()
    if given.json:
        given.json.write_text(json.dumps(as_json(rows, machine), indent=2) + "\n", encoding="utf-8")
    if given.markdown:
        given.markdown.write_text(markdown(rows, machine, setting.repeats), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
