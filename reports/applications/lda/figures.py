"""Which figures and tables show the comparison? The paper's figures 4 and 9 and its table 1, on this corpus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reports.applications.lda.outcomes import TEST, VALIDATION, CorpusBaselines, SamplerOutcome
from reports.applications.statistics import mean_of
from sgverify.evidence import Panel, Series, Study, Table

DIVERGED = "a chain diverged"


def studies(
    outcomes: Sequence[SamplerOutcome], baselines: CorpusBaselines, *, batch: int, size: int
) -> tuple[Study, ...]:
    """The figures and tables of a comparison."""
    return (
        Study(
            "lda/step-sizes",
            "Test perplexity against the step size",
            "as figure 4 of chen2015",
            "Perplexity of the averaged predictive probabilities at the end of the run, means over seeds with their standard "
            "errors; at each step size the friction that is best on the validation documents. A step at which a chain diverged has "
            f"no point. Words drawn from all {size} alike have the perplexity {baselines.uniform:.4g}"
            + ("." if baselines.truth is None else f", the true topics {baselines.truth}."),
            panels=tuple(
                _against_steps(title, [outcome for outcome in outcomes if momentum(outcome) is kind])
                for title, kind in (("Perplexity of SGHMC", True), ("Perplexity of Langevin dynamics", False))
            ),
            tables=(_diverged(outcomes),),
        ),
        Study(
            "lda/documents",
            "Test perplexity against the documents processed",
            "as figure 9 (top) of chen2015",
            "Perplexity of single states along the run, each sampler at its best setting.",
            panels=(_along(outcomes, batch),),
        ),
        Study(
            "lda/best",
            "The best settings",
            "as table 1 of chen2015",
            "The setting with the smallest perplexity on the validation documents, and its numbers on the test documents. The "
            "topics of a generated corpus are matched with the true ones; their distance is the mean total variation.",
            tables=(_best(outcomes, baselines),),
        ),
    )


def momentum(outcome: SamplerOutcome) -> bool:
    """Has the sampler a momentum, and with it a friction?"""
    return "D" in outcome.sampler.scheme.parameters


def _against_steps(title: str, outcomes: Sequence[SamplerOutcome]) -> Panel:
    series = []
    for outcome in outcomes:
        steps = sorted({row.step for row in outcome.sampler.rows})
        values: list[float | None] = []
        errors: list[float | None] = []
        for step in steps:
            means = [
                (mean_of(outcome.at_end(number, VALIDATION)), mean_of(outcome.at_end(number)))
                for number, row in enumerate(outcome.sampler.rows)
                if row.step == step
            ]
            compared = [(first.value, second) for first, second in means if first and second]
            chosen = min(compared, key=lambda item: item[0])[1] if compared else None
            values.append(None if chosen is None else chosen.value)
            errors.append(None if chosen is None else chosen.error)
        series.append(
            Series(
                outcome.sampler.label,
                "sampled",
                tuple(steps),
                tuple(values),
                tuple(errors) if any(error is not None for error in errors) else (),
                DIVERGED if None in values else "",
            )
        )
    return Panel(f"{title} against step size", "step size h", "test perplexity", tuple(series))


def _along(outcomes: Sequence[SamplerOutcome], batch: int) -> Panel:
    series = []
    for outcome in outcomes:
        best = outcome.best()
        if best is None:
            continue
        means = [mean_of(values) for values in outcome.along[best, :, :, TEST].T]
        errors = tuple(None if mean is None else mean.error for mean in means)
        series.append(
            Series(
                outcome.sampler.label,
                "sampled",
                tuple(batch * step for step in outcome.steps),
                tuple(None if mean is None else mean.value for mean in means),
                errors if any(error is not None for error in errors) else (),
            )
        )
    return Panel(
        "Perplexity against documents",
        "documents processed",
        "test perplexity",
        tuple(series),
        "linear",
        "log",
    )


def _diverged(outcomes: Sequence[SamplerOutcome]) -> Table:
    rows: list[tuple[str | float | None, ...]] = []
    for outcome in outcomes:
        for step in sorted({row.step for row in outcome.sampler.rows}):
            here = [number for number, row in enumerate(outcome.sampler.rows) if row.step == step]
            values = np.array([outcome.at_end(number) for number in here])
            printed = next((outcome.sampler.rows[number].printed for number in here), None)
            if np.isnan(values).any():
                rows.append((outcome.sampler.label, step, printed, int(np.isnan(values).sum()), values.size))
    columns = ("sampler", "step size", "printed step that it stands for", "chains diverged", "chains")
    return Table("Chains that diverged", columns, tuple(rows))


def _best(outcomes: Sequence[SamplerOutcome], baselines: CorpusBaselines) -> Table:
    rows: list[tuple[str | float | None, ...]] = []
    for outcome in outcomes:
        best = outcome.best()
        if best is None:
            rows.append((outcome.sampler.label, None, None, None, None, None))
            continue
        setting, test = outcome.sampler.rows[best].setting, mean_of(outcome.at_end(best))
        variation = mean_of(outcome.variation[best])
        friction = setting.friction if momentum(outcome) else None
        rows.append(
            (
                outcome.sampler.label,
                float(setting.step),
                friction,
                None if test is None else test.value,
                None if test is None else test.error,
                None if variation is None else variation.value,
            )
        )
    rows.append(("words by their frequency", None, None, baselines.unigram, None, None))
    if baselines.truth is not None:
        rows.append(("the true topics", None, None, baselines.truth.value, baselines.truth.error, 0.0))
    columns = ("sampler", "h", "D", "test perplexity", "standard error", "distance of topics")
    return Table("Best settings", columns, tuple(rows))
