"""Transfer operators on a grid: invariant laws beyond Gaussians, deterministically and with a stated error."""

from sgverify.exact.transfer.result import Escape, GridBias, LeadingBias, Term

__all__ = ["Escape", "GridBias", "LeadingBias", "Term"]
