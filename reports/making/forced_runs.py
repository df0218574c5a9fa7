"""Runs of `sgverify sample --force` over draws that are there, two at a time or ended at random moments: is anything lost?

`python -m reports forced-runs` writes power/forced_runs.json and .md. In each round of two writers a long run is forced over old
draws, and a short one at a random moment over it. One of two that meet is refused with exit code 2, and the place has the old draws
until it has, to the bits, those of a run that ended well. Then forced runs are ended by SIGKILL or SIGTERM at random moments and
resumed: until then the old draws are there, or those of the run that SIGTERM stopped; the complete run has the bits of one that was
left alone.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from reports.making.killed_runs import content, load
from sgverify.keeping.files import json_text, write_atomically

FOLDER = Path(__file__).parents[1] / "power"
ROUNDS, KILLS = 25, 20
"""The rounds of two writers and the kills, of a folder and of a file each."""

SET = ("--set", "chains=3", "--set", "schedule.step=1e-3", "--set", "burn_in=0", "--set", "thinning=5")
LONG, SHORT, OLD = 4000, 1500, 1000
"""The steps of the runs."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the rounds and the kills, and write what came of them."""
    load()
    rows = {
        **{f"two writers, draws{suffix}": writers(suffix, ROUNDS, 1) for suffix in (".zarr", ".nc")},
        **{f"killed, draws{suffix}": killed(suffix, KILLS, 2) for suffix in (".zarr", ".nc")},
    }
    write_atomically(FOLDER / "forced_runs.json", json_text(rows))
    render(FOLDER.parent)


def render(folder: Path) -> None:
    """Write FOLDER/power/forced_runs.md from the table beside it."""
    rows = json.loads((folder / "power" / "forced_runs.json").read_text(encoding="utf-8"))
    write_atomically(folder / "power" / "forced_runs.md", page(rows))


def page(rows: dict[str, dict[str, int]]) -> str:
    """The rows as lists."""
    lines = ["# Runs that were forced over others", "", str(__doc__).split("\n\n", 1)[1].strip(), ""]
    for name, row in rows.items():
        lines.append(f"- {name}: {', '.join(f'{key} {value}' for key, value in row.items())}")
    return "\n".join(lines) + "\n"


def writers(suffix: str, rounds: int, seed: int) -> dict[str, int]:
    """How rounds of two writers ended."""
    chance, ends = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        place, whole = _begun(Path(folder), suffix)
        for _ in range(rounds):
            _remove(place)
            _copy(whole[OLD], place)
            first = _process(place, LONG, "--force")
            time.sleep(chance.uniform(0.0, 1.2))
            second = _process(place, SHORT, "--force")
            codes, missing, last = {first: -1, second: -1}, 0, 0
            while -1 in codes.values():
                missing += not place.exists()
                for child in [child for child, code in codes.items() if code == -1]:
                    done, status = os.waitpid(child, os.WNOHANG)
                    if done:
                        codes[child], last = os.waitstatus_to_exitcode(status), child
                time.sleep(0.005)
            well = [steps for child, steps in ((first, LONG), (second, SHORT)) if codes[child] in (0, 3)]
            refused = sum(code == 2 for code in codes.values())
            ends["one was refused" if refused else "one after the other"] += 1
            # Of a folder that another one replaces neither name is there between two renames.
            expected = well[0] if len(well) == 1 else {first: LONG, second: SHORT}[last]
            whole_pair = len(well) + refused == 2 and content(place) == content(whole[expected])
            ends["lost"] += not whole_pair or missing > 1
            ends["other files left"] += len(list(place.parent.iterdir())) != 4
    return {
        "rounds": rounds,
        **{key: ends[key] for key in ("one was refused", "one after the other", "lost", "other files left")},
    }


def killed(suffix: str, kills: int, seed: int) -> dict[str, int]:
    """How forced runs ended that were ended at random moments, and resumed."""
    chance, ends = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        place, whole = _begun(Path(folder), suffix)
        old, new = content(whole[OLD]), content(whole[LONG])
        began = time.monotonic()
        os.waitpid(_process(place, LONG, "--force"), 0)
        seconds = time.monotonic() - began
        while ends["kills"] < kills or not ends["complete"]:
            _remove(place)
            _remove(place.with_name(f"{place.name}.partial.zarr"))
            _copy(whole[OLD], place)
            given, stopped = "--force", False
            while True:
                child = _process(place, LONG, given)
                if ends["kills"] < kills:
                    time.sleep(chance.uniform(0.0, seconds))
                    os.kill(child, chance.choice([signal.SIGKILL, signal.SIGTERM]))
                code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                if code in (0, 3):
                    break
                ends["kills"] += 1
                stopped |= code == 128 + signal.SIGTERM
                ends["ended otherwise"] += code not in (
                    -signal.SIGKILL,
                    -signal.SIGTERM,
                    128 + signal.SIGTERM,
                )
                there = content(place) if place.exists() else None
                # A run may be ended once its draws are in place, and before its folder is removed.
                ends["old draws lost"] += there is None or not (stopped or there in (old, new))
                partial = place.with_name(f"{place.name}.partial.zarr").exists()
                given = "--resume" if partial or there != old else "--force"
            ends["complete"] += 1
            ends["with other bytes"] += content(place) != new
    return {
        key: ends[key]
        for key in ("kills", "complete", "old draws lost", "with other bytes", "ended otherwise")
    }


def _begun(folder: Path, suffix: str) -> tuple[Path, dict[int, Path]]:
    """The place of the draws, and undisturbed runs by their numbers of steps."""
    whole = {steps: folder / f"whole-{steps}{suffix}" for steps in (LONG, SHORT, OLD)}
    for steps, place in whole.items():
        os.waitpid(_process(place, steps), 0)
    return folder / f"draws{suffix}", whole


def _process(place: Path, steps: int, *given: str) -> int:
    """A run in a fork of this process, in many parts; the number of the process."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        from sgverify.cli import main as command
        from sgverify.draws.stored import folder, shards

        folder.PART, shards.SHORTEST, shards.SHARE = 20_000, 0.05, 1.0
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        # The command line is a part of the draws' attributes.
        os.chdir(place.parent)
        code = command(
            ["sample", "sghmc-aboba", *SET, "--set", f"steps={steps}", "--out", str(place), *given]
        )
    finally:
        os._exit(code)


def _copy(source: Path, place: Path) -> None:
    shutil.copytree(source, place) if source.is_dir() else shutil.copyfile(source, place)


def _remove(place: Path) -> None:
    shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1:])
