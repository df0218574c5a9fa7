"""Check: are the random numbers of all chains of a run independent?

The first draws of all chains are compared. How many draws must agree follows from the negligible chance of a coincidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sgverify.checks.rates.sampled.method import WIDEST, share_of
from sgverify.rates.verdict import Judgement
from sgverify.samplers import GradientChoice, Row
from sgverify.schemes.definition.mathematics import NORMAL, NoiseLaw
from sgverify.subject.subject import Subject
from tests.self_checks.finding import Finding, finding, unanswered
from tests.self_checks.minibatches import draw_of, period_of
from tests.self_checks.run_transcript import transcribe
from tests.self_checks.transcripts import (
    LENGTH,
    Columns,
    Runs,
    columns_of,
    fresh_minibatches,
    minibatches_of,
    numbered,
    runs_of,
    sides,
    unit_of,
)
from tests.self_checks.white_noise import crossed
from tests.self_checks.whiteness import Extreme, between_chains, coincidence, common_part, repeated

WORK = 1_000_000
"""The largest number of values that the steps of the widest batches visit; data count if gradients visit all of them."""

MOST_SHUFFLED = 2048
"""The largest data set that is shuffled for every chain; on a larger one the minibatches of all chains are not compared."""

_STREAMS = 8
"""An upper bound of the streams per step, for the bound of the chance of a coincidence."""


def every_chain(subject: Subject, runs: Runs, share: float) -> Iterator[Runs]:
    """Short runs of all chains: the configured chains, then two batches of the largest width, WIDEST.

    The runs are just long enough that a coincidence between two chains is negligible. The sampler holds up to WIDEST chains
    in one tensor, so that two such batches show an error in the numbering of chains.
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
    """A function of n: a lower bound of -log2 of the chance that n independent draws of a law repeat n given ones."""
    single = coincidence(law, unit)
    return lambda count: 0.0 if single >= 1 else -count * math.log2(single)


def minibatch_bits(subject: Subject, count: int) -> float:
    """A lower bound of the bits in a chain's first `count` minibatches, without the order within a minibatch.

    A minibatch of n out of N data has at least log2 N bits with replacement, and log2 C(N, n) without. The first r blocks of
    a permutation have log2 N!/((N - rn)! n!^r). Blocks that a backward sweep repeats have none.
    """
    c, size = subject.configuration.gradient, subject.target.size
    assert size is not None
    per_step = max(1, subject.scheme.minibatches)
    if not c.estimator.exchangeable:
        draws = 1 + draw_of(c.estimator, count - 1, size, c, per_step)
        own = _log2_factorial(size) - _log2_factorial(c.batch) - _log2_factorial(size - c.batch)
        return draws * (math.log2(size) if c.estimator.replaced else own)
    blocks = size // c.batch
    epochs, rest = divmod(count, period_of(c.estimator, size, c, per_step))

    def of_blocks(r: int) -> float:
        return _log2_factorial(size) - _log2_factorial(size - r * c.batch) - r * _log2_factorial(c.batch)

    return epochs * of_blocks(blocks) + of_blocks(min(rest, blocks))


def wanted_bits(places: int, level: float) -> float:
    """The bits per stretch with which any two of `places` stretches, up to sign, coincide with chance at most `level`."""
    return math.log2(places * places / level)


def fewest(bits: Callable[[int], float], most: int, wanted: float) -> int | None:
    """The smallest count n <= `most` with bits(n) >= `wanted`; None if there is none."""
    return next((count for count in range(1, most + 1) if bits(count) >= wanted), None)


def _log2_factorial(number: int) -> float:
    return math.lgamma(number + 1) / math.log(2)


COMPARED_CHAINS = 4
"""The most numbers of one step whose streams are searched for shared stretches."""

_TESTS = 8
"""The largest number of tests of one row."""


def check_independent_chains(subject: Subject) -> Finding:
    """No stretch of a chain's draws is found in another chain, step size or batch, and chains are uncorrelated.

    Pair by pair, and all together: the part of the draws that all chains have in common has the size of chance.

    Cannot see: dependence without correlation and without a shared stretch, and chains that meet after the steps that
    are compared.
    """
    runs = runs_of(subject)
    if not subject.scheme.draws and runs.batches[0].minibatches is None and runs.batches[0].additive is None:
        return unanswered("a step draws neither noise nor minibatches", "not-applicable")
    if runs.diverged:
        reason = f"chains diverge at every step size tried; no draws to look at ({runs.diverged})"
        return unanswered(reason, method="monte-carlo")
    rows = runs.batches[0].rows
    share = share_of(subject).point_null / (len(rows) + 2) / _TESTS
    columns = [columns_of(subject, runs, row) for row in range(len(rows))]
    certificate: dict[str, Any] = {
        "level": share_of(subject).point_null,
        "chains": len(runs.chains),
        "rows": len(rows),
    }
    settle = partial(finding, method="monte-carlo", certificate=certificate)
    copied = _copied(subject, runs, columns, share)
    for wide in () if copied else every_chain(subject, runs, share):
        certificate["all_chains"] = max(certificate.get("all_chains", 0), len(wide.chains))
        copied = copied or _copied(subject, wide, [columns_of(subject, wide, 0)], share, anywhere=False)
    if copied:
        return settle(Judgement("violates", False, f"the chains are not independent: {copied}"))
    for name, item, text in _statistics(subject, runs, columns, share):
        known = certificate.setdefault("largest", {}).get(name)
        if known is None or abs(item.value) / item.bound > abs(known[0]) / known[1]:
            certificate["largest"][name] = [item.value, item.bound]
        if item.beyond:
            reason = f"the chains are not independent: {text}, {item.value:.3g} where {item.bound:.3g} is the bound"
            return settle(Judgement("violates", False, reason))
    reason = (
        f"{len(runs.chains)} chains: no shared or correlated draws; in two batches, on {len(rows)} schedules, no stretch of random "
        "numbers occurs in two chains, and no two chains, nor all together, are correlated"
        + (
            f"; {certificate['all_chains']} chains: no duplicated starts"
            if "all_chains" in certificate
            else ""
        )
    )
    return settle(Judgement("conforms", False, reason))


