"""Whether a diffusion leaves a density invariant: the Fokker-Planck equation, decided for every smooth potential.

`fokker_planck` decides it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.exact.stationarity.fokker_planck import Residual, stationarity_residual

__all__ = ["Residual", "stationarity_residual"]

__getattr__, __dir__ = lazily(__name__)
