"""Check: is the noise of the running code white, that is, new at every step, of its stated law, and uncorrelated?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sgverify.checks.rates.sampled.method import share_of
from sgverify.errors import ConfigurationError
from sgverify.rates.verdict import Judgement
from sgverify.samplers import GradientChoice, fixed
from sgverify.samplers.randomness.noise import check_path
from sgverify.schemes.definition.mathematics import NORMAL
from sgverify.subject.subject import Subject
from tests.self_checks.finding import Finding, finding, unanswered
from tests.self_checks.run_transcript import first_mismatch, transcribe
from tests.self_checks.transcripts import (
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
from tests.self_checks.whiteness import (
    Extreme,
    _largest,
    _unit,
    coincidence,
    lagged,
    law_distance,
    mean_size,
    repeated,
    sizes,
    sub_gaussian_bound,
    variance_ratio,
    window,
)

LAGS = 8
"""The largest distance in steps at which correlations are tested."""

_TESTS = 2 * (LAGS + 1) + 8
"""The most tests of a row: correlations of values and of absolute values at each lag, and at most eight others."""

STEPS = 28
"""The number of steps of the coupled run: a few blocks at the shorter step size, and as many at the longer."""

ROUNDINGS = 4
"""The roundings in a draw over two fine steps: of each fine draw to the dtype, of their sum, and of the quotient by sqrt(2)."""


def crossed(draws: np.ndarray, others: np.ndarray, level: float) -> Extreme:
    """Correlation of the draws of a step with other ones of the same step. Shapes (L, w, C), (L, v, C)."""
    found = np.einsum("lac,lbc->ab", _unit(draws), others, optimize=True) / math.sqrt(len(draws))
    return _largest(found, sub_gaussian_bound(found.size, level), found.size)


def most(found: Sequence[Extreme | None]) -> Extreme | None:
    """The statistic that is largest in units of its bound."""
    return max(
        (item for item in found if item is not None), key=lambda e: abs(e.value) / e.bound, default=None
    )


def check_white_noise(subject: Subject) -> Finding:
    """Every step is the definition's on its draws, bit for bit; the draws repeat nowhere, have their law, are uncorrelated.

    Correlations of the values and of their absolute values are tested: between the draws of a step, its coordinates, steps
    up to eight apart, the minibatches of the same step, and rows of different step sizes, independent or on one Brownian path.

    Cannot see: dependence that shows in no correlation of values or absolute values, correlations over more than eight
    steps, and what happens after the steps that are run.
    """
    if not subject.scheme.draws:
        return unanswered("a step draws no noise", "not-applicable")
    runs = runs_of(subject)
    if runs.diverged:
        reason = f"chains diverge at every step size tried; no draws to look at ({runs.diverged})"
        return unanswered(reason, method="monte-carlo")
    batch = runs.batches[0]
    mismatch = first_mismatch(batch, subject.scheme, subject.target, runs.settings)
    certificate: dict[str, Any] = {
        "level": share_of(subject).point_null,
        "steps": batch.length,
        "rows": len(batch.rows),
    }
    settle = partial(finding, method="monte-carlo", certificate=certificate)
    certificate["steps_are_the_definition_s_on_their_draws"] = mismatch is None
    if mismatch is not None:
        reason = f"the noise of the steps is not what was drawn; {mismatch}"
        return settle(Judgement("violates", False, reason))
    coupled = coupled_runs(subject, runs)
    every = [runs] if coupled is None else [runs, coupled]
    share = share_of(subject).point_null / sum(len(some.batches[0].rows) for some in every) / _TESTS
    wrong = ""
    for some in every:
        if some is coupled and not wrong:
            wrong = off_the_path(some, unit_of(subject))
            certificate["statistic"] = "path" if wrong else None
        for row in range(len(some.batches[0].rows)):
            wrong = wrong or _wrong_row(subject, some, row, share, certificate)
    certificate["coupled"] = coupled is not None
    if wrong:
        return settle(Judgement("violates", False, wrong))
    reason = (
        f"{batch.length} steps: no repeated or correlated draws; over steps, half steps and coordinates, and the draws have their "
        f"law; at {len(batch.rows)} step sizes each step is the definition's on its draws, bit for bit"
    )
    if coupled is not None:
        reason += "; two step sizes share one Brownian path"
    return settle(Judgement("conforms", False, reason))


def coupled_runs(subject: Subject, runs: Runs) -> Runs | None:
    """The runs repeated with steps h and h/2 on one Brownian path; None if chains diverge or a draw is no Brownian increment."""
    try:
        check_path(subject.scheme)
    except ConfigurationError:
        return None
    step = runs.batches[0].rows[0].schedule.at(1)
    # The noise does not depend on the kind of gradient; full gradients are the cheapest to set up.
    settings = replace(runs.settings, coupled="brownian", chains=len(runs.chains), gradient=GradientChoice())
    found = transcribe(subject.scheme, subject.target, fixed([step, step / 2], [STEPS]), settings)
    return None if found.diverged else Runs(settings, (found,))


def off_the_path(runs: Runs, unit: float) -> str:
    """A sentence about a draw at h that is not (z_(2l-1) + z_(2l))/sqrt(2), z the draws at h/2; "" if there is none."""
    for batch in runs.batches:
        # (L, K, C, d) of each row.
        coarse, fine = batch.draws[:, :, 0], batch.draws[:, :, 1]
        half = len(fine) // 2
        one, other = fine[0 : 2 * half : 2], fine[1 : 2 * half : 2]
        expected = (one + other) / math.sqrt(2)
        bound = ROUNDINGS * unit * (np.abs(one) + np.abs(other))
        apart = np.argwhere(~(np.abs(coarse[:half] - expected) <= bound))
        if len(apart):
            step, draw, chain, place = (int(i) for i in apart[0])
            return (
                f"two step sizes do not share one Brownian path; draw {draw + 1} of step {step + 1} of chain "
                f"{batch.chains[chain]} at h is {coarse[step, draw, chain, place]:.6g}, and the two of h/2 that it spans make "
                f"{expected[step, draw, chain, place]:.6g}"
            )
    return ""


def _wrong_row(subject: Subject, runs: Runs, row: int, share: float, certificate: dict[str, Any]) -> str:
    """A sentence about the first fault in the draws of a row; "" if there is none."""
    columns = _of_distinct_chains(columns_of(subject, runs, row))
    certificate["chains"] = columns.values.shape[-1]
    where = f"with {runs.batches[0].rows[row].schedule}"
    if runs.settings.coupled:
        where += " on a path that another step size shares"
    for statistic, found in (
        ("reused", _reused(subject, columns, share, certificate)),
        ("reused minibatches", _reused_minibatches(subject, runs, row, share)),
        ("values", _strange(columns, runs)),
    ):
        if found:
            certificate.setdefault("statistic", statistic)
            return f"the noise is not what was asked for: {found}, {where}"
    for name, item, text in _statistics(subject, runs, row, columns, share):
        known = certificate.setdefault("largest", {}).get(name)
        if known is None or abs(item.value) / item.bound > abs(known[0]) / known[1]:
            certificate["largest"][name] = [item.value, item.bound]
        if item.beyond:
            certificate["statistic"] = name
            return f"the noise is not white: {text}, {item.value:.3g} where {item.bound:.3g} is the bound, {where}"
    return ""


def _statistics(
    subject: Subject, runs: Runs, row: int, columns: Columns, share: float
) -> Iterator[tuple[str, Extreme, str]]:
    """The tests of a row, at most `_TESTS`: for each its name, its extreme value, and a sentence for the reader."""
    laws = sorted(set(columns.laws), key=str)
    for law in laws:
        values = columns.of(law)
        # A scheme uses at most two laws beside the normal one; the laws share the level of one test.
        part = share / len(laws)
        yield f"mean of {law}", mean_size(values, part), f"the mean of its {law} draws is not 0"
        if law.normal:
            ratio, low, high = variance_ratio(values, part)
            centre, radius = (low + high) / 2, (high - low) / 2
            yield "variance", Extreme(ratio - centre, radius, (), 1), f"its variance is {ratio:.3g}, not 1"
        yield f"law of {law}", law_distance(values, law, part), f"its draws are not those of {law}"
    if columns.bounded:
        yield from _correlations(columns.values, columns.names, share, "")
        minibatches = minibatches_of(subject, runs, row)
        if minibatches is not None and fresh_minibatches(subject):
            length = len(columns.values)
            minibatches = minibatches[..., _distinct(numbered(minibatches))]
            side = sides(subject, minibatches).reshape(length, -1, minibatches.shape[-1])
            if side.shape[-1] == columns.values.shape[-1]:
                found = crossed(side, columns.values, share)
                yield "minibatches and draws", found, "minibatches and draws of the same step are correlated"
                worst = most([lagged(side, lag, share / (LAGS + 1)) for lag in range(LAGS + 1)])
                if worst is not None:
                    yield "minibatches", worst, "minibatches of different steps are correlated"
    if NORMAL in laws:
        own = [name for name, law in zip(columns.names, columns.laws, strict=True) if law.normal]
        yield from _correlations(sizes(columns.of(NORMAL)), tuple(own), share, "the sizes of ")
    momentum = _start_momentum(subject, runs, row)
    if momentum is not None and momentum.shape[-1] == columns.values.shape[-1] and columns.bounded:
        found = crossed(momentum[None], columns.values[:1], share)
        yield "start", found, "the momentum that the chains start with is correlated with the draws of step 1"


def _strange(columns: Columns, runs: Runs) -> str:
    """A sentence about a draw outside the support of its law, in the run's dtype; "" if there is none."""
    for law in sorted(set(columns.laws), key=str):
        if law.edge is not None:
            farthest = float(np.abs(columns.of(law)).max(initial=0.0))
            # The end of the support, rounded to the dtype of the run.
            if farthest > float(np.array(law.largest, dtype=np.float64).astype(runs.settings.dtype)):
                return f"a draw is {farthest} in size, beyond the edge {law.largest:.6g} of {law}"
            continue
        known = np.array([float(value) for value, _ in law.atoms]).astype(runs.settings.dtype)
        values = columns.of(law)
        other = values[~np.isin(values, known.astype(np.float64))]
        if other.size and not law.normal:
            return f"a draw is {other[0]!s}, none of the values of {law}"
    return ""


