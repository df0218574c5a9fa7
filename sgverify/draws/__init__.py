"""Draws for people: a scheme run on a target, returned as ArviZ InferenceData, and written as netCDF or Zarr."""

from sgverify.draws.files import check_place, write_draws
from sgverify.draws.sampling import Sampling, sample
from sgverify.draws.summary import summarise_draws

__all__ = ["Sampling", "check_place", "sample", "summarise_draws", "write_draws"]
