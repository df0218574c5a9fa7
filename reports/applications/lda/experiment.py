"""The run of the comparison: the corpus, each sampler on its grid, which is refined around its best setting, and what is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reports.applications.application import Job
from reports.applications.chains import ChainRun, ChainSetting
from reports.applications.lda import exactness
from reports.applications.lda.advised import advice_beside
from reports.applications.lda.corpus import Corpus, generated
from reports.applications.lda.figures import studies
from reports.applications.lda.findings import findings
from reports.applications.lda.outcomes import TEST, CorpusBaselines, SamplerOutcome, rows_of
from reports.applications.lda.perplexity import Completion, matched_variation, perplexity, predictive
from reports.applications.lda.readers import read_corpus
from reports.applications.lda.samplers import EXPLICIT, REFINED, ComparedSampler, GridRow, samplers
from reports.applications.optimum import Point, refine
from reports.applications.printed import printed_settings
from reports.applications.result import AppFindings, SamplerChecked
from reports.applications.samplers_checked import checked
from reports.applications.statistics import mean_of
from sgverify.errors import ConfigurationError
from sgverify.evidence import Study
from sgverify.schemes import Scheme

PAPER = "chen2015"

AT_ONCE = 1 << 21
"""The numbers of theta that are moved at once: larger tensors cost more in memory that is handed out anew than they gain."""


def run(job: Job) -> AppFindings:
    """Run the comparison of the paper on a corpus; see the options of the application."""
    given, printed = job.settings, printed_settings(PAPER, "lda")
    corpus = corpus_of(job)
    train, held_out = corpus.divided(min(given["held-out"], corpus.documents // 2), seed=job.seed)
    if given["batch"] > train.documents:
        raise ConfigurationError(
            f"--batch {given['batch']}: expected at most {train.documents}, the documents that are not held out; give fewer"
        )
    chosen = samplers(printed, documents=train.documents, beta=given["beta"], frictions=given["friction"])
    halves = held_out.halves(seed=job.seed)
    outcomes = [
        outcome_of(job, sampler, train, halves, corpus.topics, place, len(chosen))
        for place, sampler in enumerate(chosen)
    ]
    schemes: dict[str, Scheme] = {sampler.scheme.name: sampler.scheme for sampler in chosen}
    job.tell("checks of the samplers", len(chosen), len(chosen))
    baselines = baselines_of(job, train, halves)
    judged = checked(tuple(schemes.values()))
    return AppFindings(
        summary=_summary(outcomes, baselines),
        data=_data(corpus, train, held_out),
        samplers=judged,
        rows=tuple(row for outcome in outcomes for row in rows_of(outcome)),
        findings=findings(outcomes, printed),
        advice=advice_beside(job, outcomes, train, corpus.topics),
        diverged=tuple(item for outcome in outcomes for item in outcome.diverged),
        not_tested=_not_tested(job, printed, train, judged),
        studies=studies(outcomes, baselines, batch=given["batch"], size=train.size)
        + _exactness(job, corpus, held_out),
    )


def _exactness(job: Job, corpus: Corpus, held_out: Corpus) -> tuple[Study, ...]:
    """What enumeration says of the Gibbs sweeps, where the true topics are known."""
    if corpus.topics is None:
        return ()
    found = exactness.measure(
        held_out, corpus.topics, alpha=job.settings["alpha"], kept=job.settings["sweeps"]
    )
    return () if found is None else (exactness.study(found),)


def corpus_of(job: Job) -> Corpus:
    """The corpus that is asked for: of a file, of scikit-learn, or generated."""
    given = job.settings
    if given["corpus"]:
        return read_corpus(given["corpus"], vocabulary=given["vocabulary"], most_words=given["words"])
    names = {name: given[name] for name in ("documents", "topics", "length", "alpha", "beta")}
    return generated(size=given["words"], seed=job.seed, **names)


def outcome_of(
    job: Job,
    sampler: ComparedSampler,
    train: Corpus,
    halves: tuple[Corpus, Corpus],
    truth: np.ndarray | None,
    place: int,
    parts: int,
) -> SamplerOutcome:
    """Run one sampler on its grid, as many rows at once as `AT_ONCE` numbers hold: a row's bits do not depend on the others.

    The grid of a sampler of whose best setting the paper speaks is refined around it.
    """
    model, rows = sampler.model(job, train), sampler.rows
    size = max(1, AT_ONCE // (job.seeds * model.dim))
    groups = [rows[first : first + size] for first in range(0, len(rows), size)]

    def told(number: int) -> Callable[[float], None]:
        return lambda share: job.tell(sampler.label, place + (number + share) / len(groups), parts)

    held = [
        _of_rows(job, replace(sampler, rows=group), train, halves, truth, str(number), told(number))
        for number, group in enumerate(groups)
    ]
    outcome = held[0].joined(held[1:])
    if sampler.label not in REFINED:
        return outcome

    def run(number: int, points: Sequence[Point]) -> dict[Point, np.ndarray]:
        nonlocal outcome
        added = tuple(GridRow(_setting(point), None, refined=True) for point in points)
        more = _of_rows(
            job,
            replace(sampler, rows=added),
            train,
            halves,
            truth,
            f"refined-{number}",
            told(len(groups) - 1),
        )
        outcome = outcome.joined([more])
        return more.chosen_by()

    refine(outcome.chosen_by(), outcome.axes, run, job.settings["refinements"])
    return outcome


def _setting(point: Point) -> ChainSetting:
    """A setting by its coordinates: a step, and of a sampler with a momentum a friction."""
    step, *friction = point
    return ChainSetting(step, friction[0]) if friction else ChainSetting(step, name=f"h = {step:.4g}")


def _of_rows(
    job: Job,
    sampler: ComparedSampler,
    train: Corpus,
    halves: tuple[Corpus, Corpus],
    truth: np.ndarray | None,
    group: str,
    tell: Callable[[float], None],
) -> SamplerOutcome:
    """Run the rows of one group; `tell` is told the share of its steps that are done."""
    steps, count = job.settings["steps"], min(job.settings["evaluations"], job.settings["steps"])
    at = tuple(sorted({-(-steps * number // count) for number in range(1, count + 1)}))
    model = sampler.model(job, train)
    run = ChainRun(
        sampler.scheme,
        model,
        sampler.settings,
        steps=steps,
        seed=job.seed,
        chains=job.seeds,
        start_momentum="stationary",
    )
    seen = Completion(model, halves, len(sampler.rows), at=at, burn=steps // 2)
    run.run(seen, kept=job.kept, part=f"{sampler.label}-{group}", tell=lambda done: tell(done / steps))
    variation = np.full(run.alive.shape, np.nan)
    if truth is not None:
        topics = seen.topics
        for row, chain in zip(*np.nonzero(run.alive), strict=True):
            variation[row, chain] = matched_variation(topics[row, chain], truth)
    return SamplerOutcome(sampler, at, seen.along, seen.averaged, variation, run.diverged(sampler.label))


def baselines_of(job: Job, train: Corpus, halves: tuple[Corpus, Corpus]) -> CorpusBaselines:
    """The perplexities that a sampler's is to be compared with."""
    counts = np.bincount(train.tokens, minlength=train.size) + job.settings["beta"]
    second = halves[1]
    test = np.repeat(np.arange(second.documents) % 2 == TEST, second.lengths)
    unigram = float(perplexity((counts / counts.sum())[second.tokens][test]))
    if train.topics is None:
        return CorpusBaselines(float(train.size), unigram, None)
    first = samplers(
        printed_settings(PAPER, "lda"), documents=train.documents, beta=job.settings["beta"], frictions=(1.0,)
    )[0]
    pi = np.repeat(np.ascontiguousarray(train.topics.T)[None], job.seeds, 0)
    chances = predictive(first.model(job, train), pi, *halves, 0)
    return CorpusBaselines(float(train.size), unigram, mean_of(perplexity(chances[:, test])))