def _correlations(
    values: np.ndarray, names: tuple[str, ...], share: float, of: str
) -> Iterator[tuple[str, Extreme, str]]:
    for lag in range(LAGS + 1):
        found = lagged(values, lag, share)
        if found is not None:
            a, b = (names[i] for i in found.place)
            apart = (
                f"{of}{b} {lag} step{'s' if lag > 1 else ''} later" if lag else f"{of}{b} of the same step"
            )
            yield f"{of}lag {lag}", found, f"{of}{a} and {apart} are correlated"


def _reused(subject: Subject, columns: Columns, share: float, certificate: dict[str, Any]) -> str:
    """A sentence about draws of all chains that occur twice, possibly negated; "" if there are none."""
    length, _, chains = columns.values.shape
    for law in sorted(set(columns.laws), key=str):
        values = columns.of(law)
        names = [name for name, own in zip(columns.names, columns.laws, strict=True) if own == law]
        stretches = length * len(names)
        needed = window(coincidence(law, unit_of(subject)), stretches, share / 2)
        if not 0 < needed <= chains:
            continue
        for a, _, b, _ in repeated(values.reshape(stretches, chains), chains):
            (one, i), (other, j) = divmod(a, len(names)), divmod(b, len(names))
            certificate["statistic"] = "one draw" if one == other else "reused"
            return (
                f"{names[j]} of step {other + 1} is {names[i]} of step {one + 1} in all {chains} chains that differ, "
                "bit for bit but for its sign"
            )
    return ""


