"""Checks of torch code: are the draws of its steps new, of their law and uncorrelated, and are its chains independent?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from sgverify.checks.code.batches import judge_batches
from sgverify.checks.code.injected_step import black_box, states_of
from sgverify.checks.code.pure_step import noise_faults
from sgverify.checks.code.real_run import law_of_run
from sgverify.checks.question import Question
from sgverify.checks.rates.sampled.method import run_seed, share_of
from sgverify.errors import SgverifyError, Unreached, UserError
from sgverify.evidence import Evidence, tried
from sgverify.rates import Judgement
from sgverify.rates.whiteness import (
    Extreme,
    between_chains,
    coincidence,
    common_part,
    lagged,
    law_distance,
    mean_size,
    repeated,
    sizes,
    variance_ratio,
    window,
)
from sgverify.samplers.intercepted import BlackBox
from sgverify.samplers.intercepted.interception import LiveDraws, Recording, Replay, ReplayError
from sgverify.samplers.intercepted.real_calls import copies
from sgverify.schemes.definition.mathematics import NORMAL
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.composite import TorchSubject, limits
from sgverify.subject.subject import Subject

STEPS, CHAINS = 40, 16
"""The steps of each chain, and the chains: in one tensor if the code takes many, else one chain after the other."""

LAGS = 8
"""The largest distance in steps at which correlations are tested."""

WIDEST = 24
"""The most numbers of one step that are tested; of more, the first ones."""

UNIT = 2.0**-53

_TESTS = 2 * (LAGS + 1) + 6
"""The number of tests, which share the level."""


@dataclass(frozen=True)
class ChainDraws:
    """The numbers that drive the draws of chains, shape (STEPS, w, CHAINS); `per_step` is how many a step draws of each chain.

    `unread` is the reason why there are none.
    """

    values: np.ndarray
    per_step: int
    unread: str = ""


@cached_per_subject
def draws_of_chains(subject: Subject) -> ChainDraws:
    """Run the chains with the code's own generators, which start from one seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run_seed(subject, "draws of torch code"))
        try:
            rows = _together(subject) if cast(TorchSubject, subject).scheme.chains else _in_turn(subject)
        except Unreached as error:
            return ChainDraws(np.zeros((STEPS, 0, CHAINS)), 0, str(error))
    width = min((len(row) for chain in rows for row in chain), default=0)
    values = np.array([[row[:width] for row in chain] for chain in rows]).reshape(CHAINS, STEPS, width)
    return ChainDraws(values.transpose(1, 2, 0)[:, :WIDEST], width)


def _going_on(subject: Subject) -> BlackBox:
    """The step, with the counters that an adapter holds going on: some generators are seeded by them."""
    box = black_box(subject, seed=run_seed(subject, "minibatches"))
    free = getattr(box.step.function, "free", None)
    return box if free is None else replace(box, step=replace(box.step, function=free()))


def _in_turn(subject: Subject) -> list[list[np.ndarray]]:
    box, found = _going_on(subject), []
    for start in states_of(subject, CHAINS):
        state, chain = start, []
        for _ in range(STEPS):
            moved, numbers = _step(subject, box, state)
            chain.append(np.concatenate([z.reshape(-1).numpy() for z in numbers]) if numbers else np.zeros(0))
            state = start if moved is None else moved
        found.append(chain)
    return found


def _together(subject: Subject) -> list[list[np.ndarray]]:
    box = black_box(subject, seed=run_seed(subject, "minibatches"))
    start = tuple(torch.cat(parts) for parts in zip(*states_of(subject, CHAINS), strict=True))
    state, found = start, []
    for _ in range(STEPS):
        moved, numbers = _step(subject, box, state)
        box.check_rows([tuple(z.shape) for z in numbers], CHAINS)
        rows = [z.reshape(CHAINS, -1).numpy() for z in numbers]
        found.append(np.concatenate(rows, axis=1) if rows else np.zeros((CHAINS, 0)))
        state = start if moved is None else moved
    return [[step[k] for step in found] for k in range(CHAINS)]


