"""Check: one step of torch code is a function of its state, its draws and its minibatches alone."""

from __future__ import annotations

from functools import partial
from typing import cast

from sgverify.checks.code.batches import Batches, judge_batches
from sgverify.checks.code.injected_step import black_box, questions_of, states_of, taker
from sgverify.checks.question import Question
from sgverify.checks.rates.sampled.method import run_seed
from sgverify.errors import Unreached
from sgverify.evidence import Evidence
from sgverify.rates import Judgement
from sgverify.samplers.intercepted.black_box import KeptShapeError
from sgverify.samplers.intercepted.purity import Purity, clock_fault, judge_purity
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
from sgverify.subject.subject import Subject

QUESTIONS = 3
"""The number of inputs that the step is called with: two with different step sizes, and a third with the first one's."""

NOTHING_BESIDE = LifeCycle()


def check_pure_step(question: Question) -> Evidence:
    """A step of torch code, called repeatedly, depends on its state, draws and minibatch alone and changes nothing else.

    Cannot see: a memory that shows only after more calls, or in other places, than the certificate counts; and whether
    the step is right.
    """
    subject = question.subject
    try:
        # These tests run first, since a step's first call is part of what they examine.
        noise = noise_faults(subject)
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
    faults = [*noise, *purity.faults, *filter(None, [clock[0]])]
    # State kept between calls also shows in the loop test and in the first call: it is reported once.
    faults = [*(faults or ([left] if left else loop)), *filter(None, [batches.fault])]
    cycle = cast(TorchStep, subject.scheme).life_cycle
    beside = NOTHING_BESIDE if cycle is None else cycle()
    if unread and not (faults or beside.faults):
        return question.unanswered(unread)
    return _evidence(question, faults, purity, batches, beside)


def noise_faults(subject: Subject) -> list[str]:
    """Sentences about torch code whose noise is not new at each step; empty if it is new.

    Of code whose counters are held between calls, a long run as it is shows that.
    """
    if getattr(subject.scheme, "as_it_is", None) is not None:
        return []
    box = black_box(subject, seed=run_seed(subject, "minibatches"))
    state = states_of(subject, 1)[0]
    box.make_debut(state, subject.step)
    again = partial(box.real, h=subject.step)
    faults = [stale_noise(lambda: again(copies(state))), kept_noise(subject.scheme.function)]
    return [fault for fault in faults if fault]


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
        mend = "; what a step carries on belongs into its state, or is made in the step" if kept else ""
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
