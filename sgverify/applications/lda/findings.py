"""Which statements of the paper does the comparison reproduce, and which not?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sgverify.applications.lda.outcomes import TEST, VALIDATION, SamplerOutcome
from sgverify.applications.lda.samplers import EULER, EXPLICIT, LANGEVIN, SPLITTING
from sgverify.applications.result import PaperFinding, Reproduced
from sgverify.applications.statistics import Mean, difference, mean_of, sign_of

VERDICTS: Mapping[int | None, Reproduced] = {
    -1: "reproduced",
    1: "not reproduced",
    0: "undecided",
    None: "undecided",
}
"""By the sign of a difference that the paper says is negative."""

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
    """Is there a printed step at which Euler's chains break down, and the splitting's do not?"""
    common = {
        "statement": f"At large step sizes Euler's steps ({which}) break down, the splitting does not",
        "source": "chen2015 figure 4",
        "printed": '"The Euler explodes with large step sizes"',
    }
    rows = [number for number, row in enumerate(euler.sampler.rows) if row.printed is not None]
    told, worse = [], []
    for number in rows:
        lost, held = _lost(euler, number), _lost(splitting, number)
        gap = difference(splitting.at_end(number), euler.at_end(number))
        setting = euler.sampler.rows[number].setting
        if lost or held:
            told.append(f"{setting}: {lost} chains of Euler and {held} of the splitting diverged")
        if (lost and not held) or (not lost and not held and sign_of(gap) == -1):
            worse.append(setting)
        if held and not lost:
            return PaperFinding(
                **common,
                found="; ".join(told),
                verdict="not reproduced",
                reason=f"at {setting} the splitting diverges and Euler's step does not",
            )
    broken = [number for number in rows if _lost(euler, number) and not _lost(splitting, number)]
    if broken:
        steps = sorted(euler.sampler.rows[number].step for number in broken)
        return PaperFinding(
            **common,
            found="; ".join(told),
            verdict="reproduced",
            reason=f"on the printed grid chains of Euler's step diverge from h = {steps[0]:.3g} on, and none of the splitting",
        )
    beyond = _beyond(splitting, euler)
    if worse:
        where = f"at {len(worse)} of {len(rows)} settings"
        reason = f"no chain diverges on the printed grid, but Euler's perplexity is larger at 95 % {where}"
    else:
        reason = "no chain diverges on the printed grid, and no perplexity of Euler's is larger at 95 %"
    return PaperFinding(
        **common, found="; ".join([*told, beyond]), verdict="not reproduced", reason=f"{reason}; {beyond}"
    )


def _beyond(splitting: SamplerOutcome, euler: SamplerOutcome) -> str:
    """What becomes of steps that are larger than the printed ones."""
    told = []
    for number, row in enumerate(euler.sampler.rows):
        if row.printed is None:
            lost, held = _lost(euler, number), _lost(splitting, number)
            told.append(f"{row.setting}: {lost} and {held} of {euler.at_end(number).size}")
    return f"of larger steps, chains of Euler and of the splitting that diverged: {', '.join(told)}"


def _lost(outcome: SamplerOutcome, number: int) -> int:
    """How many chains of a setting have no perplexity: they diverged."""
    return int(np.isnan(outcome.at_end(number)).sum())


def _best(first: SamplerOutcome, second: SamplerOutcome, printed: Mapping[str, Any]) -> PaperFinding:
    """Is the best test perplexity of one sampler below that of another?"""
    names = first.sampler.label, second.sampler.label
    shown = " and ".join(f"{name} {printed['perplexity'][name]}" for name in names)
    return _compared(
        f"The best test perplexity of {names[0]} is below that of {names[1]}",
        "chen2015 table 1",
        f"{shown} with {printed['topics']} topics",
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
            verdict="reproduced",
            reason="SGLD diverges at every step of the grid, scaled by N_paper/N as its stability is",
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
        f"{outcome.sampler.label} {mean_of(outcome.at_end(row))} at {outcome.sampler.rows[row].setting}"
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
