"""The suite of awsgld: adaptively weighted samplers on targets of one and two dimensions."""

from __future__ import annotations

from sgverify.papers.suites import SuiteCase

OF_WEIGHTS = (
    "fixed-point",
    "weight-stability",
    "piecewise-law",
    "energy-noise",
    "weight-mse",
    "chain-average",
    "weighted-average",
)
"""Checks of adaptively weighted samplers that compute."""


def suite(effort: str) -> list[SuiteCase]:
    """AWSGLD and CSGLD at several zeta, with few and many regions: the claims of awsgld that computation can settle.

    The targets are ours: the paper's energies stand in parts of it that are not at hand. Nothing is sampled for it.
    """
    zetas = ("1", "2", "5") if effort != "quick" else ("1", "5")
    targets = (
        ("target.name=double-well", "temperature=2", "partition.bins=10"),
        ("target.name=gaussian", "target.dim=2", "partition.bins=30"),
    )
    assumed = SuiteCase("awsgld", targets[1], ("lipschitz-gradient", "noise-growth"))
    return [
        assumed,
        *(
            SuiteCase(scheme, (*target, f"partition.zeta={zeta}"), checks)
            for scheme, checks in (("awsgld", OF_WEIGHTS), ("csgld", ("fixed-point",)))
            for target in targets
            for zeta in zetas
        ),
    ]
