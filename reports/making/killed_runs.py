"""Runs that are ended by SIGKILL at random moments, and resumed until they are complete, beside undisturbed ones.

A server process loads everything once and forks: what is killed has begun a moment ago. `python -m reports.making.killed_runs
[KILLS]` writes power/killed_runs.json and .md; `tests/draws/stored/test_kills.py` does the same for few kills.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sgverify.keeping.files import json_text, write_atomically

FOLDER = Path(__file__).parents[1] / "power"

HOW: dict[str, Any] = {"chains": 6, "thinning": 5, "schedule": {"step": 1e-3}}
DATA = {"name": "logistic-regression", "size": 24, "dim": 2}

RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "kinetic, full gradients, by a kernel": ("sghmc-aboba", {"steps": 6_000_000, "thinning": 6000}),
    "overdamped, SVRG": (
        "sgld-euler",
        {"steps": 16_000, "gradient": {"kind": "svrg", "batch": 4}, "target": DATA},
    ),
    "kinetic, SAGA, float32": (
        "sghmc-euler",
        {"steps": 12_000, "gradient": {"kind": "saga", "batch": 4}, "target": DATA, "dtype": "float32"},
    ),
    "with memory, reshuffled epochs": (
        "psgld",
        {"steps": 16_000, "gradient": {"kind": "reshuffle", "batch": 4}, "target": DATA},
    ),
    "thermostat, swept epochs, decreasing steps": (
        "sgnht-euler",
        {
            "steps": 16_000,
            "gradient": {"kind": "symmetric", "batch": 4},
            "target": DATA,
            "schedule": {"kind": "power", "scale": 1e-3, "alpha": 0.3},
        },
    ),
    "replicas that swap, energies with control variates": (
        "avr-resghmc",
        {"steps": 6000, "gradient": {"kind": "iid", "batch": 4}, "target": DATA},
    ),
    "adapted weights, cyclical steps": (
        "csgld",
        {
            "steps": 8000,
            "gradient": {"kind": "iid", "batch": 4},
            "target": DATA,
            "schedule": {"kind": "cyclical", "scale": 1e-3},
        },
    ),
    "netCDF at the end": (
        "sghmc-baoab",
        {"steps": 16_000, "gradient": {"kind": "iid", "batch": 4}, "target": DATA},
    ),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Kill each run so many times, 20 where it is not said, and write what came of it."""
    given = sys.argv[1:] if arguments is None else arguments
    kills = int(given[0]) if given else 20
    rows = {name: killed(name, kills, seed) for seed, name in enumerate(RUNS)}
    write_atomically(FOLDER / "killed_runs.json", json_text(rows))
    render(FOLDER.parent)


def render(folder: Path) -> None:
    """Write FOLDER/power/killed_runs.md from the table beside it."""
    rows = json.loads((folder / "power" / "killed_runs.json").read_text(encoding="utf-8"))
    write_atomically(folder / "power" / "killed_runs.md", page(rows))


def page(rows: dict[str, dict[str, Any]]) -> str:
    """The rows as a table."""
    lines = [
        "# Runs that were killed",
        "",
        "Each run of `sgverify sample` was ended by SIGKILL at random moments, and resumed, until it was complete; then it began "
        "anew. Its halts were stored every 0.05 s. A complete run has the same bytes in every file as one that was left alone (of "
        "netCDF: the same values and attributes). Made by `python -m reports.making.killed_runs`.",
        "",
        "| run | scheme | kills | before the first halt | while it was resumed | complete runs | with other bytes |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        counts = (row[key] for key in ("kills", "before", "resumed", "complete", "differing"))
        lines.append(f"| {name} | `{row['scheme']}` | {' | '.join(map(str, counts))} |")
    return "\n".join(lines) + "\n"


def killed(name: str, kills: int, seed: int) -> dict[str, Any]:
    """One run, killed so many times."""
    scheme, how = RUNS[name]
    suffix = ".nc" if name.startswith("netCDF") else ".zarr"
    chance = random.Random(seed)
    found = {"kills": 0, "before": 0, "resumed": 0, "complete": 0, "differing": 0}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        whole = place / f"whole{suffix}"
        begun = time.monotonic()
        assert _run(scheme, how, whole, None) == 0
        seconds = time.monotonic() - begun
        draws = place / f"draws{suffix}"
        while found["kills"] < kills or not found["complete"]:
            kept = (place / "draws.nc.partial.zarr" if suffix == ".nc" else draws).exists()
            after = None if found["kills"] >= kills else chance.uniform(0.0, seconds)
            code = _run(scheme, how, draws, after)
            if code == 0:
                found["complete"] += 1
                found["differing"] += content(draws) != content(whole)
                _remove(draws)
            elif code != -signal.SIGKILL:
                raise RuntimeError(f"{name}: ended with the code {code}")
            else:
                found["kills"] += 1
                found["resumed" if kept else "before"] += 1
    return {"scheme": scheme, **found}


def content(place: Path) -> Any:
    """Every byte of a folder but for `.resume`; the values and attributes of a netCDF file."""
    if place.suffix == ".zarr":
        return {
            path.relative_to(place).as_posix(): path.read_bytes()
            for path in place.rglob("*")
            if path.is_file() and ".resume" not in path.parts
        }
    import h5py

    found: dict[str, Any] = {}

    def take(name: str, item: Any) -> None:
        found[name] = {key: repr(value) for key, value in item.attrs.items() if key != "REFERENCE_LIST"}
        if isinstance(item, h5py.Dataset):
            found[name][""] = item[()].tobytes() if item.dtype.kind != "O" else repr(item[()])
            found[name].pop("DIMENSION_LIST", None)

    with h5py.File(place) as file:
        file.visititems(take)
        found["/"] = {key: repr(value) for key, value in file.attrs.items()}
    return found


def _remove(place: Path) -> None:
    import shutil

    shutil.rmtree(place) if place.is_dir() else place.unlink()


def _run(scheme: str, how: dict[str, Any], place: Path, after: float | None) -> int:
    """A run in a process of its own, killed after so many seconds; its exit code, -9 if it was killed."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            import sgverify
            from sgverify.draws.stored import folder, shards

            folder.PART, shards.SHORTEST, shards.SHARE = 20_000, 0.05, 1.0
            sgverify.sample(scheme, **{**HOW, **how}, out=place, resume=True)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    if after is not None:
        end = time.monotonic() + after
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.005)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def load() -> None:
    """Load all that a child needs, and nothing that starts a thread."""
    import logging

    import h5netcdf  # noqa: F401
    import zarr  # noqa: F401

    import sgverify

    logging.getLogger("sgverify").setLevel(logging.ERROR)
    sgverify.sample("sghmc-aboba", chains=2, steps=5)


if __name__ == "__main__":
    main()
