"""Draws for people: a scheme run on a target, returned as ArviZ InferenceData, and written as netCDF or Zarr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgverify.draws.files import check_place, write_draws

if TYPE_CHECKING:
    from sgverify.draws.sampling import Sampling, sample
    from sgverify.draws.summary import summarise_draws

__all__ = ["Sampling", "check_place", "sample", "summarise_draws", "write_draws"]


def __getattr__(name: str) -> Any:
    """What brings torch with it is loaded when it is asked for: a wrong place is said before."""
    if name in ("Sampling", "sample"):
        from sgverify.draws import sampling

        return getattr(sampling, name)
    if name == "summarise_draws":
        from sgverify.draws.summary import summarise_draws

        return summarise_draws
    raise AttributeError(f"module 'sgverify.draws' has no attribute {name!r}")
