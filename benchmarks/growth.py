"""Benchmark: a step's time as chains, dimension and data grow, in C and on torch; memory as the steps grow."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.core import one_core
from benchmarks.measuring import Row, Setting, Timing, compare
from sgverify.configuration import load_configuration
from sgverify.keeping.files import write_atomically
from sgverify.samplers import GradientChoice, Settings, fixed, one_thread, sample
from sgverify.subject.binding import make_subject

SCHEME = "sgld-euler"
USUAL = {"chains": 100, "dim": 10, "size": 1000}
GROWING: dict[str, tuple[int, ...]] = {
    "chains": (1, 10, 100, 1_000, 10_000),
    "dim": (1, 3, 10, 30, 100),
    "size": (100, 1_000, 10_000, 100_000),
}
NAMES = {"chains": "chains C", "dim": "dimension d", "size": "data N"}

# Numbers that a run moves in C; on torch a twentieth of its steps are taken.
WORK = 1_000_000
SHARE = 20

LENGTHS = (20_000, 2_000_000)
"""Steps of the two runs whose peak memory is compared."""

MOST_MEMORY = 8.0
"""MB by which a hundred times the steps may raise the peak: allocators round, a kept state would be 800 MB."""

_PEAK = """
import resource, sys
from benchmarks.growth import run_of
run_of({{"chains": 10, "dim": 10, "size": 100}}, {length}, "kernel")()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024))
"""


def run(setting: Setting) -> Iterator[Row]:
    """One key grows, the others stay: 100 chains, 10 dimensions, 1000 data, float32, minibatches of 10."""
    measured: dict[str, list[tuple[int, float, float]]] = {}
    with one_core(), one_thread():
        for key, values in GROWING.items():
            for value in values[:1] if setting.tiny else values:
                keys = {**USUAL, key: value}
                length = 20 if setting.tiny else max(20, WORK // (keys["chains"] * keys["dim"]))
                share = 1 if setting.tiny else min(SHARE, length)
                ours = run_of(keys, length, "kernel")
                ours()
                timing, other = compare(
                    ours, run_of(keys, length // share, False), setting, same=_both_finite
                )
                peer = Timing(tuple(seconds * share for seconds in other.seconds))
                measured.setdefault(key, []).append((value, timing.median / length, peer.median / length))
                yield Row(
                    f"{SCHEME}, float32, minibatches of 10, {_named(keys)}",
                    timing,
                    None,
                    "the same definition on torch, step by step",
                    peer,
                    work=length,
                    unit="steps/s",
                )
    if setting.figures is not None:
        draw(measured, setting.figures)
    if not setting.tiny:
        yield _memory()


def run_of(keys: Mapping[str, int], length: int, compiled: bool | str) -> Callable[[], np.ndarray]:
    """A run of so many steps; the average of theta_0^2 of each chain."""
    target = {"name": "gaussian-mean", "dim": keys["dim"], "size": keys["size"]}
    subject = make_subject(SCHEME, load_configuration(None, target=target, test_function="theta[0]**2"))
    gradient = GradientChoice("iid", batch=10)
    settings = Settings(
        chains=keys["chains"], dtype="float32", start=0.0, gradient=gradient, compiled=compiled
    )
    # The same share of the stable steps, whatever the number of data.
    rows = fixed([0.1 / keys["size"]], [length])

    def work() -> np.ndarray:
        found = sample(
            subject.scheme, subject.target, rows, observables=[subject.observable], settings=settings
        )
        return found.values[0, 0, 0]

    return work


def draw(measured: Mapping[str, list[tuple[int, float, float]]], folder: Path) -> None:
    """Seconds of a step over each key, both axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.2), layout="constrained")
    panels = figure.subplots(1, len(measured), sharey=True, squeeze=False)[0]
    for panel, (key, points) in zip(panels, measured.items(), strict=True):
        values = [value for value, _, _ in points]
        panel.loglog(values, [ours for _, ours, _ in points], "o-", label="in C")
        panel.loglog(values, [torch for _, _, torch in points], "s--", label="on torch")
        panel.set_xlabel(NAMES[key])
        panel.grid(True, which="major", alpha=0.3)
    panels[0].set_ylabel("seconds for a step of all chains")
    panels[0].legend()
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    write_atomically(folder / "growth.svg", drawn.getvalue())


def _memory() -> Row:
    """The peak of a process that takes a hundred times the steps of another."""
    peaks: dict[int, float] = {}
    short, long = (partial(_peak, length, peaks) for length in LENGTHS)
    timing, other = compare(long, short, Setting(1), same=lambda more, less: more - less < MOST_MEMORY)
    first, last = (peaks[length] for length in LENGTHS)
    return Row(
        f"{SCHEME}, 10 chains: memory of {LENGTHS[1]:,} steps",
        timing,
        peer=f"the same in {LENGTHS[0]:,} steps",
        peer_timing=other,
        note=f"the process had {last:.0f} MB at most, and {first:.0f} MB with a hundredth of the steps",
    )


def _peak(length: int, peaks: dict[int, float]) -> float:
    command = [sys.executable, "-W", "ignore", "-c", _PEAK.format(length=length)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peaks[length] = float(done.stdout)
    return peaks[length]


def _both_finite(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Of different lengths, and the same bits at the same one (`tests/samplers/fused`)."""
    return bool(np.isfinite(ours).all() and np.isfinite(theirs).all())


def _named(keys: Mapping[str, int]) -> str:
    return f"C = {keys['chains']}, d = {keys['dim']}, N = {keys['size']}"
