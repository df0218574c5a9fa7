"""Suites: the schemes and configurations in which a paper's claims are settled; each paper's own is in its folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from sgverify.checks.applicable_claims import judge
from sgverify.checks.rates.sampled.points import with_sampled_points
from sgverify.configuration import load_configuration
from sgverify.errors import find_named
from sgverify.evidence import Evidence
from sgverify.papers.paper import papers
from sgverify.subject.binding import make_subject

EFFORTS = ("quick", "default", "full")

OF_TARGETS = ("lipschitz-gradient", "dissipativity", "noise-growth")
"""Checks of assumptions on the target; asked where the theorems are that assume them."""


@dataclass(frozen=True)
class SuiteCase:
    """One scheme under one configuration, with the checks to run and the number of chains to sample."""

    scheme: str
    settings: tuple[str, ...]
    checks: tuple[str, ...] = ()
    chains: int = 0

    @cached_property
    def title(self) -> str:
        """The scheme and its settings, for the progress line."""
        return " ".join((self.scheme, *self.settings))

    def run(self) -> list[Evidence]:
        """Judge the scheme, and add sampled points where chains are configured."""
        subject = make_subject(self.scheme, load_configuration(None, self.settings))
        evidence = judge(subject, self.checks)
        return with_sampled_points(subject, evidence, self.chains) if self.chains else evidence


Suite = Callable[[str], list[SuiteCase]]
"""The cases of a suite at an effort of `EFFORTS`."""


def suites() -> dict[str, Suite]:
    """The suite of every paper that has one, by the paper's id in alphabetical order; modules load when a suite is asked."""
    having = sorted((paper for paper in papers() if paper.suite), key=lambda paper: paper.id)
    return {paper.id: paper.asked_of(paper.suite) for paper in having}


def find_suite(name: str) -> Suite:
    """The suite of a paper; raises `UnknownNameError` with the nearest one."""
    return find_named("suite", name, suites())
