"""The suite of the example: its theorem on the Gaussian model."""

from __future__ import annotations

from sgverify.papers.suites import SuiteCase


def suite(effort: str) -> list[SuiteCase]:
    """One case at every effort."""
    return [SuiteCase("sgld-euler", (), ("covariance",))]