def _reused_minibatches(subject: Subject, runs: Runs, row: int, share: float) -> str:
    minibatches = minibatches_of(subject, runs, row)
    if minibatches is None or not fresh_minibatches(subject):
        return ""
    numbers = numbered(minibatches)
    numbers = numbers[:, _distinct(numbers)]
    assert subject.target.size is not None
    if not 0 < window(1 / subject.target.size, len(numbers), share) <= numbers.shape[1]:
        return ""
    per_step = max(1, subject.scheme.minibatches)
    for a, _, b, _ in repeated(numbers, numbers.shape[1]):
        return f"the minibatch of step {b // per_step + 1} is that of step {a // per_step + 1} in every chain"
    return ""


def _start_momentum(subject: Subject, runs: Runs, row: int) -> np.ndarray | None:
    """The initial momentum of each chain, in units of sqrt(T), shape (d', C)."""
    if "p" not in subject.scheme.dynamics.state:
        return None
    made = np.concatenate([batch.states["p"][0, row] for batch in runs.batches])
    return np.asarray(made[:, :8].T / np.sqrt(subject.configuration.temperature))


def _of_distinct_chains(columns: Columns) -> Columns:
    """The columns without copies of chains; the check `independent-chains` reports chains that share their noise."""
    length, width, chains = columns.values.shape
    kept = _distinct(columns.values.reshape(length * width, chains))
    return Columns(columns.values[..., kept], columns.laws, columns.names)


def _distinct(values: np.ndarray) -> list[int]:
    """The index of the first of all equal columns, for each group of equal columns."""
    seen: dict[bytes, int] = {}
    for place, column in enumerate(np.ascontiguousarray(values.T)):
        seen.setdefault(column.tobytes(), place)
    return sorted(seen.values())
