"""Make the committed reports again: all parts, or those that are named. `--list` shows the parts with their costs."""

from __future__ import annotations

import argparse
from pathlib import Path

from reports.making.parts import PARTS, Choice, make, render


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and make, render or list."""
    parser = argparse.ArgumentParser(prog="python -m reports", description=__doc__)
    parser.add_argument(
        "part", nargs="*", metavar="PART", help="see --list; by default all, in the order of the list"
    )
    parser.add_argument("--list", action="store_true", help="show each part with its source, cost and files")
    parser.add_argument(
        "--stored", action="store_true", help="compute nothing: write pages and pictures from the stored JSON"
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="pools, false alarms and applications from the start, not from where the last run ended",
    )
    parser.add_argument(
        "--effort",
        choices=("quick", "default", "full"),
        help="of experiments and of pages; by default that of the committed ones",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes; by default one per processor")
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="the data of the parts `posteriors` and `advised`"
    )
    given = parser.parse_args(arguments)
    unknown = [name for name in given.part if name not in PARTS]
    if unknown:
        parser.error(f"no part {', '.join(unknown)}; expected one of {', '.join(PARTS)}")
    if given.list:
        for part in PARTS.values():
            print(
                f"{part.name}: {part.source}; about {part.minutes:g} CPU minutes\n    {', '.join(part.makes)}"
            )
    elif given.stored:
        render(given.part)
    else:
        data = None if given.data is None else given.data.resolve()
        make(given.part, Choice(given.workers, given.effort, given.again, data))


if __name__ == "__main__":
    main()