def _step(subject: Subject, box: Any, state: tuple[Tensor, ...]) -> tuple[Any, list[Tensor]]:
    """The next state, None if it is not finite, and the numbers behind the draws."""
    with LiveDraws() as live:
        try:
            moved = box.real_state(state, subject.step)
        except UserError:
            # A chain that leaves every bound starts anew: its draws are what is looked at.
            moved = None
    return moved, live.numbers


def check_white_noise(question: Question) -> Evidence:
    """The numbers behind the draws of torch code are new at every step, standard normal and uncorrelated; nothing else is random.

    The code runs with its own generators. From equal states its steps are the same, bit for bit, once the draws are put back.

    Cannot see: dependence without correlation, and correlations over more steps than are tried.
    """
    subject = question.subject
    drawn = draws_of_chains(subject)
    certificate: dict[str, Any] = {
        "level": share_of(subject).point_null,
        "steps": STEPS,
        "chains": CHAINS,
        "numbers_of_a_step": drawn.per_step,
        "limits": limits(subject.target.dim),
    }

    def settle(verdict: str, reason: str) -> Evidence:
        return question.evidence(
            Judgement(verdict, False, reason),
            method="monte-carlo",
            certificate=certificate,
            scope=question.scope(states=tried(f"those of {CHAINS} chains of {STEPS} steps")),
        )

    stale, kept = noise_faults(subject)
    if stale:
        return settle("violates", f"the noise of the steps is not what they draw: {stale[0]}")
    elsewhere = [*kept, *_not_replayed(subject)]
    if elsewhere:
        run = law_of_run(subject)
        return settle(
            "violates" if run.fault else "inconclusive",
            f"the noise of the steps is not what they draw from torch: {elsewhere[0]}; {run.fault or 'see pure-step'}",
        )
    if drawn.unread:
        return settle("inconclusive", f"the draws are not read: {drawn.unread}")
    if not drawn.per_step:
        return settle("not-applicable", "a step draws nothing from torch's generators")
    share = share_of(subject).point_null / _TESTS
    for a, i, b, j in _shared(drawn, share):
        if a == b:
            where = (
                f"those of chain {a} from step {j + 1} on are those from step {i + 1} on, up to their sign"
            )
            return settle("violates", f"the draws repeat: {where}")
    for item, text in _statistics(drawn.values, share):
        if item.beyond:
            return settle(
                "violates",
                f"the noise is not white: {text}, {item.value:.3g} where {item.bound:.3g} is the bound",
            )
    return settle(
        "conforms",
        f"{STEPS} steps: {_of_draws(subject)}; of {CHAINS} chains, {drawn.per_step} numbers a step, normal and new in "
        "every step; with its draws put back a step gives equal bits",
    )


def _of_draws(subject: Subject) -> str:
    """What conforms: the code's draws, or torch's in the place of those of another generator, which is not judged."""
    other = cast(TorchSubject, subject).scheme.generator
    if not other:
        return "no repeated or correlated draws"
    return f"torch drew, not {other}; numbers of {other} are not judged, and those of torch not repeated or correlated"


def _shared(drawn: ChainDraws, share: float) -> Iterator[tuple[int, int, int, int]]:
    """Stretches of draws that occur twice: chain, step, other chain, its step, the steps counted from 0."""
    width = drawn.values.shape[1]
    streams = drawn.values.transpose(2, 0, 1).reshape(CHAINS, -1)
    needed = window(coincidence(NORMAL, UNIT), streams.size, share)
    for a, i, b, j in repeated(streams, min(needed, streams.shape[1])):
        yield a, i // width, b, j // width


