"""The statements of chen2015 about the topic model, beside what the comparison found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reports.applications.judging import Statement, decide, permuted, signed
from reports.applications.lda.outcomes import TEST, SamplerOutcome
from reports.applications.lda.samplers import EULER, EXPLICIT, LANGEVIN, SPLITTING
from reports.applications.optimum import Optimum, slack_against, unlocated
from reports.applications.result import PaperFinding
from reports.applications.statistics import difference, mean_of


def findings(outcomes: Sequence[SamplerOutcome], printed: Mapping[str, Any]) -> tuple[PaperFinding, ...]:
    """The statements of the paper on its figures 4 and 9 and its table 1, beside what was found."""
    by = {outcome.sampler.label: outcome for outcome in outcomes}
    return decide(
        (
            _breakdown(by[SPLITTING], by[EULER], "Algorithm 2"),
            _breakdown(by[SPLITTING], by[EXPLICIT], "Appendix I.1"),
            _best(by[SPLITTING], by[EULER], printed),
            _best(by[SPLITTING], by[LANGEVIN], printed),
            _best(by[EULER], by[LANGEVIN], printed),
            _on_the_printed_grid(by[SPLITTING], by[LANGEVIN]),
            _faster(by[SPLITTING], by[EULER]),
        )
    )


def _breakdown(splitting: SamplerOutcome, euler: SamplerOutcome, which: str) -> Statement:
    """Do Euler's chains break down at smaller printed steps than the splitting's, in the steps of this run?

    The printed steps below the first at which a chain diverges are counted, chain by chain, over all frictions.
    """
    frictions = sorted({row.setting.friction for row in euler.sampler.rows if row.printed is not None})
    counts = [
        np.sum([_steps_held(outcome, friction) for friction in frictions], axis=0)
        for outcome in (splitting, euler)
    ]
    run = splitting.steps[-1]
    lost = "; ".join(
        f"D = {friction:.3g}: {_first_lost(splitting, friction)}; {_first_lost(euler, friction)}"
        for friction in frictions
    )
    if counts[0].sum() == counts[1].sum():
        told = f"in {run:,} steps both samplers take as many printed steps before a chain diverges"
    else:
        told = f"in {run:,} steps the splitting takes {counts[0].mean():g} settings, Euler {counts[1].mean():g}, chain by chain"
    return Statement(
        statement=f"At large printed steps Euler's chains ({which}) break down within {run:,} steps, the splitting's do not",
        source="chen2015 figure 4",
        printed='"The Euler explodes with large step sizes"',
        found=f"in {run:,} steps, and nothing is claimed of longer runs: {lost}",
        test=permuted(counts[0], counts[1], told),
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


def _first_lost(outcome: SamplerOutcome, friction: float) -> str:
    """The smallest step of the grid at which a chain diverges, printed or beyond the printed ones."""
    rows = [
        (row.step, number)
        for number, row in enumerate(outcome.sampler.rows)
        if row.setting.friction == friction and not row.refined and np.isnan(outcome.at_end(number)).any()
    ]
    label = outcome.sampler.label
    if not rows:
        return f"{label} nowhere"
    step, number = min(rows)
    values = outcome.at_end(number)
    beyond = "" if outcome.sampler.rows[number].printed is not None else ", beyond the printed steps"
    return f"{label} from h = {step:.3g} on ({int(np.isnan(values).sum())} of {values.size} chains{beyond})"


def _best(first: SamplerOutcome, second: SamplerOutcome, printed: Mapping[str, Any]) -> Statement:
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
        (first, second),
        (first.optimum(), second.optimum()),
    )


def _on_the_printed_grid(splitting: SamplerOutcome, langevin: SamplerOutcome) -> Statement:
    """Is the splitting's best perplexity below SGLD's where both have the printed grid alone, scaled?"""
    pair = splitting, langevin
    best = tuple(
        outcome.optimum([row for row in outcome.sampler.rows if row.printed is not None]) for outcome in pair
    )
    statement = "On the grid of the paper, which is that of SGHMC, the splitting's best test perplexity is below SGLD's"
    source, said = "chen2015 section 5 and table 1", "the step sizes are printed once, for all samplers"
    if best[1] is None and best[0] is not None:
        return Statement(
            statement=statement,
            source=source,
            printed=said,
            found=f"{_told(splitting, best[0])}; a chain of SGLD diverged at every setting",
            test="the paper's SGLD has a perplexity on its grid, this one diverges at every step of it times N_paper/N: the "
            "scale of the steps, which is chosen here, decides",
        )
    return _compared(statement, source, said, pair, (best[0], best[1]))


def _compared(
    statement: str,
    source: str,
    printed: str,
    pair: tuple[SamplerOutcome, SamplerOutcome],
    best: tuple[Optimum | None, Optimum | None],
    *,
    along: bool = False,
) -> Statement:
    """Is the perplexity of one sampler below that of another, each at its best setting: at the end, or `along` the run?"""
    lost = [outcome.sampler.label for outcome, found in zip(pair, best, strict=True) if found is None]
    if best[0] is None or best[1] is None:
        return Statement(
            statement=statement,
            source=source,
            printed=printed,
            found=f"every setting of {lost[0]} has a chain that diverged",
            test="there is no perplexity to compare",
            settled="not tried",
        )
    rows = [outcome.row_of(found) for outcome, found in zip(pair, (best[0], best[1]), strict=True)]
    if along:
        values = [
            np.log(outcome.along[row, :, :, TEST]).mean(-1) for outcome, row in zip(pair, rows, strict=True)
        ]
    else:
        values = [outcome.at_end(row) for outcome, row in zip(pair, rows, strict=True)]
    gap = difference(*values)
    slack = 0.0 if along else slack_against(gap, best[0], best[1])
    told = "; ".join(_told(outcome, found) for outcome, found in zip(pair, (best[0], best[1]), strict=True))
    return Statement(
        statement=statement,
        source=source,
        printed=printed,
        found=f"difference of the mean log perplexity over the run, each at its best setting: {gap}"
        if along
        else told,
        test=signed(gap, -1, margin=slack, bias="what a finer grid gains"),
        open=unlocated([(outcome.sampler.label, found) for outcome, found in zip(pair, best, strict=True)]),
    )


def _told(outcome: SamplerOutcome, best: Optimum) -> str:
    row = outcome.row_of(best)
    return f"{outcome.sampler.label} {mean_of(outcome.at_end(row))} at {outcome.sampler.rows[row].setting}"


def _faster(splitting: SamplerOutcome, euler: SamplerOutcome) -> Statement:
    """Does the perplexity of the splitting fall faster with the documents seen? By the mean of its logarithm along the run."""
    return _compared(
        "The perplexity of the splitting falls faster with the documents processed than that of Euler's steps",
        "chen2015 figure 9 (top)",
        '"decreases faster than the Euler integrator"',
        (splitting, euler),
        (splitting.optimum(), euler.optimum()),
        along=True,
    )
