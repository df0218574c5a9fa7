"""The outcome of each sampler: perplexities along its chains, the distance to the true topics, and its rows of the document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from reports.applications.lda.samplers import ComparedSampler, GridRow
from reports.applications.optimum import Optimum, Point, locate
from reports.applications.result import DivergedChain
from reports.applications.statistics import Mean, mean_of

VALIDATION, TEST = 0, 1
"""The two halves of the held-out documents: the best setting is chosen on the first, and told of the second."""


@dataclass(frozen=True, eq=False)
class SamplerOutcome:
    """What the settings of one sampler have found.

    `along` and `averaged`, shape (S, C, evaluations, 2), are perplexities of single states, and of the predictive probabilities
    averaged so far, on validation and test documents; `variation`, shape (S, C), the distance to the true topics, NaN where none
    are known. NaN stands for chains that diverged.
    """

    sampler: ComparedSampler
    steps: tuple[int, ...]
    along: np.ndarray
    averaged: np.ndarray
    variation: np.ndarray
    diverged: tuple[DivergedChain, ...] = field(default=())

    def at_end(self, row: int, which: int = TEST) -> np.ndarray:
        """The perplexity of the average of a setting, one for each seed."""
        found: np.ndarray = self.averaged[row, :, -1, which]
        return found

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of a setting's coordinates: of a sampler with a momentum the friction is one."""
        return ("step", "friction") if "D" in self.sampler.scheme.parameters else ("step",)

    def point(self, row: GridRow) -> Point:
        """The coordinates of a setting."""
        return (row.step, float(row.setting.friction))[: len(self.axes)]

    def chosen_by(self, rows: Sequence[GridRow] | None = None) -> dict[Point, np.ndarray]:
        """The perplexities on the validation documents by setting, of these rows or of all."""
        return {
            self.point(row): self.at_end(number, VALIDATION)
            for number, row in enumerate(self.sampler.rows)
            if rows is None or row in rows
        }

    def optimum(self, rows: Sequence[GridRow] | None = None) -> Optimum | None:
        """The setting with the smallest mean perplexity on the validation documents; None where each has a diverged chain."""
        return locate(self.chosen_by(rows), self.axes)

    def row_of(self, optimum: Optimum) -> int:
        """The number of the row of an optimum; of several of its coordinates the last one, whose values were taken."""
        return max(number for number, row in enumerate(self.sampler.rows) if self.point(row) == optimum.point)

    def best(self) -> int | None:
        """The number of the row with the smallest mean perplexity on the validation documents."""
        found = self.optimum()
        return None if found is None else self.row_of(found)

    def joined(self, others: Sequence[SamplerOutcome]) -> SamplerOutcome:
        """The outcome with the rows of others of the same sampler after its own."""
        parts = (self, *others)
        return SamplerOutcome(
            replace(self.sampler, rows=tuple(row for part in parts for row in part.sampler.rows)),
            self.steps,
            np.concatenate([part.along for part in parts]),
            np.concatenate([part.averaged for part in parts]),
            np.concatenate([part.variation for part in parts]),
            tuple(item for part in parts for item in part.diverged),
        )


@dataclass(frozen=True)
class CorpusBaselines:
    """Perplexities on the test documents that no sampler has: a word drawn from all, from the training words, the true topics."""

    uniform: float
    unigram: float
    truth: Mean | None


def rows_of(outcome: SamplerOutcome) -> list[dict[str, Any]]:
    """The settings of a sampler with their numbers; a number that has no value is null, and `diverged` counts why."""
    found = []
    for number, row in enumerate(outcome.sampler.rows):
        test, variation = mean_of(outcome.at_end(number)), mean_of(outcome.variation[number])
        setting = row.setting
        found.append(
            {
                "sampler": outcome.sampler.label,
                "scheme": outcome.sampler.scheme.name,
                "parametrisation": outcome.sampler.parametrisation.name,
                "step": setting.step,
                "friction": setting.friction if "D" in outcome.sampler.scheme.parameters else None,
                "printed_step": row.printed,
                "refined": row.refined,
                "validation_perplexity": _value(mean_of(outcome.at_end(number, VALIDATION))),
                "test_perplexity": _value(test),
                "standard_error": None if test is None else test.error,
                "test_perplexity_by_seed": [_finite(value) for value in outcome.at_end(number)],
                "topics_variation": _value(variation),
                "topics_variation_error": None if variation is None else variation.error,
                "along": [_finite(value) for value in outcome.along[number, :, :, TEST].mean(0)],
                "diverged": sum(item.setting == str(setting) for item in outcome.diverged),
            }
        )
    return found


def _value(mean: Mean | None) -> float | None:
    return None if mean is None else mean.value


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
