"""Processes that keep answers are killed, again and again: is anything lost? Writes store/kills.json and store/kills.md.

`python -m reports kept-answers`. Two processes write to one store at the same time; one of them is killed (SIGKILL) at a random
moment, and another one begins in its place. Each says the number of an answer once it is kept; after every kill all that were said
are sought in the store. Then `sgverify report` of a suite with ten cases is killed at random moments and begun again until one run
comes to its end; its report is compared with one that was computed without a store and without a kill.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from sgverify.keeping.files import json_text, write_atomically
from sgverify.keeping.identity import key_of
from sgverify.keeping.store import Store

FOLDER = "store"
KILLS, REPORTS = 60, 20
SEED = 20

WRITER = """
import sys
from sgverify.keeping.identity import key_of; from sgverify.keeping.store import Store
store = Store(sys.argv[1])
for number in range(int(sys.argv[2]), 10**9):
    assert store.keep(key_of("example", {"number": number}), {"number": number, "much": "x" * 5000}, 1.0), store.problems
    print(number, flush=True)
"""

SUITE = """
checks = ["stationary-bias", "local-order"]

def suite(effort):
    settings = [{"friction": 1 + number / 4, "gradient.kind": "iid"} for number in range(10)]
    return [{"scheme": "sghmc-aboba", "settings": each, "checks": checks} for each in settings]
"""


def make(folder: Path) -> None:
    """Kill processes and reports, and write what was found of them."""
    rng = random.Random(SEED)
    with tempfile.TemporaryDirectory() as place:
        found = {"writers": killed_writers(Path(place), rng), "reports": killed_reports(Path(place), rng)}
    (folder / FOLDER).mkdir(exist_ok=True)
    write_atomically(folder / FOLDER / "kills.json", json_text(found))
    render(folder)


def render(folder: Path) -> None:
    """Write FOLDER/store/kills.md from the numbers beside it."""
    found = json.loads((folder / FOLDER / "kills.json").read_text(encoding="utf-8"))
    writers, reports = found["writers"], found["reports"]
    lines = [
        "# Processes that were killed while they kept answers",
        "",
        " ".join(str(__doc__).split("\n\n", 1)[1].split()),
        "",
        "| | |",
        "|---|---|",
        f"| writers that were killed | {writers['kills']} |",
        f"| answers that were kept before the kills | {writers['kept']} |",
        f"| of these lost | {writers['lost']} |",
        f"| problems that the store named | {writers['problems']} |",
        f"| runs of the report that were killed | {reports['kills']} |",
        f"| answers that the last run took from the store, of {reports['asked']} | {reports['reused']} |",
        f"| differences between its report and that of one run | {reports['differences']} |",
        "",
    ]
    write_atomically(folder / FOLDER / "kills.md", "\n".join(lines))


def killed_writers(folder: Path, rng: random.Random, kills: int = KILLS) -> dict[str, int]:
    """How many answers were kept before the kills, and how many of them are lost."""
    place = folder / "writers.sqlite"
    kept: list[int] = []
    problems: set[str] = set()
    lost = 0
    if refused := key_of("example", {"number": 0}).refused:
        raise SystemExit(f"nothing could be found: {refused}")
    running = [_writer(place, 0), _writer(place, 10**6)]
    for number in range(kills):
        victim = running.pop(0)
        # Not before it has begun to write.
        told = victim.stdout.readline() if victim.stdout else ""
        time.sleep(rng.uniform(0, 0.3))
        victim.send_signal(signal.SIGKILL)
        kept += map(int, [told, *_rest(victim)])
        running.append(_writer(place, (number + 2) * 10**6))
        with Store(place) as store:
            lost = sum(store.find(key_of("example", {"number": each})) is None for each in kept)
            problems.update(store.problems)
    for other in running:
        other.kill()
        _rest(other)
    print(f"{kills} writers killed, {lost} of {len(kept)} answers lost", file=sys.stderr, flush=True)
    return {"kills": kills, "kept": len(kept), "lost": lost, "problems": len(problems)}


def killed_reports(folder: Path, rng: random.Random, kills: int = REPORTS) -> dict[str, int]:
    """How often a report was killed until it was written, and by how many entries it differs from that of one run."""
    (folder / "ten.py").write_text(SUITE, encoding="utf-8")
    whole = _report(folder, "whole", "off")
    began = time.monotonic()
    if whole.wait():
        raise SystemExit("the report could not be computed")
    longest = time.monotonic() - began
    done = 0
    while done < kills:
        run = _report(folder, "killed", "reports.sqlite")
        try:
            # More often while it computes than while Python begins.
            run.wait(rng.uniform(0.3, 1.0) * longest)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
            done += 1
            print(f"report killed {done} times", file=sys.stderr, flush=True)
            continue
        # It came to its end: the next one has to compute again.
        for kept in folder.glob("reports.sqlite*"):
            kept.unlink()
    last = _report(folder, "killed", "reports.sqlite")
    last.wait()
    one, other = (_told(folder / name / "report.json") for name in ("whole", "killed"))
    reused = json.loads((folder / "killed" / "report.json").read_text())["provenance"].get("reused", {})
    return {
        "kills": done,
        "asked": 10,
        "reused": reused.get("answers", 0),
        "differences": sum(a != b for a, b in zip(one, other, strict=True)),
    }


def _writer(place: Path, first: int) -> subprocess.Popen[str]:
    given = [sys.executable, "-c", WRITER, str(place), str(first)]
    return subprocess.Popen(given, stdout=subprocess.PIPE, text=True)


def _rest(ended: subprocess.Popen[str]) -> list[str]:
    """The whole lines that a process has still said; it has ended."""
    assert ended.stdout is not None
    lines = ended.stdout.read().splitlines(keepends=True)
    ended.wait()
    ended.stdout.close()
    return [line for line in lines if line.endswith("\n")]


def _report(folder: Path, out: str, store: str) -> subprocess.Popen[bytes]:
    given = ["report", "--suite", "ten.py:suite", "--out", out, "--store", store, "--workers", "1"]
    return subprocess.Popen(
        [sys.executable, "-m", "sgverify", *given],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # A group of its own, which is killed whole.
        start_new_session=True,
    )


def _told(path: Path) -> list[dict[str, Any]]:
    """The evidence of a report but for the seconds."""
    found = json.loads(path.read_text(encoding="utf-8"))["evidence"]
    return [{key: value for key, value in item.items() if key != "seconds"} for item in found]
