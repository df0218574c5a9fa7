"""Check: one step of torch code is a function of its state, its draws and its minibatches alone."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import cast

import torch

from sgverify.checks.code.batches import Batches, judge_batches
from sgverify.checks.code.real_run import law_of_run
from sgverify.checks.concluding import configured_scope
from sgverify.checks.question import Question
from sgverify.errors import Unreached
from sgverify.evidence import Evidence, held
from sgverify.law.chosen_step import black_box, questions_of, states_of, taker
from sgverify.rates import Judgement
from sgverify.samplers.intercepted.black_box import KeptShapeError
from sgverify.samplers.intercepted.purity import Purity, clock_fault, judge_purity, other_sources
from sgverify.samplers.intercepted.real_calls import (
    copies,
    debut_unasked,
    kept_noise,
    left_behind,
    stale_noise,
)
from sgverify.samplers.intercepted.returned_state import loop_faults
from sgverify.schemes.torch_step import LifeCycle, TorchStep
from sgverify.subject.composite import limits
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject

QUESTIONS = 3
"""The number of inputs that the step is called with: two with different step sizes, and a third with the first one's."""

MOST_NAMED = 2
"""The most lines of other draws that a sentence names."""

KEPT = "what a step carries on belongs into its state, or is made in the step"

NOTHING_BESIDE = LifeCycle()


def check_pure_step(question: Question) -> Evidence:
    """A step of torch code, called repeatedly, depends on its state, draws and minibatch alone and changes nothing else.

    What cannot be called twice, because numbers come from elsewhere than torch or something is kept between calls, is judged by a
    run of its own: it fails if its law is wrong there.

    Cannot see: a memory that shows only after more calls, or in other places, than the certificate counts; and whether
    the step is right.
    """
    subject = question.subject
    try:
        # These tests run first, since a step's first call is part of what they examine.
        stale, kept = noise_faults(subject)
        loop = _loop(subject)
        batches = judge_batches(subject) if subject.scheme.chains else Batches()  # type: ignore[attr-defined]
    except KeptShapeError as error:
        if error.made:
            return _evidence(
                question, [f"what it does depends on which call came first: {error}"], Purity((), 0, 0)
            )
        return question.unanswered(str(error))
    clock, left = _clock(subject), left_behind(subject.scheme.function)
    try:
        purity = _purity(subject)
    except Unreached as error:
        purity, unread = Purity((), 0, 0), f"the step cannot be asked twice: {error}"
    else:
        unread = batches.unread or clock[1]
    unrepeated = [*kept, *purity.unrepeated, *filter(None, [clock[0]])]
    unrepeated = unrepeated or list(filter(None, [left]))
    # State kept between calls also shows in the loop test: it is reported once.
    faults = [*stale, *purity.faults, *([] if unrepeated or stale or purity.faults else loop)]
    faults += filter(None, [batches.fault])
    cycle = cast(TorchStep, subject.scheme).life_cycle
    beside = NOTHING_BESIDE if cycle is None else cycle()
    if unrepeated and not (faults or beside.faults):
        return _by_its_run(question, unrepeated, purity)
    if unread and not (faults or beside.faults):
        return question.unanswered(unread)
    return _evidence(question, [*faults, *unrepeated], purity, batches, beside)


def noise_faults(subject: Subject) -> tuple[list[str], list[str]]:
    """Sentences about torch code whose noise is that of the step before, and about what it keeps of its draws; empty if none is.

    Of code whose counters are held between calls, a long run as it is shows that.
    """
    if getattr(subject.scheme, "as_it_is", None) is not None:
        return [], []
    box = black_box(subject, seed=run_seed(subject, "minibatches"))
    state = states_of(subject, 1)[0]
    box.make_debut(state, subject.step)
    again = partial(box.real, h=subject.step)
    faults = stale_noise(lambda: again(copies(state))), kept_noise(subject.scheme.function)
    return [faults[0]] * bool(faults[0]), [faults[1]] * bool(faults[1])


def _by_its_run(question: Question, unrepeated: list[str], purity: Purity) -> Evidence:
    """The answer for code that cannot be called twice: wrong if its law over a run of its own is, else open."""
    subject = question.subject
    run, sources = law_of_run(subject), other_sources(partial(_real, subject))
    way = ", and ".join(sources[:MOST_NAMED]) or KEPT
    if run.fault:
        judgement = Judgement(
            "violates", False, f"the law of its run is wrong: {run.fault}; {unrepeated[0]}; {way}"
        )
    else:
        shown = run.told or "no run of its own tells its law"
        reason = f"the step cannot be asked twice: {way}; {unrepeated[0]}; {shown}"
        judgement = Judgement("inconclusive", False, reason)
    scope = configured_scope(subject, question.configuration)
    return question.evidence(
        judgement,
        certificate={
            "calls": purity.calls,
            "faults": unrepeated,
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


def _purity(subject: Subject) -> Purity:
    take, count = taker(subject)
    numbers = count(states_of(subject, 1)[0])
    questions = questions_of(subject, QUESTIONS, numbers)
    return judge_purity(take, subject.scheme.state, questions, [subject.scheme.function])


def _loop(subject: Subject) -> list[str]:
    box = black_box(subject, seed=run_seed(subject, "minibatches"))
    start = states_of(subject, 1)[0]
    return loop_faults(lambda state: box.real(state, subject.step), subject.scheme.state, start)


def _clock(subject: Subject) -> tuple[str, str]:
    take, count = taker(subject)
    try:
        question = questions_of(subject, 1, count(states_of(subject, 1)[0]))[0]
        return clock_fault(lambda: tuple(take(copies(question.state), question.draws, question.h)))
    except Unreached:
        # The test that calls the step twice reports this error.
        return "", ""


def _evidence(
    question: Question,
    faults: list[str],
    purity: Purity,
    batches: Batches | None = None,
    beside: LifeCycle = NOTHING_BESIDE,
) -> Evidence:
    subject = question.subject
    unasked = debut_unasked(subject.scheme.function)
    not_tried = f"what the first call leaves behind for later ones: {unasked}" if unasked else ""
    return question.evidence(
        _judge(faults, purity, batches, beside, not_tried),
        certificate={
            "calls": purity.calls,
            "places_watched": purity.places,
            "faults": [*faults, *beside.faults],
            **({"tried_beside_the_step": list(beside.tried)} if beside.tried else {}),
            **({"not_tried": [not_tried]} if not_tried else {}),
            "returned_as_they_came": list(purity.aliased),
            **({"batches_of": list(batches.sizes)} if batches is not None and batches.sizes else {}),
            **({"larger_batches": batches.stopped} if batches is not None and batches.stopped else {}),
            "limits": limits(subject.target.dim),
        },
    )


def _judge(
    faults: list[str], purity: Purity, batches: Batches | None, beside: LifeCycle, not_tried: str
) -> Judgement:
    if beside.faults and not faults:
        more = f"; and {len(beside.faults) - 1} more" if len(beside.faults) > 1 else ""
        return Judgement(
            "violates",
            False,
            f"a chain is not what its calls say: {beside.faults[0]}{more}; the step itself is a function of its arguments",
        )
    if faults:
        kept = any(
            "from call to call" in fault or "came first" in fault or "came again" in fault for fault in faults
        )
        mend = f"; {KEPT}" if kept else ""
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
    besides += f"; not tried: {not_tried}" if not_tried else ""
    return Judgement(
        "conforms",
        False,
        f"{purity.calls} calls: equal arguments gave equal bits; the state, the draws and the minibatch decide, in whatever order "
        f"the step is called; none of {purity.places} watched places changed, and no argument was written to{rows}{besides}",
    )
