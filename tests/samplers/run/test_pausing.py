"""Runs that are paused, kept in files and taken up again give the bits of the run that was not."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import Phase
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from sgverify.errors import ConfigurationError
from sgverify.samplers import (
    Averages,
    Checkpoint,
    GradientChoice,
    Run,
    Settings,
    fixed,
    power,
    sample,
)
from sgverify.samplers.run.running_sums import RunningSums
from sgverify.samplers.run.schedules import Row
from sgverify.schemes.loading import load_scheme
from sgverify.targets import Target, parse_observable
from tests.samplers.conftest import build

LENGTHS = (5, 18)
CHAINS = 5
OBSERVABLES = [parse_observable("theta[0]**2", 2), parse_observable("theta[0]*theta[1] + theta[1]", 2)]
SCHEMES = ("sgld-euler", "sghmc-aboba", "sgverify.strategies.schemes:averaged_noise")
KINDS = ("full", "svrg", "iid", "reshuffle", "symmetric", "additive")
ROWS: dict[str, tuple[Row, ...]] = {
    "fixed": fixed([0.01, 0.02], LENGTHS),
    "power": power([0.02, 0.01], 0.3, LENGTHS),
    # The largest step diverges on the way, and the rows go apart.
    "apart": (*fixed([0.02], LENGTHS), *fixed([30.0], LENGTHS), *fixed([0.01], (3, 11))),
}


@dataclass(frozen=True)
class Question:
    """A run, by what tells it from others."""

    scheme: str
    kind: str
    rows: str
    generator: str
    dtype: str
    burn_in: int

    def settings(self, chains: range) -> Settings:
        choice = GradientChoice(self.kind, 2, refresh=4 if self.kind == "svrg" else None)
        return Settings(
            temperature=0.7,
            chains=len(chains),
            first_chain=chains.start,
            gradient=choice,
            generator=self.generator,
            dtype=self.dtype,
            burn_in=self.burn_in,
            thinning=1 + self.burn_in,
            start_momentum="stationary",
        )

    def run(self, chains: range, **options: Any) -> Run:
        return Run(*self.given, observables=OBSERVABLES, settings=self.settings(chains), **options)

    @property
    def given(self) -> tuple[Any, Target, tuple[Row, ...]]:
        return loaded(self.scheme), regression(), ROWS[self.rows]


loaded = lru_cache(load_scheme)


@lru_cache
def regression() -> Target:
    """Every datum has a Hessian of its own: nothing cancels."""
    return build("linear-regression", dim=2, size=6)


@lru_cache(maxsize=256)
def uninterrupted(question: Question) -> Averages:
    return sample(*question.given, observables=OBSERVABLES, settings=question.settings(range(CHAINS)))


QUESTIONS = st.builds(
    Question,
    scheme=st.sampled_from(SCHEMES),
    kind=st.sampled_from(KINDS),
    rows=st.sampled_from(sorted(ROWS)),
    generator=st.sampled_from(["philox", "native"]),
    dtype=st.sampled_from(["float64", "float32"]),
    burn_in=st.sampled_from([0, 1]),
)


class Pausing(RuleBasedStateMachine):
    """A run that is paused and taken up, and one of its last chains alone, against the run that was left alone."""

    questions = QUESTIONS

    @initialize(data=st.data())
    def begin(self, data: Any) -> None:
        self.question = data.draw(self.questions)
        self.folder = Path(tempfile.mkdtemp())
        self.parts = [self.question.run(range(CHAINS))]
        if self.question.generator == "philox":
            self.parts.append(self.question.run(range(2, CHAINS)))

    @rule(part=st.integers(0, 1), steps=st.integers(1, 7))
    def advance(self, part: int, steps: int) -> None:
        self.parts[part % len(self.parts)].advance(steps)

    @rule(
        part=st.integers(0, 1),
        block=st.sampled_from([None, 1, 3]),
        tape=st.booleans(),
        file=st.booleans(),
    )
    def pause_and_take_up(self, part: int, block: int | None, tape: bool, file: bool) -> None:
        place = part % len(self.parts)
        held = self.parts[place].pause()
        if file:
            held.save(self.folder / "held.npz")
            held = Checkpoint.load(self.folder / "held.npz")
        self.parts[place] = self.question.run(held.chains, checkpoint=held, block=block, tape=tape)

    @invariant()
    def the_bits_are_those_of_the_run_that_was_left_alone(self) -> None:
        if hasattr(self, "parts"):
            for part in self.parts:
                self._compare(part)

    def teardown(self) -> None:
        if hasattr(self, "parts"):
            for part in self.parts:
                self._compare(part.advance())
            shutil.rmtree(self.folder)

    def _compare(self, part: Run) -> None:
        due, found, chains = uninterrupted(self.question), part.averages, part.pause().chains
        columns = slice(chains.start, chains.stop)
        alone = len(chains) < CHAINS
        for row, why in enumerate(due.diverged):
            # A part whose own chains stay within bounds goes on where the whole row has stopped.
            known = ~np.isnan(due.values[0, row, :, 0])
            if not (alone and why is not None):
                known &= ~np.isnan(found.values[0, row, :, 0])
                assert part.finished <= ((found.diverged[row] is None) == (why is None))
            assert np.array_equal(
                found.values[:, row, known],
                due.values[:, row, known][..., columns],
                equal_nan=not part.finished,
            )
            if part.finished and why is None:
                assert not np.isnan(found.values[:, row]).any()
                for name, value in due.last.items():
                    assert np.array_equal(found.last[name][row], value[row][columns])


def explore(questions: Any = QUESTIONS, examples: int = 30, **options: Any) -> None:
    """Run the machine on these questions."""
    machine = type("Machine", (Pausing,), {"questions": questions})
    chosen = hypothesis_settings(max_examples=examples, stateful_step_count=10, deadline=None, **options)
    run_state_machine_as_test(machine, settings=chosen)  # type: ignore[no-untyped-call]


def test_a_run_in_pieces_is_the_run() -> None:
    explore()


def question(**changes: Any) -> st.SearchStrategy[Question]:
    plain = Question("sgld-euler", "full", "fixed", "philox", "float64", 0)
    return st.just(replace(plain, **changes))


@contextmanager
def taking_up(monkeypatch: pytest.MonkeyPatch, wrong: Callable[[Checkpoint], Checkpoint]) -> Iterator[None]:
    right = RunningSums.take_up
    monkeypatch.setattr(
        RunningSums, "take_up", lambda running_sums, checkpoint: right(running_sums, wrong(checkpoint))
    )
    yield


UNSHRUNK = {"phases": [Phase.generate], "report_multiple_bugs": False}
"""That a bug is seen is the question here, not how small it can be made."""

BUGS: dict[str, tuple[Callable[[Checkpoint], Checkpoint], dict[str, str]]] = {
    "the snapshot of svrg is forgotten": (lambda c: replace(c, carried=()), {"kind": "svrg"}),
    "the position of the stream is forgotten": (
        lambda c: replace(
            c, generators=tuple(torch.Generator().manual_seed(1).get_state().numpy() for _ in c.generators)
        ),
        {"generator": "native"},
    ),
    "it goes on one step late": (lambda c: replace(c, step=c.step + 1), {}),
    "the weights are forgotten": (lambda c: replace(c, weights=(0.0,) * len(c.weights)), {"rows": "power"}),
    "the sums are forgotten": (lambda c: replace(c, sums=0 * c.sums), {}),
    "the memory is forgotten": (
        lambda c: replace(c, state={k: v if k == "theta" else 0 * v for k, v in c.state.items()}),
        {"scheme": "sgverify.strategies.schemes:averaged_noise"},
    ),
    "the state is held in float32": (
        lambda c: replace(c, state={k: v.astype(np.float32).astype(v.dtype) for k, v in c.state.items()}),
        {},
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_checkpoint_that_forgets_is_caught(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, changes = BUGS[bug]
    with taking_up(monkeypatch, wrong), pytest.raises((AssertionError, IndexError)):
        explore(question(**changes), 15, **UNSHRUNK)


def test_sums_in_another_order_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums before the pause are added last: the same numbers, rounded otherwise."""
    right = RunningSums.take_up

    def apart(running_sums: Any, checkpoint: Checkpoint) -> Any:
        position = right(running_sums, replace(checkpoint, sums=0 * checkpoint.sums))
        before, enter = torch.tensor(checkpoint.sums), running_sums.enter

        def late(block: Any) -> None:
            running_sums._sums = running_sums._sums + before
            enter(block)
            running_sums._sums = running_sums._sums - before

        running_sums.enter = late
        return position

    monkeypatch.setattr(RunningSums, "take_up", apart)
    with pytest.raises(AssertionError):
        explore(question(), 20, **UNSHRUNK)


