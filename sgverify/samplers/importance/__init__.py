"""Averages under exp(-U/T) by importance sampling, where neither an exact law nor quadrature reaches.

`student` is the law that is drawn from, `fitting` places it on the target and says where it does not fit, `potential` evaluates
the energy and its gradient on torch, `averages` weighs the draws and states the error of an average, `relaxation` says how
slowly chains on the target relax.
"""

from sgverify.samplers.importance.averages import (
    EstimatedAverage,
    WeightedDraws,
    draw_weighted,
    precise_average,
)
from sgverify.samplers.importance.relaxation import slowness

__all__ = ["EstimatedAverage", "WeightedDraws", "draw_weighted", "precise_average", "slowness"]