def _statistics(values: np.ndarray, share: float) -> Iterator[tuple[Extreme, str]]:
    yield mean_size(values, share), "the mean of its draws is not 0"
    ratio, low, high = variance_ratio(values, share)
    yield (
        Extreme(ratio - (low + high) / 2, (high - low) / 2, (), 1),
        f"the variance of its draws is {ratio:.3g}, not 1",
    )
    yield law_distance(values, NORMAL, share), "its draws do not have their law"
    for of, numbers in (("", values), ("the sizes of ", sizes(values))):
        for lag in range(LAGS + 1):
            found = lagged(numbers, lag, share)
            if found is not None:
                yield (
                    found,
                    f"{of}draws {lag} steps apart are correlated"
                    if lag
                    else f"{of}draws of one step are correlated",
                )


def _not_replayed(subject: Subject) -> list[str]:
    """A sentence about a step that differs although its draws are put back; empty if it does not."""
    box = black_box(subject, seed=run_seed(subject, "minibatches"))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run_seed(subject, "draws put back"))
        for state in states_of(subject, 2):
            box.make_debut(state, subject.step)
            try:
                with Recording() as recorded:
                    once = box.real(copies(state), subject.step)
                with Replay(recorded.values) as replay:
                    again = box.real(copies(state), subject.step)
                replay.finish()
            except ReplayError as error:
                return [f"from one state and the same draws, {error}"]
            except SgverifyError:
                # Draws with several results are not recorded.
                return []
            if any(not torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(once, again, strict=True)):
                return [
                    "with its draws put back, a step from the same state gives another state: something else is random"
                ]
    return []


def check_independent_chains(question: Question) -> Evidence:
    """Chains of torch code share no draws, in one tensor or one after the other, and do not disturb one another.

    Code that takes many chains in one tensor is run in batches of many sizes, each row against its chain run alone.

    Cannot see: dependence without correlation and without a shared stretch, and chains that meet after the steps that are compared.
    """
    subject = question.subject
    drawn = draws_of_chains(subject)
    many = cast(TorchSubject, subject).scheme.chains
    certificate: dict[str, Any] = {
        "level": share_of(subject).point_null,
        "steps": STEPS,
        "chains": CHAINS,
        "together": many,
        "limits": limits(subject.target.dim),
    }

    def settle(verdict: str, reason: str) -> Evidence:
        return question.evidence(
            Judgement(verdict, False, reason),
            method="monte-carlo",
            certificate=certificate,
            scope=question.scope(states=tried(f"those of {CHAINS} chains of {STEPS} steps")),
        )

    sizes_tried = 0
    if many:
        batches = judge_batches(subject)
        if batches.fault:
            return settle("violates", f"the chains are not independent: {batches.fault}")
        if batches.unread:
            return settle("inconclusive", f"rows of a batch are not compared: {batches.unread}")
        sizes_tried = len(batches.sizes)
    if drawn.unread:
        return settle("inconclusive", f"the draws are not read: {drawn.unread}")
    if not drawn.per_step:
        return settle("not-applicable", "a step draws nothing from torch's generators")
    share = share_of(subject).point_null / 3
    for a, i, b, j in _shared(drawn, share):
        if a != b:
            where = f"those of chain {b} from step {j + 1} on are those of chain {a} from step {i + 1} on, up to their sign"
            return settle("violates", f"two chains share their draws: {where}")
    streams = drawn.values.transpose(2, 0, 1).reshape(CHAINS, -1)
    pair = between_chains(streams.T, share)
    for item, text in (
        (pair, "two chains are correlated"),
        (common_part(streams.T, share), "all chains have noise in common"),
    ):
        if item is not None and item.beyond:
            return settle(
                "violates",
                f"the chains are not independent: {text}, {item.value:.3g} where {item.bound:.3g} is the bound",
            )
    how = (
        f"in one tensor, and in batches of {sizes_tried} sizes each is what it is alone"
        if many
        else "one after the other"
    )
    found = _of_draws(subject).replace("repeated", "shared")
    return settle("conforms", f"{CHAINS} chains: {found}; {STEPS} steps of each, {how}")


__all__ = ["check_independent_chains", "check_white_noise", "draws_of_chains"]
