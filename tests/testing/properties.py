"""A scheme judged under generated configurations, as `parametrize_with_checks` has it judged in a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis.strategies import SearchStrategy

from sgverify.checks.applicable_claims import questions_of
from sgverify.configuration import Configuration
from sgverify.evidence import Evidence
from sgverify.testing import Regressions
from sgverify.testing.places import Places
from sgverify.testing.scheme_tests import SchemeProperty, Suite
from sgverify.testing.shrinking.counterexample import DEFAULT_FOLDER


def check_property(
    scheme: Any,
    *,
    checks: list[str],
    configurations: SearchStrategy[Configuration],
    max_examples: int = 50,
    regressions: str | None = None,
    folder: str = DEFAULT_FOLDER,
) -> list[Evidence]:
    """One piece of evidence for each configuration that was judged. Raises `Violation`."""
    suite = Suite(None, globals())
    places = Places(None if regressions is None else Regressions(Path(regressions)), Path(folder))
    return [
        evidence
        for question in questions_of(suite.subject(scheme), checks, any_configuration=True)
        for evidence in SchemeProperty(
            question.claim.id, question.quantity, suite, configurations, max_examples
        ).evidence(scheme, places)
    ]
