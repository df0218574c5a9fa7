"""Runs that record draws, stored at random steps and continued, by another mover or with other chains, give the same bits."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sgverify.errors import ConfigurationError
from sgverify.samplers import GradientChoice, Settings, cyclical, fixed, power
from sgverify.samplers.composites.exchange import ExchangeChoice
from sgverify.samplers.fused.compiler import compiler
from sgverify.samplers.run.halting import Halt
from sgverify.samplers.run.recording import DrawRecording, Draws, Outlet, record
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes.composites.composite import COMPOSITES
from sgverify.schemes.loading import load_scheme
from tests.samplers.conftest import build

CHAINS, LAST = 6, 90
PART = 7
DATA = {"dim": 2, "size": 6}


def gradient(kind: str) -> GradientChoice:
    return GradientChoice(kind, 2, refresh=4 if kind == "svrg" else None)


STEPS = (fixed([0.01], [LAST]), power([0.02], 0.3, [LAST]), cyclical([0.02], [LAST], cycles=3, threshold=0.4))

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "full": ("sghmc-aboba", "full", {}),
    "svrg": ("sgld-euler", "svrg", {"thinning": 3, "burn_in": 4}),
    "saga": ("sghmc-euler", "saga", {"dtype": "float32"}),
    "memory": ("psgld", "reshuffle", {"thinning": 2}),
    "swept": ("sgnht-euler", "symmetric", {}),
    "noisy": ("sgld-euler", "additive", {}),
    "swaps": (
        "avr-resghmc",
        "iid",
        {"thinning": 3, "exchange": ExchangeChoice(ladder=(1.0, 1.5, 2.0), every=2)},
    ),
    "weights": ("csgld", "iid", {"burn_in": 5, "thinning": 2}),
}
EVERY_RUN = ("svrg", "saga", "swaps")


def ensemble(case: str, steps: int = 0, compiled: Any = "auto", chains: range = range(CHAINS)) -> Ensemble:
    name, kind, how = CASES[case]
    subject = COMPOSITES[name] if name in COMPOSITES else load_scheme(name)
    settings = Settings(
        temperature=0.7,
        chains=len(chains),
        first_chain=chains.start,
        gradient=gradient(kind),
        start_momentum="stationary",
        compiled=compiled,
        **how,
    )
    return Ensemble(subject, build("linear-regression", **DATA), STEPS[steps], settings)


def arrays(parts: list[Draws]) -> dict[str, np.ndarray]:
    """All that was drawn, in one array for each name."""
    first = parts[0]
    found = {name: np.concatenate([part.values[name] for part in parts], 1) for name in first.values}
    for name in parts[-1].statistics:
        # A statistic that no step of a part has reported is not there.
        found[name] = np.concatenate(
            [part.statistics.get(name, empty(parts[-1].statistics[name], part)) for part in parts], 1
        )
    if first.energies is not None:
        found["energies"] = np.concatenate([part.energies for part in parts], 1)  # type: ignore[misc]
    if first.log_weights is not None:
        found["weights"] = np.concatenate([part.log_weights for part in parts], 1)  # type: ignore[misc]
    return {**found, "steps": np.concatenate([part.steps for part in parts])}


def empty(like: np.ndarray, part: Draws) -> np.ndarray:
    kind = np.nan if like.dtype.kind == "f" else 0
    return np.full((len(like), len(part.numbers)), kind, like.dtype)


def copied(part: Draws) -> Draws:
    """A part whose arrays are not written to again."""
    held = {name: value.copy() for name, value in part.values.items()}
    statistics = {name: value.copy() for name, value in part.statistics.items()}
    copy = lambda value: None if value is None else value.copy()  # noqa: E731
    return replace(
        part,
        numbers=part.numbers.copy(),
        values=held,
        statistics=statistics,
        steps=part.steps.copy(),
        energies=copy(part.energies),
        log_weights=copy(part.log_weights),
    )


def in_pieces(
    case: str, steps: int, seed: int, folder: Path, chains: range, movers: tuple[Any, ...]
) -> list[Draws]:
    """The parts of a run that is killed at random steps, and continued each time from its file, by another mover."""
    chance, parts, halt = random.Random(seed), list[Draws](), None
    while True:
        outlet = Outlet(lambda part: parts.append(copied(part)), PART)
        recording = DrawRecording(
            ensemble(case, steps, chance.choice(movers), chains), outlet=outlet, halt=halt
        )
        recording.advance(until=recording.done + chance.randint(1, 40))
        if recording.finished:
            last = recording.draws()
            return [*parts, last]
        recording.halt().save(folder / "halt.npz", taken=len(parts))
        halt, header = Halt.load(folder / "halt.npz")
        assert header["taken"] == len(parts)
        # Steps after the file was written are lost with the process, and taken again.
        if chance.random() < 0.5:
            recording.advance(until=recording.done + chance.randint(1, 20))
            del parts[header["taken"] :]


def assert_equal(found: dict[str, np.ndarray], whole: dict[str, np.ndarray]) -> None:
    assert found.keys() == whole.keys()
    for name, value in whole.items():
        assert found[name].dtype == value.dtype
        np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.by_default("0-saga", "0-swaps")
@pytest.mark.parametrize(
    "case", [case if case in EVERY_RUN else pytest.param(case, marks=pytest.mark.power) for case in CASES]
)
@pytest.mark.parametrize(
    "steps", [0, pytest.param(1, marks=pytest.mark.power), pytest.param(2, marks=pytest.mark.power)]
)
def test_a_run_in_pieces_has_the_bits_of_the_whole(case: str, steps: int, tmp_path: Path) -> None:
    whole = arrays([record(ensemble(case, steps, False))])
    movers = (False, "auto")
    assert_equal(arrays(in_pieces(case, steps, 1, tmp_path, range(CHAINS), movers)), whole)


@pytest.mark.power  # kernels are built
@pytest.mark.skipif(compiler() is None, reason="there is no C compiler")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_kernel_takes_up_what_torch_has_left(case: str, steps: int, tmp_path: Path) -> None:
    whole = arrays([record(ensemble(case, steps, False))])
    for seed in range(3):
        found = in_pieces(case, steps, seed, tmp_path, range(CHAINS), ("kernel", False, "auto"))
        assert_equal(arrays(found), whole)


@pytest.mark.parametrize(
    "case",
    [
        "swaps",
        *(pytest.param(case, marks=pytest.mark.power) for case in CASES if case != "swaps"),
    ],
)
def test_chains_part_and_join_without_a_trace(case: str) -> None:
    whole = arrays([record(ensemble(case, 0, False))])
    together = DrawRecording(ensemble(case, 0, False))
    together.advance(until=31)
    halt = together.halt()
    halts = []
    for chains in (range(2), range(2, CHAINS)):
        alone = DrawRecording(ensemble(case, 0, False, chains), halt=halt.part(chains))
        alone.advance(until=57)
        halts.append(alone.halt())
    found = DrawRecording(ensemble(case, 0, False), halt=Halt.joined(halts))
    found.advance()
    assert_equal(arrays([found.draws()]), whole)


@pytest.mark.parametrize("case", ["svrg", pytest.param("swaps", marks=pytest.mark.power)])
def test_a_complete_run_can_be_made_longer(case: str) -> None:
    whole = arrays([record(ensemble(case, 0, False))])
    short = ensemble(case, 0, False)
    short.rows = tuple(replace(row, lengths=(50,)) for row in short.rows)
    first = DrawRecording(short)
    first.advance()
    assert first.complete
    second = DrawRecording(ensemble(case, 0, False), halt=first.halt())
    second.advance()
    assert_equal(arrays([second.draws()]), whole)


def test_a_file_that_was_cut_off_or_changed_is_refused(tmp_path: Path) -> None:
    recording = DrawRecording(ensemble("full", 0, False))
    recording.advance(until=20)
    path = tmp_path / "halt.npz"
    recording.halt().save(path)
    whole = path.read_bytes()
    for damaged in (whole[:-9], whole[: len(whole) // 2], b"", whole.replace(b'"step": 20', b'"step": 21')):
        path.write_bytes(damaged)
        with pytest.raises(ConfigurationError, match="is no stored run"):
            Halt.load(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["halt.npz"]
