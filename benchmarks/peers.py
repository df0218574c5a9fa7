"""Benchmark: SGLD and SGHMC on N = 1000 data, minibatches of 10 for each chain, beside the libraries people use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks.core import one_core
from benchmarks.measuring import Row, Setting, Timing, compare, measure
from benchmarks.peer_samplers import (
    FRICTION,
    PEERS,
    Absent,
    Task,
    make_jax_normals,
    make_torch_normals,
)
from sgverify.checks.subject.subject import Subject
from sgverify.checks.verify_and_rate import make_subject
from sgverify.configuration import load_configuration
from sgverify.samplers import GradientChoice, Settings, fixed, one_thread, sample

SIZE, DIM, BATCH = 1000, 10, 10
SCHEMES = {"sgld": ("sgld-euler", 1e-4), "sghmc": ("sghmc-euler-explicit", 2e-3)}
DTYPES = ("float32", "float64")

# Chains, and how many steps each peer takes of them: a third of a second or so.
LENGTHS: dict[int, dict[str, int]] = {
    4096: {"posteriors": 100, "blackjax": 100, "SGMCMCJax": 100},
    100: {"posteriors": 500, "blackjax": 2_500, "SGMCMCJax": 2_500},
    1: {"posteriors": 600, "blackjax": 25_000, "SGMCMCJax": 25_000},
}
FLOOR_LENGTH = 1_000

LEAST = {
    ("float32", 4096): 3.0,
    ("float32", 100): 1.0,
    ("float64", 100): 1.0,
    ("float32", 1): 0.5,
    ("float64", 1): 0.5,
}
"""The least ratio that the project allows itself against each peer, and so against the best."""

LEAST_OF_FLOOR = 0.6

# Two independent samples of the same average: a gap of 6 standard errors has the probability 2e-9 in each comparison.
STANDARD_ERRORS = 6.0


def run(setting: Setting) -> Iterator[Row]:
    """Every scheme, dtype and number of chains beside every peer; then full gradients beside the normal numbers alone."""
    with one_core(), one_thread():
        for peer in PEERS:
            for scheme, dtype, chains in product(SCHEMES, DTYPES[: 1 if setting.tiny else 2], LENGTHS):
                row = _beside(setting, scheme, dtype, chains, peer, LENGTHS[chains][peer])
                yield row
                if row.peer_timing is None:
                    # One row says that it is absent.
                    break
        for scheme, dtype in product(
            [*SCHEMES][: 1 if setting.tiny else 2], DTYPES[: 1 if setting.tiny else 2]
        ):
            yield from _floor(setting, scheme, dtype)


def _beside(setting: Setting, scheme: str, dtype: str, chains: int, peer: str, length: int) -> Row:
    chains, length = (min(chains, 32), 20) if setting.tiny else (chains, length)
    name, step = SCHEMES[scheme]
    ours = _ours(name, dtype, chains, length, step, "iid")
    named = "one chain" if chains == 1 else f"{chains} chains"
    label = f"{name}, {dtype}, {named}, minibatches of {BATCH} for each, beside {peer}"
    work: dict[str, Any] = {"work": length, "unit": "steps/s"}
    subject = _subject()
    task = Task(
        scheme,
        np.asarray(subject.target.data, dtype=np.float64),
        subject.target.location_float64(1.0),
        step,
        BATCH,
        chains,
        length,
        dtype,
    )
    ours()
    try:
        theirs = PEERS[peer](task)
    except Absent as reason:
        return Row(
            label, measure(ours, setting), peer=f"{peer}: not measured", note=f"{peer} {reason}", **work
        )
    # One chain has no spread of its own: that of a hundred is taken.
    spread = None if chains > 1 else _ours(name, dtype, 100, length, step, "iid")().std(ddof=1)
    timing, other = compare(ours, theirs, setting, same=partial(_same, spread))
    return Row(
        label, timing, None, peer, other, least=None if setting.tiny else LEAST.get((dtype, chains)), **work
    )


def _floor(setting: Setting, scheme: str, dtype: str) -> Iterator[Row]:
    """The normal numbers of a step alone, by torch and by jax, beside a step with full gradients."""
    chains, length = (32, 20) if setting.tiny else (4096, FLOOR_LENGTH)
    name, step = SCHEMES[scheme]
    ours = _ours(name, dtype, chains, length, step, "full")
    ours()
    generators: dict[str, Callable[..., Callable[[], Any]]] = {
        "torch": make_torch_normals,
        "jax": make_jax_normals,
    }
    for library, make in generators.items():
        label = (
            f"{name}, {dtype}, {chains} chains, full gradients, beside the normal numbers of {library} alone"
        )
        work: dict[str, Any] = {"work": length, "unit": "steps/s"}
        # jax takes ten times as long: it draws for a tenth of the steps.
        share = 1 if library == "torch" or setting.tiny else 10
        try:
            floor = make((chains, DIM), dtype, length // share)
        except Absent as reason:
            yield Row(
                label,
                measure(ours, setting),
                peer=f"{library}: not measured",
                note=f"{library} {reason}",
                **work,
            )
            continue
        timing, other = compare(ours, floor, setting, same=lambda mine, theirs: True)
        scaled = Timing(tuple(seconds * share for seconds in other.seconds))
        least = LEAST_OF_FLOOR if dtype == "float32" and not setting.tiny else None
        yield Row(label, timing, None, f"{library}'s normal numbers", scaled, least=least, **work)


def _subject() -> Subject:
    target = {"name": "gaussian-mean", "dim": DIM, "size": SIZE}
    return make_subject("sgld-euler", load_configuration(None, target=target, test_function="theta[0]**2"))


def _ours(
    scheme: str, dtype: str, chains: int, length: int, step: float, kind: str, compiled: Any = "kernel"
) -> Callable[[], np.ndarray]:
    target = {"name": "gaussian-mean", "dim": DIM, "size": SIZE}
    subject = make_subject(scheme, load_configuration(None, target=target, test_function="theta[0]**2"))
    settings = Settings(
        chains=chains,
        dtype=dtype,
        start=0.0,
        friction=FRICTION,
        gradient=GradientChoice(kind, batch=BATCH),
        compiled=compiled,
    )

    def work() -> np.ndarray:
        rows = fixed([step], [length])
        found = sample(
            subject.scheme, subject.target, rows, observables=[subject.observable], settings=settings
        )
        return found.values[0, 0, 0]

    return work


def _same(spread: float | None, ours: np.ndarray, theirs: np.ndarray) -> bool:
    gap = abs(ours.mean() - theirs.mean())
    if spread is not None:
        return bool(gap <= STANDARD_ERRORS * spread * 2**0.5)
    return bool(gap <= STANDARD_ERRORS * ((ours.var(ddof=1) + theirs.var(ddof=1)) / len(ours)) ** 0.5)
