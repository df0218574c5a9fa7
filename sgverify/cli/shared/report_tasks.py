"""What does a report ask? A task for each study, for each case of a suite, and for the formulas of a paper."""

from __future__ import annotations

from typing import Any

from sgverify.campaigns.tasks import Task
from sgverify.cli.shared.answering import listed
from sgverify.configuration import load_configuration
from sgverify.configuration.loading import tree_of
from sgverify.evidence import Erratum, Evidence, Study, decode_evidence, encode_evidence
from sgverify.evidence.published import read_as
from sgverify.papers.formula import check_errata
from sgverify.papers.suites import SuiteCase, build_study


def study_task(name: str, effort: str) -> Task:
    """The task that builds a study at an effort."""
    return Task(
        kind="study",
        question={"study": name, "effort": effort},
        title=name,
        function=build_study,
        arguments=(name, effort),
        encode=listed,
        decode=lambda value: read_as(Study, value),
        sort=f"study {name}",
    )


def case_task(case: SuiteCase) -> Task:
    """The task that judges a scheme under the settings of a suite's case."""
    return Task(
        kind="suite-case",
        question={
            "scheme": case.scheme,
            "settings": case.settings,
            # Files and code that the settings name are found in it.
            "configuration": tree_of(load_configuration(None, case.settings)),
            "checks": case.checks,
            "chains": case.chains,
        },
        title=case.title,
        function=_evidence_of,
        arguments=(case,),
        encode=lambda found: [encode_evidence(item) for item in found],
        decode=lambda value: [decode_evidence(item) for item in value],
        references=(case.scheme,),
        sort=case.title,
        # The code of a subclass is somewhere else.
        kept=lambda found: type(case) is SuiteCase and without_exceptions(found),
    )


def _evidence_of(case: SuiteCase) -> list[Evidence]:
    # With the points that a report draws: what is counted as answered is whole, and is written when the time is over.
    evidence = case.run()
    for item in evidence:
        len(item.points)
    return evidence


def errata_task(paper: str) -> Task:
    """The task that examines the formulas of a paper."""
    return Task(
        kind="errata",
        question={"paper": paper},
        title="errata",
        function=check_errata,
        arguments=((), paper),
        encode=listed,
        decode=lambda value: [read_as(Erratum, item) for item in value],
        sort="errata",
    )


def without_exceptions(found: list[Evidence]) -> bool:
    """Did no exception end a check? Memory that ran out once need not run out again."""
    return not any("exception" in item.certificate for item in found)


def evidence_of(answers: dict[int, Any], numbers: range) -> list[Evidence]:
    """The evidence of the cases with these numbers, in their order: of several answers to a question that with the most points."""
    found: dict[str, Evidence] = {}
    for item in (item for number in numbers for item in answers.get(number, ())):
        if item.id not in found or len(item.points) > len(found[item.id].points):
            found[item.id] = item
    return list(found.values())