def _copied(subject: Subject, runs: Runs, columns: list[Columns], share: float, anywhere: bool = True) -> str:
    """A sentence about a stretch of random numbers that two chains share; "" if there is none.

    With `anywhere` a stretch may start at any step of either chain; otherwise it spans the first step to the last.
    """
    chains = columns[0].values.shape[-1]
    for law in sorted(set(columns[0].laws), key=str):
        # (S, w, C) streams of L draws.
        values = np.stack([item.of(law)[:, :COMPARED_CHAINS] for item in columns]).transpose(0, 2, 3, 1)
        found = _shared(values, draw_bits(law, unit_of(subject)), share, anywhere)
        if found is not None:
            return _told(runs, "draws", found, chains, values.shape[1])
    minibatches = [minibatches_of(subject, runs, row) for row in range(len(columns))]
    if minibatches[0] is not None:
        assert subject.target.size is not None
        numbers = np.stack([numbered(item) for item in minibatches if item is not None])
        fresh = anywhere and fresh_minibatches(subject)
        bits = partial(minibatch_bits, subject)
        found = _shared(numbers.transpose(0, 2, 1)[:, None], bits, share, fresh)
        if found is not None:
            return _told(runs, "minibatches", found, chains, 1)
    return ""


def _shared(
    values: np.ndarray, bits: Callable[[int], float], share: float, anywhere: bool = True
) -> tuple[int, int, int, int] | None:
    """Two streams of different chains or rows that share a stretch; `values` has shape (S, w, C, L).

    `bits(n)` are the bits in a stretch of n numbers. With `anywhere` a stretch may start at any step; otherwise it spans
    the first step to the last.
    """
    length, chains = values.shape[-1], values.shape[-2]
    streams = values.reshape(-1, length)
    places = streams.size if anywhere else len(streams)
    needed = fewest(bits, length, wanted_bits(places, share / 2))
    if needed is None:
        return None
    for a, i, b, j in repeated(streams, needed if anywhere else length):
        # The check `white-noise` reports repetitions within one chain.
        other_row = a // (values.shape[1] * chains) != b // (values.shape[1] * chains)
        if a % chains != b % chains or other_row:
            return a, i, b, j
    return None


def _told(runs: Runs, what: str, found: tuple[int, int, int, int], chains: int, width: int) -> str:
    a, i, b, j = found
    (row, one), (other_row, other) = (
        (stream // (width * chains), runs.chains[stream % chains]) for stream in (a, b)
    )
    rows = runs.batches[0].rows
    first = f"those of chain {one}" + (f" with {rows[row].schedule}" if row != other_row else "")
    second = f"chain {other} with {rows[other_row].schedule}"
    return f"the {what} of {second}, from step {j + 1} on, are {first} from step {i + 1} on, bit for bit"


def _statistics(
    subject: Subject, runs: Runs, columns: list[Columns], share: float
) -> Iterator[tuple[str, Extreme, str]]:
    rows = runs.batches[0].rows
    for number, item in enumerate(columns):
        where = f"with {rows[number].schedule}"
        if item.laws and item.bounded:
            flat = item.values.reshape(-1, item.values.shape[-1])
            yield from _of_chains(flat, runs.chains, "draws", where, share)
            if number:
                found = crossed(columns[0].values, item.values, share)
                text = f"the draws {where} are correlated with those with {rows[0].schedule}"
                yield "between step sizes", found, text
        minibatches = minibatches_of(subject, runs, number)
        if minibatches is not None:
            side = sides(subject, minibatches)
            if not fresh_minibatches(subject):
                side = side[:: _sweep(subject)]
            yield from _of_chains(side, runs.chains, "minibatches", where, share)


def _of_chains(
    values: np.ndarray, chains: list[int], what: str, where: str, share: float
) -> Iterator[tuple[str, Extreme, str]]:
    pair = between_chains(values, share)
    assert pair is not None
    a, b = (chains[place] for place in pair.place)
    yield f"pairs of chains, {what}", pair, f"the {what} of chains {a} and {b} {where} are correlated"
    yield (
        f"all chains, {what}",
        common_part(values, share),
        f"the {what} of all chains {where} have a part in common",
    )


def _sweep(subject: Subject) -> int:
    """The number of minibatches from one permutation of the data to the next."""
    assert subject.target.size is not None
    gradient = subject.configuration.gradient
    return period_of(gradient.estimator, subject.target.size, gradient, max(1, subject.scheme.minibatches))
