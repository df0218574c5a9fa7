"""One step of a definition on tensors keeps nothing between calls, and runs disturb neither one another nor their own pauses."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from sgverify.law.chosen_step import questions_of
from sgverify.rates.verdict import Judgement
from sgverify.samplers import Settings, fixed
from sgverify.samplers.run.run import Ensemble
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject
from tests.self_checks.finding import Finding, finding
from tests.self_checks.given_steps import plain_step

QUESTIONS = 3
"""The number of inputs that a step is called with, in several orders."""

STEPS, AT_ONCE, CHAINS = 6, 2, 2
"""The steps, steps per block and chains of the two runs of the sampler that take turns."""

PAUSE = 3
"""The step after which a run is paused; no block ends there otherwise."""


def check_pure_runs(subject: Subject) -> Finding:
    """The same state, draws and minibatch give the same bits whatever was called before, and nothing else changes.

    Two runs of the sampler that take turns must each give the bits that it gives alone, and so must a run that is paused.
    """
    faults = [*repeated(subject), *(runs_apart(subject) or pauses(subject))]
    if faults:
        judgement = Judgement(
            "violates", False, f"the step is no function of its arguments: {'; '.join(faults)}"
        )
    else:
        judgement = Judgement("conforms", False, "equal arguments gave equal bits")
    return finding(judgement, certificate={"faults": faults})


def repeated(subject: Subject) -> list[str]:
    """Sentences about a step that gives other bits when its state, draws and minibatch come again, or writes to its arguments."""
    plain = plain_step(subject, seed=run_seed(subject, "minibatches"))
    inputs = questions_of(subject, QUESTIONS, plain.numbers)
    found: dict[int, list[Tensor]] = {}
    faults = []
    for number in (*range(QUESTIONS), *reversed(range(QUESTIONS)), *range(QUESTIONS)):
        asked = inputs[number]
        state = tuple(value.clone() for value in asked.state)
        moved = [value.clone() for value in plain.run(state, asked.draws.clone(), asked.h)]
        if any(not torch.equal(one, kept) for one, kept in zip(state, asked.state, strict=True)):
            faults.append("it writes to its arguments")
        first = found.setdefault(number, moved)
        if any(not torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(first, moved, strict=True)):
            faults.append("the same state, draws and minibatch gave another state when they came again")
    return list(dict.fromkeys(faults))


def runs_apart(subject: Subject) -> list[str]:
    """A sentence about two alternating runs of the sampler of which one changes the other; empty if neither does."""
    alone = [list(_blocks(subject, number)) for number in range(2)]
    pair = [_blocks(subject, number) for number in range(2)]
    together: list[list[dict[str, Tensor]]] = [[], []]
    for _ in range(max(map(len, alone))):
        for number, run in enumerate(pair):
            state = next(run, None)
            if state is not None:
                together[number].append(state)
    for number, (one, other) in enumerate(zip(alone, together, strict=True)):
        for block, (a, b) in enumerate(zip(one, other, strict=True)):
            apart = [name for name in a if not torch.equal(a[name].nan_to_num(), b[name].nan_to_num())]
            if apart:
                return [
                    f"two runs of the sampler that take turns disturb one another: {apart[0]} of run {number + 1} is not, at step "
                    f"{(block + 1) * AT_ONCE}, what that run gives alone"
                ]
    return []


def pauses(subject: Subject) -> list[str]:
    """A sentence about a run that changes if it is drawn in short blocks, or paused and resumed; empty if it does not."""
    rows = fixed([subject.step], [STEPS])
    settings = Settings.of(subject.configuration, chains=CHAINS)
    found = {}
    for name, block, stop in (
        ("", STEPS, STEPS),
        ("drawn in blocks", AT_ONCE, STEPS),
        ("paused", STEPS, PAUSE),
    ):
        run = Ensemble(subject.scheme, subject.target, rows, settings, block=block)
        position = run.begin()
        for until in (stop, STEPS):
            for part in run.blocks(start=position, until=until):
                last = part
            position = run.position(last)
        found[name] = {key: value.clone() for key, value in last.state.items()}
    whole = found.pop("")
    for name, state in found.items():
        apart = [key for key in whole if not torch.equal(whole[key].nan_to_num(), state[key].nan_to_num())]
        if apart:
            how = f"{name} of {AT_ONCE} steps" if name != "paused" else f"{name} after step {PAUSE}"
            return [
                f"a run that is {how} ends at another {apart[0]} than one that is not, after {STEPS} steps"
            ]
    return []


def _blocks(subject: Subject, number: int) -> Iterator[dict[str, Tensor]]:
    c = subject.configuration
    # The two runs differ in seed and start, so that any value passed from one to the other changes its states.
    settings = Settings.of(c, chains=CHAINS, seed=c.seed + number, start=c.start_of() + number / 2)
    rows = fixed([subject.step / (1 + number)], [STEPS])
    run = Ensemble(subject.scheme, subject.target, rows, settings, block=AT_ONCE)
    for block in run.blocks():
        yield {name: value.clone() for name, value in block.state.items()}
