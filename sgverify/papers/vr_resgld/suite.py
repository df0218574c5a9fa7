"""The suite of vr-resgld: replica exchange on the Gaussian model and on a double well."""

from __future__ import annotations

from sgverify.papers.suites import OF_TARGETS, SuiteCase

OF_EXCHANGE = (
    "energy-variance",
    "best-coefficient",
    "swap-balance",
    "swap-rate",
    "swap-bound",
    "exchange-rate",
    "exchange-bound",
)
"""Checks of the rules that replica exchange puts around a scheme."""

LADDERS = ("exchange.ladder=[1, 4]", "exchange.ladder=[1, 20]")


def suite(effort: str) -> list[SuiteCase]:
    """The claims of Deng et al. 2021: energies on the Gaussian model, where their noise is linear, swaps on a double well."""
    composites = ("resgld", "vr-resgld", "avr-resgld", "vr-resghmc")
    cases = [SuiteCase(name, ("gradient.kind=iid",), OF_EXCHANGE) for name in composites]
    cases.append(SuiteCase("vr-resgld", ("gradient.kind=iid",), OF_TARGETS))
    cases += [
        SuiteCase(
            "vr-resgld", ("target.name=double-well", f"temperature={temperature}", ladder), ("exchange-rate",)
        )
        for temperature in (1, 0.2)
        for ladder in (LADDERS[:1] if effort == "quick" else LADDERS)
    ]
    cases += [
        SuiteCase(
            "vr-resgld",
            ("gradient.kind=iid", f"exchange.refresh={period}", "start=1000"),
            ("energy-variance",),
        )
        for period in (2, 40)
    ]
    return cases
