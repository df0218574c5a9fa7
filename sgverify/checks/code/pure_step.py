"""Check: one step of torch code is a function of its state, its draws and its minibatches alone.

Of several chains in one batch, each is held against the same chain run alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import torch
from torch import Tensor

from sgverify.checks.code.real_run import law_of_run
from sgverify.checks.concluding import configured_scope
from sgverify.checks.question import Question
from sgverify.errors import Unreached, UserError
from sgverify.evidence import Evidence, held, tried
from sgverify.law.chosen_step import black_box, states_of
from sgverify.rates.verdict import Judgement
from sgverify.samplers.intercepted.black_box import BlackBox
from sgverify.samplers.intercepted.interception import Recording, ReplayError, RowReplay
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
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.composite import limits
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject

ALIKE = 1e-9
"""The relative tolerance between a row of a batch and its chain alone: a batch may take sums in another order."""

CHAINS = 16
"""The number of chains that are run alone; the rows of every batch repeat some of them in random order."""

WIDE = {3: 3.0, 7: 6.0, 11: 3.0, 15: 6.0}
"""Chains, by number, that start farther out, with the factor: a chain far out must not affect the others."""

SIZES = (
    *range(2, 41),
    48,
    50,
    63,
    64,
    65,
    100,
    127,
    128,
    129,
    200,
    255,
    256,
    257,
    500,
    512,
    1000,
    1024,
    2000,
    4096,
)
"""The sizes of batches: even and odd numbers, primes, round numbers, powers of two, and more than a buffer is likely to hold."""

WORK = 100_000_000
"""The largest number of coordinates that the gradients of a batch visit; it limits the number of chains."""


@dataclass(frozen=True)
class Batches:
    """The result of comparing chains in a batch with the same chains run alone.

    `fault` is a sentence about a chain that other chains disturb, "" if there is none; `unread` the reason why the
    comparison failed. `sizes` are the numbers of chains that were compared; `stopped` is the code's error message for more
    chains than are configured.
    """

    fault: str = ""
    unread: str = ""
    sizes: tuple[int, ...] = ()
    stopped: str = ""


@cached_per_subject
def judge_batches(subject: Subject) -> Batches:
    """Compare every row of every batch with its chain run alone, on the same state, draws and minibatch.

    The draws of a chain are recorded when the chain runs alone, and handed to every row that repeats this chain.
    """
    box = black_box(subject, seed=run_seed(subject, "minibatches"))
    states = _states(subject)
    alone, draws = [], []
    compared: list[int] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run_seed(subject, "draws of a batch"))
        try:
            for state in states:
                with Recording() as recording:
                    alone.append(box.real_state(state, subject.step))
                draws.append(recording.values)
            for size in _sizes(subject):
                try:
                    fault = _disturbed(subject, box, states, alone, draws, _rows(subject, size))
                except UserError as error:
                    if size > subject.configuration.chains:
                        return Batches(sizes=tuple(compared), stopped=str(error))
                    fault = f"a chain alone is moved, and a batch of {size} is not: {error}"
                if fault:
                    return Batches(fault, "", tuple(compared))
                compared.append(size)
        except ReplayError as error:
            return Batches(
                "", f"rows of a batch cannot be given the draws of a chain alone: {error}", tuple(compared)
            )
    return Batches("", "", tuple(compared))


def _disturbed(
    subject: Subject,
    box: BlackBox,
    states: Sequence[tuple[Tensor, ...]],
    alone: Sequence[tuple[Tensor, ...]],
    draws: Sequence[Sequence[Tensor]],
    rows: Sequence[int],
) -> str:
    """A sentence about the first row of a batch whose step differs from that of its chain run alone; "" if none does."""
    index, size = torch.tensor(rows), len(rows)
    batch = tuple(torch.cat(values)[index] for values in zip(*states, strict=True))
    with RowReplay(draws, rows) as replay:
        together = box.real_state(batch, subject.step)
    if replay.odd or len(replay.shapes) != len(draws[0]):
        return _of_draws(draws, replay, size)
    for name, single, value in zip(
        subject.scheme.state,
        (torch.cat(values)[index] for values in zip(*alone, strict=True)),
        together,
        strict=True,
    ):
        apart = (single - value).abs()
        off = (apart > ALIKE * (1 + single.abs())).reshape(size, -1).any(dim=1)
        if off.any():
            first = int(off.nonzero()[0])
            return (
                f"chains disturb one another: {name} of chain {first} in a batch of {size} is off by "
                f"{float(apart[first].max()):.3g} from what the same state and draws give alone ({int(off.sum())} are)"
            )
    return ""


def _of_draws(draws: Sequence[Sequence[Tensor]], replay: RowReplay, size: int) -> str:
    """A sentence about a batch that does not draw one row of random numbers per chain.

    Raises `ReplayError` if the numbers of draws do not show which chains share their noise.
    """
    single = [tuple(value.shape) for value in draws[0]]
    if any([tuple(value.shape) for value in other] != single for other in draws):
        raise ReplayError("how many numbers a chain draws depends on its state or on its draws")
    numbers, wanted = _numbers(replay.shapes), size * _numbers(single)
    if len(replay.shapes) == len(single):
        for one, many in zip(single, replay.shapes, strict=True):
            if one == many:
                return f"all chains share their noise: it draws a tensor of shape {many} for one chain and for {size}"
    if numbers < wanted:
        return (
            f"chains share their noise, or some get none: a chain alone draws {_numbers(single)} random numbers, and a batch of "
            f"{size} draws {numbers}, not {wanted}"
        )
    raise ReplayError(
        f"it draws tensors of shapes {_told(replay.shapes)} for {size} chains and of {_told(single)} for one; expected one row for "
        "each chain, as torch.randn_like(theta) draws"
    )


def _numbers(shapes: Sequence[tuple[int, ...]]) -> int:
    return sum(int(torch.Size(shape).numel()) for shape in shapes)


def _told(shapes: Sequence[tuple[int, ...]]) -> str:
    shown = ", ".join(map(str, shapes[:3]))
    return shown + (", ..." if len(shapes) > 3 else "")


def _states(subject: Subject) -> list[tuple[Tensor, ...]]:
    c, found = subject.configuration, []
    centre = torch.tensor(subject.target.location_float64(c.temperature), dtype=torch.float64)
    for number, state in enumerate(states_of(subject, CHAINS)):
        off = WIDE.get(number, 1.0)
        values = (
            centre + off * (value - centre) if name == "theta" else value
            for name, value in zip(subject.scheme.state, state, strict=True)
        )
        found.append(tuple(values))
    return found


def _rows(subject: Subject, size: int) -> list[int]:
    """The chain of each row, drawn at random, so that no regular sharing of rows can pair a chain with itself throughout."""
    random = torch.Generator().manual_seed(run_seed(subject, f"rows of a batch of {size}"))
    rows: list[int] = torch.randint(CHAINS, (size,), generator=random).tolist()
    return rows


def _sizes(subject: Subject) -> list[int]:
    # The gradient of a quadratic potential is one matrix, whatever the number of the data.
    data = 1 if subject.target.quadratic else subject.target.size or 1
    most = max(2, WORK // (data * subject.target.dim))
    sizes = [size for size in sorted({*SIZES, subject.configuration.chains}) if 1 < size <= most]
    # A vector that all chains share looks like a number for each where there are as many chains as coordinates.
    return sorted(sizes, key=lambda size: size <= subject.target.dim)


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
            **({"faults_beside_the_step": list(beside.faults)} if beside.faults and not faults else {}),
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