def _data(corpus: Corpus, train: Corpus, held_out: Corpus) -> dict[str, Any]:
    return {
        "source": corpus.source,
        "documents": train.documents,
        "held out": held_out.documents,
        "words": corpus.size,
        "tokens": len(train.tokens),
        "sha256": corpus.sha256,
    }


def _summary(outcomes: list[SamplerOutcome], baselines: CorpusBaselines) -> str:
    told = []
    for outcome in outcomes:
        best = outcome.best()
        if best is None:
            told.append(f"{outcome.sampler.label}: a chain diverged at every setting")
            continue
        variation = mean_of(outcome.variation[best])
        topics = (
            "" if variation is None else f", topics within {variation} of the true ones in total variation"
        )
        setting = outcome.sampler.rows[best].setting
        told.append(f"{outcome.sampler.label}: {mean_of(outcome.at_end(best))} at {setting}{topics}")
    known = "" if baselines.truth is None else f", of the true topics {baselines.truth}"
    return (
        "Test perplexity at the setting that is best on the validation documents: "
        + "; ".join(told)
        + f". Of single words by their frequency {baselines.unigram:.4g}{known}."
    )


def _not_tested(job: Job, printed: Any, train: Corpus, judged: tuple[SamplerChecked, ...]) -> tuple[str, ...]:
    found = [
        f"The paper's corpus: {printed['documents']:,} documents of Wikipedia with {printed['vocabulary']:,} words, "
        f"{printed['topics'][0]} and {printed['topics'][1]} topics, {printed['iterations']:,} steps. This run has "
        f"{train.documents:,} documents, {train.size:,} words, {job.settings['topics']} topics, {job.settings['steps']:,} steps.",
        "SGHMC in expanded-mean: no scheme of the catalogue keeps theta > 0 with a momentum; SGRLD runs in it.",
        "The bias that a few Gibbs sweeps leave in the gradient of documents of this length; it is exact for documents of a few "
        "tokens (reports.applications.lda.enumeration).",
    ]
    found.append(
        f"Grids that are refined around their best setting more than {job.settings['refinements']} times, and SGRLD's and "
        f"{EXPLICIT}'s at all."
    )
    left_out = [value for value in printed["frictions"] if value not in job.settings["friction"]]
    if left_out:
        found.append(f"Frictions that the paper prints: {', '.join(f'{value:g}' for value in left_out)}.")
    for item in judged:
        if item.outcome != "pass":
            left = [claim for claim, outcome in item.claims.items() if outcome == "undecided"]
            which = ", ".join(left) or "see its claims"
            found.append(
                f"{item.scheme} has not passed every check ({item.outcome}: {which}); its numbers decide no statement of the paper."
            )
    if job.seeds < 5:
        one = job.seeds == 1
        found.append(
            f"{job.seeds} {'seed decides' if one else 'seeds decide'} few comparisons; python -m reports app-lda runs five."
        )
    return tuple(found)