def plain() -> Question:
    return Question("sgld-euler", "full", "fixed", "philox", "float64", 0)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"scheme": "sghmc-aboba"}, "scheme='sgld-euler'"),
        ({"kind": "iid"}, "gradient="),
        ({"rows": "power"}, "rows="),
        ({"generator": "native"}, "generator='philox'"),
        ({"dtype": "float32"}, "dtype='float64'"),
        ({"burn_in": 1}, "burn_in='0'"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_by_name(changes: dict[str, Any], named: str) -> None:
    held = plain().run(range(CHAINS)).advance(3).pause()
    other = replace(plain(), **changes)
    with pytest.raises(ConfigurationError, match=named.replace("(", r"\(")):
        other.run(range(CHAINS), checkpoint=held)


def test_a_checkpoint_of_another_target_definition_or_chains_is_refused() -> None:
    held = plain().run(range(CHAINS)).advance(3).pause()
    scheme, target, rows = plain().given
    settings = plain().settings(range(CHAINS))
    with pytest.raises(ConfigurationError, match="target="):
        other = build("gaussian", dim=2)
        Run(scheme, other, rows, observables=OBSERVABLES, settings=settings, checkpoint=held)
    with pytest.raises(ConfigurationError, match="potential="):
        other = build("linear-regression", dim=2, size=6, data_seed=1)
        Run(scheme, other, rows, observables=OBSERVABLES, settings=settings, checkpoint=held)
    with pytest.raises(ConfigurationError, match="definition="):
        changed = replace(load_scheme("sghmc-aboba"), name=scheme.name)
        Run(changed, target, rows, observables=OBSERVABLES, settings=settings, checkpoint=held)
    with pytest.raises(ConfigurationError, match="observables="):
        Run(scheme, target, rows, observables=OBSERVABLES[::-1], settings=settings, checkpoint=held)
    with pytest.raises(ConfigurationError, match="first_chain=0, chains=5"):
        plain().run(range(1, 1 + CHAINS), checkpoint=held)


def test_files_that_are_no_checkpoints_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("nothing")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    for name, reason in (("none", "no such file"), ("text", "no checkpoint"), ("other.npz", "no checkpoint")):
        with pytest.raises(ConfigurationError, match=reason):
            plain().run(range(CHAINS), checkpoint=tmp_path / name)
    with pytest.raises(ConfigurationError, match="cannot be written"):
        plain().run(range(CHAINS)).pause().save(tmp_path / "no" / "folder.npz")


def test_no_number_of_steps_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="steps=0"):
        plain().run(range(CHAINS)).advance(0)


def test_a_run_that_was_ended_in_the_middle_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    run = plain().run(range(CHAINS)).advance(2)

    def ended(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunningSums, "enter", ended)
    with pytest.raises(KeyboardInterrupt):
        run.advance()
    with pytest.raises(ConfigurationError, match="take up the last checkpoint"):
        run.pause()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
def test_a_run_goes_on_on_another_device() -> None:
    """Up to the arithmetic of the device: the streams and the sums are the same."""
    held = plain().run(range(CHAINS)).advance(4).pause()
    scheme, target, rows = plain().given
    settings = replace(plain().settings(range(CHAINS)), device="cuda")
    found = (
        Run(scheme, target, rows, observables=OBSERVABLES, settings=settings, checkpoint=held)
        .advance()
        .averages
    )
    np.testing.assert_allclose(found.values, uninterrupted(plain()).values, rtol=1e-12)
