"""All evidence before and after a change of the code that is to change no answer, verdict by verdict and number by number.

`python -m reports.comparison record FOLDER` asks every question of `questions()` and keeps each answer as `FOLDER/NAME.json`; a run
that was cut goes on where it ended. Record once with the code as it was and once as it is, then
`python -m reports.comparison compare BEFORE AFTER` names each answer that differs and exits 1 where a verdict or a number does.

Two answers are compared as `sgverify diff` compares certificates: numbers that carry an error bound may differ by the sum of both
bounds, all others by the rounding of float64. A text that differs alone (a reason, a certificate's formula) is listed and counted
apart. Files of `sgverify report` and of `sgverify errata --json` compare too:
`compare reports/chen2015/report.json OTHER/report.json`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from sgverify.evidence.numbers import EntryComparison, compare_trees
from sgverify.keeping.files import write_atomically

SECONDS = 240
"""Processor time of one question; one that takes longer is recorded as unanswered, on both sides alike."""

VERDICTS = ("verdict", "refuted", "outcome", "method", "sharp", "severity", "holds", "exit")
IGNORED = ("seconds", "provenance", "processor_seconds")

DATA = {"size": 40}
SMALL: Mapping[str, Mapping[str, Any]] = {"target": {"name": "gaussian-mean", "size": 8}, "gradient": {}}
GRADIENTS = (
    "iid", "without-replacement", "reshuffle", "symmetric", "svrg", "saga", "control-variate", "additive"
)  # fmt: skip
TARGETS: Mapping[str, Mapping[str, Any]] = {
    "dim 3": {"target": {"name": "gaussian", "dim": 3, "precision": [1.0, 2.0, 5.0]}},
    "T 2, D 3": {"temperature": 2.0, "friction": 3.0},
    "regression": {
        "target": {"name": "linear-regression", "dim": 2},
        "gradient": {"kind": "iid", "batch": 5},
    },
    "double well": {"target": {"name": "double-well"}},
    "double well, 2 dim": {"target": {"name": "double-well", "dim": 2}},
    "quartic": {"target": {"name": "quartic"}},
    "mixture": {"target": {"name": "mixture"}},
    "gamma-poisson": {"target": {"name": "gamma-poisson"}, "test_function": "theta"},
    "tied means": {"target": {"name": "tied-means-mixture"}, "test_function": "theta[0]"},
    "power": {"schedule": {"kind": "power"}},
    "horizon": {"schedule": {"kind": "horizon"}},
    "cyclical": {"schedule": {"kind": "cyclical"}},
    "fourth power": {"test_function": "theta**4 - theta"},
    "float32": {"dtype": "float32"},
    "fourth powers, 2 dim": {
        "target": {"name": "gaussian", "dim": 2, "precision": [1.0, 2.0]},
        "test_function": "theta[0]**4 + theta[1]**4",
    },
}
STEPPED = ("sgld-euler", "sghmc-euler", "sghmc-aboba", "sghmc-baoab")
SAMPLED = ("sgnht-aboba", "psgld", "sgrld-euler")
SAMPLED_UNDER = ("iid", "reshuffle", "dim 3", "double well", "power")
"""Schemes that no exact engine reaches take long, and are asked under these settings alone."""

FIRST_ALONE = ("saga", "double well, 2 dim", "tied means")
"""Settings that take half a minute and more: they are asked of the first scheme."""

QUANTITIES = ("stationary-bias", "covariance", "wasserstein-2", "bias", "mse", "local-order")
RATED: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "iid": {"gradient": {"kind": "iid"}},
    "additive": {"gradient": {"kind": "additive"}},
    "reshuffle": {"target": DATA, "gradient": {"kind": "reshuffle"}},
    "symmetric": {"target": DATA, "gradient": {"kind": "symmetric"}},
    "svrg": {"target": DATA, "gradient": {"kind": "svrg"}},
    "saga": {"target": {"size": 8}, "gradient": {"kind": "saga", "batch": 2}},
    "regression, iid": {"target": {"name": "linear-regression", "dim": 2, "size": 8}, "gradient": {"kind": "iid", "batch": 2}},
    "regression, reshuffle": {
        "target": {"name": "linear-regression", "dim": 1, "size": 4},
        "gradient": {"kind": "reshuffle", "batch": 2},
    },
    "double well": {"target": {"name": "double-well"}},
    "power": {"schedule": {"kind": "power"}},
    "power, iid": {"schedule": {"kind": "power"}, "gradient": {"kind": "iid"}},
}  # fmt: skip


def questions() -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Name, command, scheme (with the quantity of `rate` after a colon) and configuration of every question."""
    from sgverify.schemes.catalogue import NAMED
    from sgverify.schemes.composites import COMPOSITES

    for scheme in NAMED:
        yield f"verify {scheme}", "verify", scheme, {}
    settings = {
        **{kind: {**SMALL, "gradient": _gradient(kind)} for kind in GRADIENTS},
        **TARGETS,
    }
    for scheme in (*STEPPED, *SAMPLED):
        for name, setting in settings.items():
            if (
                name in SAMPLED_UNDER
                if scheme in SAMPLED
                else name not in FIRST_ALONE or scheme == STEPPED[0]
            ):
                yield f"verify {scheme}, {name}", "verify", scheme, setting
    for composite in COMPOSITES:
        yield f"verify {composite}", "verify", composite, {}
        yield f"verify {composite}, iid", "verify", composite, {"gradient": {"kind": "iid"}, "target": DATA}
    for composite in ("csgld", "awsgld", "resgld", "vr-resghmc"):
        yield f"verify {composite}, mixture", "verify", composite, TARGETS["mixture"]
    for scheme in ("sgld-euler", "sghmc-euler", "sghmc-aboba"):
        for quantity in QUANTITIES:
            for name, setting in RATED.items():
                yield f"rate {quantity} {scheme}, {name}", "rate", f"{scheme}:{quantity}", setting


