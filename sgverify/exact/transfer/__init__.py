"""Transfer operators on a grid: invariant laws beyond Gaussians, deterministically and with a stated error."""

from sgverify.exact.transfer.result import BiasTerm, Escape, GridBias, LeadingBias

__all__ = ["BiasTerm", "Escape", "GridBias", "LeadingBias"]
