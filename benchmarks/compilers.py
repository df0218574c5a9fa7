"""Benchmark: the C compilers that are here, each on the text of two kernels: its build, and its steps, beside those of -O3.

Times are those of the processor. All compilers must give the same bits. `sgverify.samplers.fused.compiler` says what was decided.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import Disagreement, Row, Setting, Timing
from sgverify.configuration import load_configuration
from sgverify.keeping import files
from sgverify.samplers import Settings, fixed, sample
from sgverify.samplers.fused import compiler, kernel
from sgverify.subject.binding import make_subject

CASES: dict[str, dict[str, Any]] = {
    "Gaussian mean": {"name": "gaussian-mean", "dim": 10, "size": 1000},
    "logistic regression": {"name": "logistic-regression", "dim": 10, "size": 1000},
}
CHAINS, STEP, STEPS, FEW = 256, 1e-4, 10_000, 200


def run(setting: Setting) -> Iterator[Row]:
    """sghmc-aboba with minibatches of 10 in float32, for every compiler."""
    steps = FEW if setting.tiny else STEPS
    for case, target in CASES.items():
        moved = _moving(target, steps)
        text = _text(moved)
        for name, command in _compilers().items():
            with tempfile.TemporaryDirectory() as folder:
                ours, most = (
                    partial(_built, text, command, flags, Path(folder)) for flags in (compiler.FLAGS, _most())
                )
                timing, peer = _in_turns(ours, most, setting, lambda *_: True)
                registers = _registers(ours())
                yield Row(f"{case}: build by {name}", timing, peer="-O3", peer_timing=peer, note=registers)
            ours, most = (partial(_with, command, flags, moved) for flags in (compiler.FLAGS, _most()))
            timing, peer = _in_turns(ours, most, setting, np.array_equal)
            yield Row(
                f"{case}: steps of {CHAINS} chains by {name}",
                timing,
                peer="-O3",
                peer_timing=peer,
                work=CHAINS * steps,
                unit="chain steps",
            )


def _in_turns(
    work: Callable[[], Any], peer: Callable[[], Any], setting: Setting, same: Callable[[Any, Any], bool]
) -> tuple[Timing, Timing]:
    """The processor's seconds of both, those of the compiler included, in turns."""
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(setting.repeats):
        answers = []
        for seconds, one in zip(found, (work, peer), strict=True):
            started = _processor_seconds()
            answers.append(one())
            seconds.append(_processor_seconds() - started)
        if not same(*answers):
            raise Disagreement("two builds of one kernel have other bits")
    return Timing(tuple(found[0])), Timing(tuple(found[1]))


def _processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _built(text: str, command: list[str], flags: Sequence[str], place: Path) -> Path:
    """The library of a text, with a comment of its own, so that no compiler knows the text from before."""
    with _flags(flags):
        return compiler._compiled(command, f"{text}/* {os.urandom(8).hex()} */\n", place)


def _compilers() -> dict[str, list[str]]:
    """The compilers that are here, by name."""
    found = {name: [name] for name in ("gcc", "clang") if shutil.which(name)}
    zig = compiler._zig()
    return found if zig is None else {**found, "zig": zig}


def _most() -> tuple[str, ...]:
    return tuple("-O3" if flag == "-O2" else flag for flag in compiler.FLAGS)


def _moving(target: dict[str, Any], steps: int) -> Callable[[], np.ndarray]:
    """A run by a kernel, whose averages are returned."""
    configuration = load_configuration(
        None, target=target, gradient={"kind": "iid", "batch": 10}, dtype="float32", chains=CHAINS
    )
    subject = make_subject("sghmc-aboba", configuration)
    settings = Settings.of(configuration, compiled="kernel")

    def run() -> np.ndarray:
        observables = [lambda theta, p: theta[..., 0] ** 2]
        return sample(
            subject.scheme, subject.target, fixed([STEP], [steps]), observables=observables, settings=settings
        ).values

    return run


def _text(moved: Callable[[], np.ndarray]) -> str:
    """The C text of a run."""
    texts, honest = [], kernel.build
    kernel.build = lambda text, *given: texts.append(text) or honest(text, *given)  # type: ignore[func-returns-value]
    try:
        moved()
    finally:
        kernel.build = honest
    return texts[0]


_LIBRARIES: dict[tuple[str, ...], dict[str, Any]] = {}


def _with(command: list[str], flags: Sequence[str], moved: Callable[[], np.ndarray]) -> np.ndarray:
    """A run by a kernel that this compiler has built with these flags, when it was asked first."""
    before, compiler._BUILT = compiler._BUILT, _LIBRARIES.setdefault((*command, *flags), {})
    named = {name: os.environ.get(name) for name in ("CC", files.CACHE)}
    os.environ.update({"CC": " ".join(command), files.CACHE: "off"})
    try:
        with _flags(flags):
            return moved()
    finally:
        compiler._BUILT = before
        for name, value in named.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def _flags(flags: Sequence[str]) -> Iterator[None]:
    before, compiler.FLAGS = compiler.FLAGS, tuple(flags)
    try:
        yield
    finally:
        compiler.FLAGS = before


def _registers(library: Path) -> str:
    """How often the instructions name registers of 512, 256 and 128 bits; "" where no tool says so."""
    if shutil.which("objdump") is None:
        return ""
    text = subprocess.run(["objdump", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    counts = {
        bits: len(re.findall(f"%{name}", text)) for bits, name in ((512, "zmm"), (256, "ymm"), (128, "xmm"))
    }
    return ", ".join(f"{count} registers of {bits} bits" for bits, count in counts.items() if count)
