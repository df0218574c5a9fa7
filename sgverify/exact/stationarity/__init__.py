"""Which density a diffusion leaves invariant: Fokker-Planck, decided for every smooth potential.

`fokker_planck` decides, `recipe` makes every drift with a given density (Ma, Chen, Fox 2015).
"""

from sgverify.exact.stationarity.fokker_planck import Residual, stationarity_residual
from sgverify.exact.stationarity.recipe import Curl, find_curl

__all__ = ["Curl", "Residual", "find_curl", "stationarity_residual"]
