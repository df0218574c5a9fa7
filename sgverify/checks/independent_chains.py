"""Check: the chains of a run, its step sizes and its batches draw their noise and minibatches independently."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from sgverify.checks.all_chains import draw_bits, every_chain, fewest, minibatch_bits, wanted_bits
from sgverify.checks.question import Question
from sgverify.checks.sampled_rung import share_of
from sgverify.checks.subject import Subject
from sgverify.checks.transcripts import (
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
from sgverify.evidence import Evidence
from sgverify.rates import Judgement
from sgverify.rates.whiteness import (
    Extreme,
    between_chains,
    common_part,
    crossed,
    repeated,
)

WIDEST = 4
"""Numbers of one step whose streams are searched for stretches of one another."""

_TESTS = 8
"""Tests of a row, at most."""


def check_independent_chains(question: Question) -> Evidence:
    """No stretch of a chain's draws is found in another chain, step size or batch, and chains are uncorrelated.

    Pair by pair, and all together: the part of the draws that all chains have in common has the size of chance.
    """
    subject = question.subject
    runs = runs_of(subject)
    if not subject.scheme.draws and runs.batches[0].minibatches is None and runs.batches[0].additive is None:
        return question.unanswered("a step draws neither noise nor minibatches", "not-applicable")
    if runs.diverged:
        reason = f"chains diverge at every step size that was tried ({runs.diverged}), so there are no draws to look at"
        return question.unanswered(reason, method="monte-carlo")
    rows = runs.batches[0].rows
    share = share_of(subject).point_null / (len(rows) + 2) / _TESTS
    columns = [columns_of(subject, runs, row) for row in range(len(rows))]
    certificate: dict[str, Any] = {
        "level": share_of(subject).point_null,
        "chains": len(runs.chains),
        "rows": len(rows),
    }
    settle = partial(question.evidence, method="monte-carlo", certificate=certificate)
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
        f"{len(runs.chains)} chains in two batches, on {len(rows)} schedules, share no stretch of their random numbers, and no two "
        "of them, nor all together, are correlated"
        + (
            f"; of {certificate['all_chains']}, none was found to start as another does"
            if "all_chains" in certificate
            else ""
        )
    )
    return settle(Judgement("conforms", False, reason))


def _copied(subject: Subject, runs: Runs, columns: list[Columns], share: float, anywhere: bool = True) -> str:
    """A stretch of random numbers that two chains share, in words; "" where there is none.

    `anywhere`: from any steps on, else only from the first step to the last.
    """
    chains = columns[0].values.shape[-1]
    for law in sorted(set(columns[0].laws), key=str):
        # (S, w, C) streams of L draws.
        values = np.stack([item.of(law)[:, :WIDEST] for item in columns]).transpose(0, 2, 3, 1)
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
    """Two streams of different chains or rows with a common stretch. Shape (S, w, C, L).

    `bits`: what a stretch from the first of so many numbers has. `anywhere`: at any steps, else only from first to last.
    """
    length, chains = values.shape[-1], values.shape[-2]
    streams = values.reshape(-1, length)
    places = streams.size if anywhere else len(streams)
    needed = fewest(bits, length, wanted_bits(places, share / 2))
    if needed is None:
        return None
    for a, i, b, j in repeated(streams, needed if anywhere else length):
        # What a chain repeats by itself is for another check to say.
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
    """Minibatches from one permutation of the data to the next."""
    assert subject.target.size is not None
    gradient = subject.configuration.gradient
    return gradient.estimator.period(subject.target.size, gradient, max(1, subject.scheme.minibatches))
