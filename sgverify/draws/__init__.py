"""Draws for people: a scheme run on a target, returned as ArviZ InferenceData, and written as netCDF or Zarr.

`sampling` is the command `sample`, `step_choice` its step where none is given and what it needs, of memory and of the extra
`draws`. `inference_data` holds the draws, `files` writes them, `stored` keeps them while they are drawn and goes on with them,
`summary` prints a screen about them, `picture` draws them, `run` is both for a notebook, `trust` judges a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.draws.files import check_place, write_draws
from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.draws.sampling import Sampling, sample
    from sgverify.draws.summary import summarise_draws

__all__ = [
    "Sampling",
    "check_place",
    "sample",
    "summarise_draws",
    "write_draws",
]

# What brings torch with it is loaded when it is asked for: a wrong place is said before.
__getattr__, __dir__ = lazily(__name__)
