"""Whether a diffusion leaves a density invariant: the Fokker-Planck equation, decided for every smooth potential.

`fokker_planck` decides it, `recipe` finds the curl with which a drift leaves a density invariant (Ma, Chen, Fox 2015).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.exact.stationarity.fokker_planck import Residual, stationarity_residual
    from sgverify.exact.stationarity.recipe import Curl, find_curl

__all__ = ["Curl", "Residual", "find_curl", "stationarity_residual"]

__getattr__, __dir__ = lazily(__name__)