def record(folder: Path, only: str, workers: int) -> None:
    """Ask every question that has no file yet, each in a process of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = [item for item in questions() if only in item[0] and not _file(folder, item[0]).exists()]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sgverify.checks", "sgverify.samplers"])
    with ProcessPoolExecutor(workers, mp_context=context, max_tasks_per_child=1) as pool:
        waiting = {pool.submit(_answer, *item[1:]): item[0] for item in asked}
        for number, done in enumerate(as_completed(waiting), 1):
            name = waiting[done]
            try:
                answer = done.result()
            except Exception as error:  # the process died: recorded, and seen by the comparison
                answer = {"exit": repr(error), "evidence": []}
            write_atomically(_file(folder, name), json.dumps(answer, indent=1, sort_keys=True))
            print(f"{number}/{len(asked)} {name}: {answer.get('processor_seconds')} s", flush=True)


def compare(before: Path, after: Path) -> int:
    """Print each difference, and how many answers were compared; 1 where a verdict or a number differs."""
    pairs = [(before, after)] if before.is_file() else _pairs(before, after)
    hard, soft, evidence = 0, 0, 0
    for old, new in pairs:
        if not new.is_file() or not old.is_file():
            print(f"{old.stem}: only on one side")
            hard += 1
            continue
        left, right = (_by_id(json.loads(path.read_text())) for path in (old, new))
        evidence += len(left)
        for key in sorted({*left, *right}):
            for kind, where, was, now in _differences(left.get(key), right.get(key)):
                print(f"{old.stem} [{key}] {kind} {where}: {_short(was)} -> {_short(now)}")
                hard, soft = hard + (kind != "text"), soft + (kind == "text")
    print(f"{len(pairs)} files, {evidence} answers: {hard} verdicts or numbers differ, {soft} texts")
    return 1 if hard else 0


def _gradient(kind: str) -> Mapping[str, Any]:
    return {"kind": kind} if kind == "additive" else {"kind": kind, "batch": 2}


def _answer(command: str, scheme: str, setting: Mapping[str, Any]) -> dict[str, Any]:
    """What the command line says: the contract that holds on both sides."""
    from sgverify.cli import main

    def late(*_: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGXCPU, late)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 30))
    started = time.process_time()
    name, _, quantity = scheme.partition(":")
    with tempfile.TemporaryDirectory() as folder:
        config, out = Path(folder, "config.json"), Path(folder, "answer.json")
        config.write_text(json.dumps(setting))
        asked = [command, name, *(["--quantity", quantity] if quantity else [])]
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            try:
                code: Any = main([*asked, "--config", str(config), "--json", str(out)])
            except SystemExit as end:
                code = end.code
        answer = json.loads(out.read_text())["evidence"] if out.exists() else said.getvalue()
    return {"exit": code, "evidence": answer, "processor_seconds": round(time.process_time() - started, 1)}


def _pairs(before: Path, after: Path) -> list[tuple[Path, Path]]:
    names = sorted({path.name for folder in (before, after) for path in folder.glob("*.json")})
    return [(before / name, after / name) for name in names]


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name.replace(' ', '_').replace(',', '')}.json"


def _by_id(document: Mapping[str, Any]) -> dict[str, Any]:
    """Pieces of evidence, errata or rows of a kill matrix, under a key that holds on both sides."""
    rows: Any = next((document[key] for key in ("evidence", "errata", "mutants") if key in document), [])
    if isinstance(rows, str):  # refused, with one message
        rows = [{"id": "message", "text": rows}]
    rows = [*rows, {"id": "command", "exit": document.get("exit")}]
    keyed: dict[str, Any] = {}
    for row in rows:
        key = " ".join(str(row[name]) for name in ("id", "check", "name") if name in row)
        while key in keyed:
            key += "+"
        keyed[key] = row
    return keyed


def _differences(was: Any, now: Any) -> Iterator[tuple[str, str, Any, Any]]:
    """What differs between two answers: a verdict, a number or a text alone, where it stands, and both sides."""
    if was is None or now is None:
        yield "verdict", "", was, now
        return
    for entry in compare_trees(_compared(was), _compared(now)):
        if entry.number is not None and entry.number.differs:
            where = entry.where.replace("/", ".")
            yield _weight(entry), where, entry.old, entry.new


def _compared(value: Any) -> Any:
    """A tree without what is not compared; a key without a value is none."""
    if isinstance(value, Mapping):
        kept = ((key, item) for key, item in value.items() if key not in IGNORED and item is not None)
        return {key: _compared(item) for key, item in kept}
    return [_compared(item) for item in value] if isinstance(value, list) else value


def _weight(entry: EntryComparison) -> str:
    """A list that is longer or shorter has lost or won points."""
    sides = (entry.old, entry.new)
    if entry.where.rpartition("/")[2] in VERDICTS or None in sides:
        return "verdict"
    number = any(not isinstance(side, str) or side.startswith("[{") for side in sides)
    return "number" if number else "text"


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) < 160 else f"{text[:157]}..."


def main() -> int:
    """Record, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--only", default="", metavar="TEXT", help="questions with this in their names")
    recording.add_argument("--workers", type=int, default=2)
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "record":
        record(given.folder, given.only, given.workers)
        return 0
    return compare(given.before, given.after)


if __name__ == "__main__":
    sys.exit(main())
