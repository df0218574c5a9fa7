"""Check: one step of torch code is a function of its state, its draws and its minibatches alone."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import cast

import torch
from torch import Tensor

from sgverify.checks.code.batches import Batches, judge_batches
from sgverify.checks.code.real_run import law_of_run
from sgverify.checks.concluding import configured_scope
from sgverify.checks.question import Question
from sgverify.errors import Unreached
from sgverify.evidence import Evidence, held, tried
from sgverify.law.chosen_step import black_box, states_of
from sgverify.rates.verdict import Judgement
from sgverify.samplers.intercepted.interception import ReplayError
from sgverify.samplers.intercepted.other_sources import clock_fault, other_sources
from sgverify.samplers.intercepted.repeated_step import (
    STEPS,
    Call,
    Repetition,
    copies,
    judge_repetition,
    take_again,
)
from sgverify.schemes.torch_step import LifeCycle, TorchStep
from sgverify.subject.composite import limits
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject

MOST_NAMED = 2
"""The most lines of other draws that a sentence names."""

KEPT = "what a step carries on belongs into its state, or is made in the step"

NOTHING_BESIDE = LifeCycle()


def check_pure_step(question: Question) -> Evidence:
    """A step of torch code, called repeatedly, depends on its state, draws and minibatch alone and changes no argument.

    What cannot be called twice, because numbers come from elsewhere than torch or something is kept between calls, is judged by a
    run of its own: it fails if its law is wrong there.

    Cannot see: a memory that shows only after more calls than the certificate counts, which `long-run` looks for; and whether the
    step is right.
    """
    subject = question.subject
    try:
        repeated = repetition(subject)
        batches = judge_batches(subject) if subject.scheme.chains else Batches()  # type: ignore[attr-defined]
        clock, hidden = _clock(subject)
    except Unreached as error:
        return question.unanswered(f"the step cannot be asked twice: {error}")
    except ReplayError as error:
        return question.unanswered(f"the step cannot be asked twice: {_way_on(subject)}; {error}")
    # What depends on the clock is seen as such, and not as something kept.
    unrepeated = clock or repeated.unrepeated
    step = cast(TorchStep, subject.scheme)
    # Of code whose counters are held between calls, a long run as it is shows whether it seeds by them.
    noise = "" if step.as_it_is is not None else repeated.noise
    faults = list(filter(None, [noise, *repeated.faults, batches.fault]))
    cycle = step.life_cycle
    beside = NOTHING_BESIDE if cycle is None else cycle()
    if unrepeated and not (faults or beside.faults):
        return _by_its_run(question, unrepeated, repeated)
    if (batches.unread or hidden) and not (faults or beside.faults):
        return question.unanswered(batches.unread or hidden)
    return _evidence(question, [*faults, *filter(None, [unrepeated])], repeated, batches, beside)


def _way_on(subject: Subject) -> str:
    """Where other numbers than torch's come from, and what may take their place."""
    return ", and ".join(other_sources(partial(_real, subject))[:MOST_NAMED]) or KEPT


def repetition(subject: Subject) -> Repetition:
    """Does the step of a subject give equal bits when its state and its draws come again?"""
    return judge_repetition(_call(subject), subject.scheme.state, states_of(subject, 1)[0])


def _call(subject: Subject) -> Call:
    box = black_box(subject, seed=run_seed(subject, "minibatches"))

    def call(state: tuple[Tensor, ...], number: int) -> tuple[Tensor, ...]:
        h = subject.step / (1 + number % 2)
        moved = box.real(state, h)
        if number == 0:
            box.finite(moved, state, h)
        return moved

    return call


def _by_its_run(question: Question, unrepeated: str, repeated: Repetition) -> Evidence:
    """The answer for code that cannot be called twice: wrong if its law over a run of its own is, else open."""
    subject = question.subject
    run, sources = law_of_run(subject), other_sources(partial(_real, subject))
    way = ", and ".join(sources[:MOST_NAMED]) or KEPT
    if run.fault:
        judgement = Judgement(
            "violates", False, f"the law of its run is wrong: {run.fault}; {unrepeated}; {way}"
        )
    else:
        shown = run.told or "no run of its own tells its law"
        reason = f"the step cannot be asked twice: {way}; {unrepeated}; {shown}"
        judgement = Judgement("inconclusive", False, reason)
    scope = configured_scope(subject, question.configuration)
    return question.evidence(
        judgement,
        certificate={
            "calls": repeated.calls,
            "faults": [unrepeated],
            "sources": sources,
            "run": run.fault or run.told,
            "limits": limits(subject.target.dim),
        },
        scope=scope
        if run.fault
        else replace(scope, time=held("what its state and its draws from torch do not decide")),
    )


def _real(subject: Subject) -> None:
    box = black_box(subject, seed=run_seed(subject, "minibatches"))
    with torch.random.fork_rng(devices=[]):
        box.real(copies(states_of(subject, 1)[0]), subject.step)


def _clock(subject: Subject) -> tuple[str, str]:
    return clock_fault(take_again(_call(subject), states_of(subject, 1)[0]))


def _evidence(
    question: Question,
    faults: list[str],
    repeated: Repetition,
    batches: Batches | None = None,
    beside: LifeCycle = NOTHING_BESIDE,
) -> Evidence:
    subject = question.subject
    step = cast(TorchStep, subject.scheme)
    scope = question.scope()
    if step.own_loss is not None and "time" not in step.held:
        # No long run of it is made.
        scope = replace(scope, time=tried(f"{STEPS} steps in a row"))
    return question.evidence(
        _judge(faults, repeated, batches, beside),
        scope=scope,
        certificate={
            "calls": repeated.calls,
            "faults": [*faults, *beside.faults],
            **({"tried_beside_the_step": list(beside.tried)} if beside.tried else {}),
            "returned_as_they_came": list(repeated.aliased),
            **({"batches_of": list(batches.sizes)} if batches is not None and batches.sizes else {}),
            **({"larger_batches": batches.stopped} if batches is not None and batches.stopped else {}),
            "limits": limits(subject.target.dim),
        },
    )


def _judge(faults: list[str], repeated: Repetition, batches: Batches | None, beside: LifeCycle) -> Judgement:
    if beside.faults and not faults:
        more = f"; and {len(beside.faults) - 1} more" if len(beside.faults) > 1 else ""
        return Judgement(
            "violates",
            False,
            f"a chain is not what its calls say: {beside.faults[0]}{more}; the step itself is a function of its arguments",
        )
    if faults:
        mend = f"; {KEPT}" if repeated.unrepeated else ""
        return Judgement(
            # What a library's user sees of the same fault comes first.
            "violates",
            False,
            f"the step is no function of its arguments: {'; '.join([*beside.faults, *faults])}{mend}",
        )
    rows = (
        f"; in batches of {len(batches.sizes)} sizes up to {max(batches.sizes)} each chain is what it is alone"
        if batches is not None and batches.sizes
        else ""
    )
    besides = f"; tried too: {', '.join(beside.tried)}" if beside.tried else ""
    return Judgement(
        "conforms",
        False,
        f"{repeated.calls} calls: equal arguments gave equal bits; the state, the draws and the minibatch decide, in "
        f"whatever order the step is called, and no argument was written to{rows}{besides}",
    )
