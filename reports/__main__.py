"""Make the committed reports again: all parts, or those that are named. `--list` shows the parts with their costs.

`python -m reports browser docs/NAME.md ...` opens the pages of these documents alone.
`power` and `calibration` alone are commands with options of their own: see `python -m reports power --help`. With any of these
they write where they are told to, and not over the committed files.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sgverify.keeping.workers import of_the_program

COMMANDS = ("power", "calibration")
"""The parts that are commands as well."""


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, and make, render or list; the exit code is that of a command, else 0."""
    words = sys.argv[1:] if arguments is None else arguments
    parser = _parser()
    if words[:1] and words[0] in COMMANDS:
        from reports.making.commands import run

        if {"-h", "--help"} & set(words) or _is_of_command(parser, words):
            return run(words)
    given = parser.parse_args(words)

    # Imported here, because each new process of a command imports this module.
    from reports.making.parts import PARTS, Choice, make, render

    if given.part[:1] == ["browser"] and given.part[1:]:
        from reports.making.browser import make_pages
        from reports.making.parts import HERE

        make_pages(HERE, given.part[1:])
        return 0
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
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reports",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "part",
        nargs="*",
        metavar="PART",
        help="see --list; by default all, in the order of the list; after browser, documents of the site",
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
    return parser


def _is_of_command(parser: argparse.ArgumentParser, words: list[str]) -> bool:
    """Do the words say more than which parts are made, and how?"""
    given, others = parser.parse_known_args(words)
    if others or len(given.part) == 1:
        return bool(others)
    from reports.making.parts import PARTS

    return any(name not in PARTS for name in given.part)


if __name__ == "__main__":
    of_the_program()
    sys.exit(main())
