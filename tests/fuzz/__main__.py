"""`python -m tests.fuzz`: run many cases, print what is wrong, and write the counts to a folder."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.drawing import cases_of, numbers_of
from tests.fuzz.reporting import write
from tests.fuzz.running import SECONDS, run


def main() -> int:
    """Run the cases that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="leave out the cases before this one")
    parser.add_argument("--only", type=int, help="this case alone, shown whole")
    parser.add_argument("--numbers", action="store_true", help="numbers as they come, each of which computes")
    parser.add_argument("--out", type=Path, help="write the counts to this folder")
    given = parser.parse_args()
    count = given.count if given.only is None else given.only + 1
    chosen = numbers_of(given.seed, count) if given.numbers else cases_of(given.seed, count, stored=True)
    chosen = chosen[given.first :] if given.only is None else chosen[given.only :]
    by_number, outcomes, started = dict(chosen), [], time.process_time()
    for outcome in run(chosen, SECONDS):
        outcomes.append(outcome)
        if outcome.wrong or given.only is not None:
            print(f"{outcome.number}: {outcome.wrong} ({outcome.word}, {outcome.seconds:.2f} s)")
            print(by_number[outcome.number].shown(), flush=True)
        if given.only is not None:
            print(outcome.err)
        if len(outcomes) % 500 == 0:
            print(f"--- {len(outcomes)} cases", flush=True)
    print(Counter(outcome.word for outcome in outcomes), f"{time.process_time() - started:.0f} s here")
    if given.out is not None:
        write(given.out, given.seed, [(by_number[outcome.number], outcome) for outcome in outcomes])
    return int(any(outcome.wrong for outcome in outcomes))


if __name__ == "__main__":
    raise SystemExit(main())
