"""Does one claim hold for a scheme under every configuration that a strategy generates?

A bug of a scheme shows under most configurations, so that few examples find it. The violation is simplified on the configuration
and not on the draws of the strategy (`sgverify.testing.shrinking.counterexample`). On planted bugs this takes 1 to 4 judgements and
ends with 0 or 1 key; hypothesis' own shrinking takes 30 and ends with the 8 keys that the strategy always draws.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from sgverify.claims import Claim
from sgverify.configuration import Configuration, settings_of
from sgverify.evidence import Evidence
from sgverify.subject.subject import Subject
from sgverify.testing.profiles import examples
from sgverify.testing.recording import record, remark, tally
from sgverify.testing.references import references_of
from sgverify.testing.regressions import Regressions
from sgverify.testing.shrinking.counterexample import (
    DEFAULT_FOLDER,
    Violation,
    ask,
    descend,
    keep_counterexample,
    violation,
)

MOST_EXAMPLES = 50
"""The default number of configurations that a property generates; the nightly profile has its own number."""


@dataclass(frozen=True, eq=False)
class Property:
    """A claim's quantity, a scheme, and where configurations come from: the regression file first, then the strategy.

    `folder` is where a counterexample is left.
    """

    subject: Subject
    claim: Claim
    quantity: str
    strategy: SearchStrategy[Configuration]
    max_examples: int = MOST_EXAMPLES
    regressions: Regressions | None = None
    folder: Path = Path(DEFAULT_FOLDER)

    def check(self) -> list[Evidence]:
        """Judge under every row and `max_examples` configurations: the last evidence of each, where nothing violates.

        Raises `Violation` with a minimal counterexample, and `UserError` where scheme, row or configuration is wrong.
        """
        held = self._try_rows()
        run = _Generated(self)
        found = run.first_violation(self.strategy, self.max_examples)
        if found is not None:
            generated = run.judged
            minimal = descend(*found, judge=run.judge)
            judged = f"{generated} generated, {minimal.judgements} to make the first violation simple"
            raise self._violation(minimal.evidence, minimal.configuration, judged)
        held += run.held
        tally(Counter(evidence.outcome for evidence in held))
        return held

    def _try_rows(self) -> list[Evidence]:
        held: list[Evidence] = []
        file = self.regressions
        if file is None:
            return held
        names = {self.subject.reference, *references_of(self.subject.scheme)}
        for row, configuration in file.rows_of(names, self.quantity):
            found = ask(self.subject, configuration, self.claim, self.quantity)
            failed = violation(found)
            if failed is not None:
                judged = f"{len(held) + 1}, the last is the row at {file.place(row)}"
                raise self._violation(failed, configuration, judged)
            if row.claim == self.claim.id:
                remark(file.told_fixed(row, found[-1].outcome))
            held.append(found[-1])
        return held

    def _violation(self, evidence: Evidence, configuration: Configuration, judged: str) -> Violation:
        record(evidence)
        kept = keep_counterexample(
            evidence, configuration, judged=judged, folder=self.folder, regressions=self.regressions
        )
        return Violation(evidence, kept)


class _Generated:
    """The results so far, each configuration judged once, because hypothesis runs a failing example again."""

    def __init__(self, asked: Property) -> None:
        self._asked = asked
        self._found: dict[str, list[Evidence]] = {}

    @property
    def judged(self) -> int:
        return len(self._found)

    @property
    def held(self) -> list[Evidence]:
        return [found[-1] for found in self._found.values()]

    def judge(self, configuration: Configuration) -> Evidence | None:
        key = "\0".join(settings_of(configuration))
        if key not in self._found:
            asked = self._asked
            self._found[key] = ask(asked.subject, configuration, asked.claim, asked.quantity)
        return violation(self._found[key])

    def first_violation(
        self, strategy: SearchStrategy[Configuration], max_examples: int
    ) -> tuple[Configuration, Evidence] | None:
        """The first violation among generated configurations, as it was drawn."""
        met: list[tuple[Configuration, Evidence]] = []

        def judge(configuration: Configuration) -> None:
            evidence = self.judge(configuration)
            if evidence is not None:
                met.append((configuration, evidence))
                raise _Met

        plain = settings.get_current_profile_name() == "default"
        chosen: Any = settings(
            # The same on every run, unless the user chose a profile that draws others.
            derandomize=settings().derandomize or plain,
            max_examples=examples(max_examples), phases=[Phase.generate], database=None, deadline=None, report_multiple_bugs=False,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.nested_given],
        )  # fmt: skip
        try:
            chosen(given(strategy)(judge))()
        except _Met:
            return met[0]
        return None


class _Met(Exception):
    """A violation was met: hypothesis ends."""
