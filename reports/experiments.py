"""Build the studies of a suite at full effort: `python reports/experiments.py SUITE [--effort quick|default|full]`.

Writes `reports/SUITE/studies.json`; nothing of the machine is in it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sgverify.checks.studies import build_study, studies_of
from sgverify.evidence import Provenance, write_studies

FOLDER = Path(__file__).resolve().parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Build them one by one, and write them together."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("suite", metavar="SUITE")
    parser.add_argument("--effort", default="full", choices=("quick", "default", "full"))
    parser.add_argument("--out", type=Path, default=None, metavar="FILE")
    given = parser.parse_args(arguments)
    found = []
    for name in studies_of(given.suite):
        study = build_study(name, given.effort)
        print(f"{name}: {study.seconds:.0f} s", file=sys.stderr)
        found.append(replace(study, seconds=0.0))
    out = given.out or FOLDER / given.suite / "studies.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    write_studies(out, found, PROVENANCE)
    return 0


PROVENANCE = Provenance(
    version="", python="", torch="", platform="", command="python reports/experiments.py", seconds=0.0
)


if __name__ == "__main__":
    sys.exit(main())
