"""Which statements of the paper does the comparison reproduce, and which not?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from reports.applications.lda.outcomes import TEST, VALIDATION, SamplerOutcome
from reports.applications.lda.samplers import EULER, EXPLICIT, LANGEVIN, SPLITTING
from reports.applications.result import PaperFinding, Reproduced
from reports.applications.statistics import CONFIDENCE, Mean, difference, mean_of, sign_of

VERDICTS: Mapping[int | None, Reproduced] = {
    -1: "reproduced",
    1: "not reproduced",
    0: "undecided",
    None: "undecided",
}
"""By the sign of a difference that the paper says is negative."""

MOST_DIVISIONS = 20_000
"""The most divisions of chains that a permutation test tries: all of them with up to 8 chains of each sampler."""

REASONS = {
    -1: "the difference is negative at 95 % over seeds",
    1: "the difference is positive at 95 % over seeds",
    0: "the standard error over seeds leaves the sign open",
    None: "one seed has no standard error",
}


def findings(outcomes: Sequence[SamplerOutcome], printed: Mapping[str, Any]) -> tuple[PaperFinding, ...]:
    """The statements of the paper on its figures 4 and 9 and its table 1, beside what was found."""
    by = {outcome.sampler.label: outcome for outcome in outcomes}
    return (
        _breakdown(by[SPLITTING], by[EULER], "Algorithm 2"),
        _breakdown(by[SPLITTING], by[EXPLICIT], "Appendix I.1"),
        _best(by[SPLITTING], by[EULER], printed),
        _best(by[SPLITTING], by[LANGEVIN], printed),
        _best(by[EULER], by[LANGEVIN], printed),
        _on_the_printed_grid(by[SPLITTING], by[LANGEVIN]),
        _faster(by[SPLITTING], by[EULER]),
    )


def _breakdown(splitting: SamplerOutcome, euler: SamplerOutcome, which: str) -> PaperFinding:
    """Do Euler's chains break down at smaller printed steps than the splitting's?

    At each friction the printed steps below the first at which a chain diverges are counted, chain by chain, and the counts of the
    two samplers are compared by a permutation test; its level is divided by the number of frictions.
    """
    frictions = sorted({row.setting.friction for row in euler.sampler.rows})
    level = (1 - CONFIDENCE) / len(frictions)
    signs, told = [], []
    for friction in frictions:
        ours, theirs = (_steps_held(outcome, friction) for outcome in (splitting, euler))
        signs.append(_apart(ours, theirs, level))
        told.append(f"D = {friction:.3g}: {_first_lost(splitting, friction)}; {_first_lost(euler, friction)}")
    chains = len(ours)
    seen = 2 / math.comb(2 * chains, chains) <= level
    same = all(
        np.array_equal(_steps_held(splitting, friction), _steps_held(euler, friction))
        for friction in frictions
    )
    verdict: Reproduced = "undecided"
    if 1 in signs and -1 not in signs:
        verdict = "reproduced"
        reason = (
            f"at {signs.count(1)} of {len(signs)} frictions Euler's chains diverge at smaller printed steps"
        )
    elif -1 in signs and 1 not in signs:
        verdict = "not reproduced"
        reason = f"at {signs.count(-1)} of {len(signs)} frictions the splitting's chains diverge at smaller printed steps"
    elif 1 in signs:
        reason = "one friction speaks for it and another one against it"
    elif not seen:
        reason = f"{chains} {'seed' if chains == 1 else 'seeds'} cannot tell at {CONFIDENCE:.0%}, even if all chains agree"
    elif same:
        verdict = "not reproduced"
        reason = "both samplers lose the same chains at the same printed steps, or none"
    else:
        reason = f"the printed steps at which chains diverge do not differ at {CONFIDENCE:.0%}"
    return PaperFinding(
        statement=f"At large step sizes Euler's steps ({which}) break down, the splitting does not",
        source="chen2015 figure 4",
        printed='"The Euler explodes with large step sizes"',
        found="; ".join(told),
        verdict=verdict,
        reason=reason,
    )


def _steps_held(outcome: SamplerOutcome, friction: float) -> np.ndarray:
    """How many printed steps each chain takes without diverging, from the smallest on; one number for each seed."""
    rows = [
        number
        for number, row in enumerate(outcome.sampler.rows)
        if row.printed is not None and row.setting.friction == friction
    ]
    rows.sort(key=lambda number: outcome.sampler.rows[number].step)
    stays = np.array([np.isfinite(outcome.at_end(number)) for number in rows])
    held: np.ndarray = np.logical_and.accumulate(stays, axis=0).sum(0)
    return held


def _apart(first: np.ndarray, second: np.ndarray, level: float) -> int:
    """1 or -1 where the mean of the first is larger or smaller than that of the second by a permutation test, else 0.

    Every division of the chains into two halves is tried: with n chains each the smallest p is 2/C(2n, n).
    """
    gap = float(first.mean() - second.mean())
    both, count = np.concatenate([first, second]), len(first)
    if gap == 0 or 2 / math.comb(2 * count, count) > level:
        return 0
    found = stats.permutation_test(
        (first, second),
        lambda one, other, axis: one.mean(axis) - other.mean(axis),
        vectorized=True,
        n_resamples=min(math.comb(len(both), count), MOST_DIVISIONS),
        rng=np.random.default_rng(0),
    )
    return int(math.copysign(1, gap)) if found.pvalue <= level else 0


def _first_lost(outcome: SamplerOutcome, friction: float) -> str:
    """The smallest step at which a chain diverges, printed or beyond the printed ones."""
    rows = [
        (row.step, number)
        for number, row in enumerate(outcome.sampler.rows)
        if row.setting.friction == friction and np.isnan(outcome.at_end(number)).any()
    ]
    label = outcome.sampler.label
    if not rows:
        return f"{label} nowhere"
    step, number = min(rows)
    values = outcome.at_end(number)
    beyond = "" if outcome.sampler.rows[number].printed is not None else ", beyond the printed steps"
    return f"{label} from h = {step:.3g} on ({int(np.isnan(values).sum())} of {values.size} chains{beyond})"


def _best(first: SamplerOutcome, second: SamplerOutcome, printed: Mapping[str, Any]) -> PaperFinding:
    """Is the best test perplexity of one sampler below that of another?"""
    names = first.sampler.label, second.sampler.label
    topics, values = printed["topics"], printed["perplexity"]
    shown = "; ".join(
        f"{names[0]} {values[names[0]][place]} and {names[1]} {values[names[1]][place]} with {count} topics"
        for place, count in enumerate(topics)
    )
    return _compared(
        f"The best test perplexity of {names[0]} is below that of {names[1]}",
        "chen2015 table 1",
        shown,
        first,
        second,
        (first.best(), second.best()),
    )


def _on_the_printed_grid(splitting: SamplerOutcome, langevin: SamplerOutcome) -> PaperFinding:
    """The same where SGLD has the printed grid alone, scaled."""
    chosen = []
    for outcome in (splitting, langevin):
        means = {
            number: mean_of(outcome.at_end(number, VALIDATION))
            for number, row in enumerate(outcome.sampler.rows)
            if row.printed is not None
        }
        known = {number: mean.value for number, mean in means.items() if mean is not None}
        chosen.append(min(known, key=known.__getitem__) if known else None)
    statement = "On the grid of the paper, which is that of SGHMC, the splitting's best test perplexity is below SGLD's"
    source, said = "chen2015 section 5 and table 1", "the step sizes are printed once, for all samplers"
    if chosen[1] is None and chosen[0] is not None:
        return PaperFinding(
            statement=statement,
            source=source,
            printed=said,
            found=f"{splitting.sampler.label} {mean_of(splitting.at_end(chosen[0]))}; a chain of SGLD diverged at every setting",
            verdict="undecided",
            reason="the paper's SGLD has a perplexity on its grid, this one diverges at every step of it times N_paper/N: the "
            "scale of the steps, which is chosen here, decides",
        )
    return _compared(statement, source, said, splitting, langevin, (chosen[0], chosen[1]))


def _compared(
    statement: str,
    source: str,
    printed: str,
    first: SamplerOutcome,
    second: SamplerOutcome,
    chosen: tuple[int | None, int | None],
) -> PaperFinding:
    one, other = chosen
    if one is None or other is None:
        lost = first if one is None else second
        return PaperFinding(
            statement=statement,
            source=source,
            printed=printed,
            found=f"every setting of {lost.sampler.label} has a chain that diverged",
            verdict="not tried",
            reason="there is no perplexity to compare",
        )
    gap = difference(first.at_end(one), second.at_end(other))
    sign = sign_of(gap)
    pair = ((first, one), (second, other))
    told = "; ".join(
        f"{outcome.sampler.label} {mean_of(outcome.at_end(row))} at {outcome.sampler.rows[row].setting}{_at_an_edge(outcome, row)}"
        for outcome, row in pair
    )
    return PaperFinding(
        statement=statement,
        source=source,
        printed=printed,
        found=f"{told}; difference {gap}",
        verdict=VERDICTS[sign],
        reason=REASONS[sign],
    )


def _at_an_edge(outcome: SamplerOutcome, chosen: int) -> str:
    """A remark where a better setting may lie beyond the grid: no step or friction of it is smaller, or none that runs larger."""
    runs = [
        row.setting
        for number, row in enumerate(outcome.sampler.rows)
        if np.isfinite(outcome.at_end(number)).all()
    ]
    setting, told = outcome.sampler.rows[chosen].setting, []
    lost = len(runs) < len(outcome.sampler.rows)
    for name, values, value in (
        ("step", [float(item.step) for item in runs], float(setting.step)),
        ("friction", [item.friction for item in runs], setting.friction),
    ):
        if len(set(values)) == 1:
            continue
        if value == min(values):
            told.append(f"the smallest {name} of the grid")
        elif value == max(values):
            told.append(
                f"the largest {name} of the grid{' that no chain leaves' if name == 'step' and lost else ''}"
            )
    return f" ({', '.join(told)})" if told else ""


def _faster(splitting: SamplerOutcome, euler: SamplerOutcome) -> PaperFinding:
    """Does the perplexity of the splitting fall faster with the documents seen? By the mean of its logarithm along the run."""
    statement = (
        "The perplexity of the splitting falls faster with the documents processed than that of Euler's steps"
    )
    source, printed = "chen2015 figure 9 (top)", '"decreases faster than the Euler integrator"'
    best = splitting.best(), euler.best()
    if best[0] is None or best[1] is None:
        return _compared(statement, source, printed, splitting, euler, best)
    along = [
        np.log(outcome.along[row, :, :, TEST]).mean(-1)
        for outcome, row in zip((splitting, euler), best, strict=True)
    ]
    gap: Mean | None = difference(along[0], along[1])
    sign = sign_of(gap)
    return PaperFinding(
        statement=statement,
        source=source,
        printed=printed,
        found=f"difference of the mean log perplexity over the run, each at its best setting: {gap}",
        verdict=VERDICTS[sign],
        reason=REASONS[sign],
    )
