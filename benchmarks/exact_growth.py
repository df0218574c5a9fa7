"""Benchmark: CPU time and memory of exact answers as coordinates and data grow, every answer in a process of its own."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.dimensions import dense_target
from benchmarks.measuring import Row, Setting, Timing
from sgverify.keeping.files import write_atomically

SCHEME = "sghmc-aboba"

COORDINATES: dict[str, tuple[int, ...]] = {
    "stationary-bias": (5, 10, 20, 50, 100, 200),
    "mse": (5, 10, 20),
    "mse, power schedule": (5, 10, 20, 50),
}
DATA: dict[str, tuple[int, ...]] = {
    "gaussian-mean, full": (10**3, 10**4, 10**5, 10**6, 10**7),
    "gaussian-mean, iid": (10**3, 10**4, 10**5, 10**6, 10**7),
    "linear-regression, iid": (10**3, 10**4, 10**5, 10**6),
}

BARS: dict[tuple[str, int], float] = {
    ("stationary-bias", 50): 1.0,
    ("stationary-bias", 200): 10.0,
    ("gaussian-mean, full", 10**6): 2.0,
    ("gaussian-mean, iid", 10**6): 2.0,
    ("linear-regression, iid", 10**6): 2.0,
}
"""Seconds of CPU that the project allows itself."""

REPEATS = 1
"""Processes of each size: a curve has its neighbours, and CPU time varies little."""

MEMORY = {10**6: 300.0}
"""MB of the whole process, the interpreter and its libraries included, for so many data."""

_QUESTION = """
import json, resource, sys, time
import sgverify
scheme, quantity, settings = json.loads(sys.stdin.read())
small = {"schedule": settings.get("schedule", {}), "gradient": settings.get("gradient", {})}
sgverify.rate(scheme, quantity=quantity, **small)
began = time.process_time()
found = sgverify.rate(scheme, quantity=quantity, **settings)
seconds = time.process_time() - began
# On Linux the peak of getrusage counts what the process was forked from.
try:
    lines = open("/proc/self/status").read().splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**10
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
print(json.dumps([seconds, peak, found.method, found.verdict]))
"""


def run(setting: Setting) -> Iterator[Row]:
    """Coordinates of dense targets, then data."""
    measured: dict[str, dict[str, list[tuple[int, float, float]]]] = {"dimension d": {}, "data N": {}}
    for name, dims in COORDINATES.items():
        for dim in dims[:1] if setting.tiny else dims:
            settings: dict[str, Any] = {"target": dense_target(dim)}
            if "power" in name:
                settings["schedule"] = {"kind": "power"}
            row, peak = _asked(
                name, dim, name.partition(",")[0], settings, f"{name}, dim {dim} dense", setting
            )
            measured["dimension d"].setdefault(name, []).append((dim, row.timing.median, peak))
            yield row
    for name, sizes in DATA.items():
        for size in sizes[:1] if setting.tiny else sizes:
            target, _, kind = name.partition(", ")
            settings = {"target": {"name": target, "size": size}, "gradient": {"kind": kind}}
            text = f"stationary-bias, {name} gradients, N = {size:,}"
            row, peak = _asked(name, size, "stationary-bias", settings, text, setting)
            measured["data N"].setdefault(name, []).append((size, row.timing.median, peak))
            yield row
    if setting.figures is not None:
        draw(measured, setting.figures)


def _asked(
    name: str, size: int, quantity: str, settings: Mapping[str, Any], text: str, setting: Setting
) -> tuple[Row, float]:
    """The row of one question, its CPU time after imports and a small question; and the peak of its memory in MB."""
    found = []
    for _ in range(1 if setting.tiny else REPEATS):
        made = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _QUESTION],
            input=json.dumps([SCHEME, quantity, settings]),
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(json.loads(made.stdout.splitlines()[-1]))
    peak, method = max(peak for _, peak, _, _ in found), found[0][2]
    most = MEMORY.get(size, float("inf"))
    row = Row(
        f"{SCHEME}: {text}, CPU",
        Timing(tuple(seconds for seconds, _, _, _ in found)),
        # An answer that is sampled, or takes more memory, meets no bar.
        0.0 if method != "exact" or peak > most else BARS.get((name, size)),
        note=f"{method}; the process had {peak:.0f} MB at most",
    )
    return row, peak


def draw(measured: Mapping[str, Mapping[str, list[tuple[int, float, float]]]], folder: Path) -> None:
    """CPU seconds and peak memory over coordinates and over data, all axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6.4), layout="constrained")
    panels = figure.subplots(2, len(measured), squeeze=False)
    for column, (label, curves) in enumerate(measured.items()):
        for name, points in curves.items():
            sizes = [size for size, _, _ in points]
            panels[0][column].loglog(sizes, [seconds for _, seconds, _ in points], "o-", label=name)
            panels[1][column].loglog(sizes, [peak for _, _, peak in points], "o-", label=name)
        panels[0][column].legend()
        panels[1][column].set_xlabel(label)
        for row in (0, 1):
            panels[row][column].grid(True, which="major", alpha=0.3)
    panels[0][0].set_ylabel("CPU seconds of the answer")
    panels[1][0].set_ylabel("peak memory of the process in MB")
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    write_atomically(folder / "exact_growth.svg", drawn.getvalue())
