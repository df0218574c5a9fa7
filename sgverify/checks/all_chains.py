"""The first draws of all chains that a run has, and how many of them two chains share only by a negligible chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from sgverify.checks.sampled_rung import WIDEST
from sgverify.checks.subject import Subject
from sgverify.checks.transcripts import LENGTH, Runs, fresh_minibatches, unit_of
from sgverify.rates.whiteness import coincidence
from sgverify.samplers import GradientChoice, Row
from sgverify.samplers.transcript import transcribe
from sgverify.schemes.noise import NORMAL, NoiseLaw

WORK = 1_000_000
"""Numbers that the steps of the widest batches visit at most; the data count where gradients visit all of them."""

MOST_SHUFFLED = 2048
"""Data that are shuffled for every chain, at most; of more of them the minibatches of all chains are not looked at."""

_STREAMS = 8
"""Numbers of one step whose streams are searched, or more."""


def every_chain(subject: Subject, runs: Runs, share: float) -> Iterator[Runs]:
    """Runs over so few steps that chance alone repeats none: the configured chains, then two batches as wide as any.

    A run has one tensor for WIDEST chains, so that what goes wrong with their numbers does so within two of them.
    """
    c, size = subject.configuration, subject.target.size
    schedule = runs.batches[0].rows[0].schedule
    wanted = wanted_bits(2 * WIDEST * _STREAMS, share / 2)
    laws = {*subject.scheme.laws, *((NORMAL,) if c.gradient.estimator.each_evaluation else ())}
    counts = [fewest(draw_bits(law, unit_of(subject)), LENGTH, wanted) for law in laws]
    length = max((count for count in counts if count), default=1)
    shuffled = not fresh_minibatches(subject) and (size or 0) > MOST_SHUFFLED
    gradient = GradientChoice() if shuffled else runs.settings.gradient
    drawn = size is not None and c.gradient.estimator.draws_data and not shuffled
    first = length
    if drawn:
        per_step = max(1, subject.scheme.minibatches)
        most = fewest(partial(minibatch_bits, subject), LENGTH * per_step, wanted)
        first = max(length, -(-most // per_step) if most else 1)
    fresh = drawn and c.gradient.estimator.fresh
    # The gradient of a quadratic potential is one matrix, whatever the number of the data.
    full = 1 if size is None or subject.target.quadratic else size
    visited = subject.target.dim * (c.gradient.batch if fresh else full)
    widest = min(WIDEST, WORK // ((first if fresh else length) * visited))
    batches: list[tuple[int, int, GradientChoice, tuple[int, ...]]] = [
        (first, min(c.chains, WIDEST), gradient, (0,))
    ]
    if widest > 1:
        kept = gradient if fresh or size is None else GradientChoice()
        batches.append((first if fresh else length, widest, kept, (0, WIDEST)))
    for steps, chains, choice, starts in batches:
        settings = replace(runs.settings, chains=chains, gradient=choice)
        made = tuple(
            transcribe(
                subject.scheme,
                subject.target,
                [Row(schedule, (steps,))],
                replace(settings, first_chain=start),
            )
            for start in starts
        )
        found = Runs(settings, made)
        if not found.diverged:
            yield found


def draw_bits(law: NoiseLaw, unit: float) -> Callable[[int], float]:
    """The bits that so many draws of a law have at least: -log2 of the chance that others are the same."""
    single = coincidence(law, unit)
    return lambda count: 0.0 if single >= 1 else -count * math.log2(single)


def minibatch_bits(subject: Subject, count: int) -> float:
    """The bits that the first minibatches of a chain have at least, the order within each left aside.

    One of n data out of N has log2 N or more with replacement, log2 C(N, n) without. The first r blocks of a permutation
    have log2 N!/((N - rn)! n!^r), and blocks that a sweep visits again on its way back have none.
    """
    c, size = subject.configuration.gradient, subject.target.size
    assert size is not None
    per_step = max(1, subject.scheme.minibatches)
    if not c.estimator.exchangeable:
        draws = 1 + c.estimator.draw_of(count - 1, size, c, per_step)
        own = _log2_factorial(size) - _log2_factorial(c.batch) - _log2_factorial(size - c.batch)
        return draws * (math.log2(size) if c.estimator.replaced else own)
    blocks = size // c.batch
    epochs, rest = divmod(count, c.estimator.period(size, c, per_step))

    def of_blocks(r: int) -> float:
        return _log2_factorial(size) - _log2_factorial(size - r * c.batch) - r * _log2_factorial(c.batch)

    return epochs * of_blocks(blocks) + of_blocks(min(rest, blocks))


def wanted_bits(places: int, level: float) -> float:
    """Bits with which none of the pairs of places, or one and another's negative, are the same but with chance `level`."""
    return math.log2(places * places / level)


def fewest(bits: Callable[[int], float], most: int, wanted: float) -> int | None:
    """The fewest numbers, `most` at most, that have the bits that are wanted; None where there are none."""
    return next((count for count in range(1, most + 1) if bits(count) >= wanted), None)


def _log2_factorial(number: int) -> float:
    return math.lgamma(number + 1) / math.log(2)
