"""The wrong terms of a step that can only be run, from its mean and covariance as h -> 0, at several states and settings.

`generator` measures the factors with which the dynamics' terms enter torch code; `black_box` finds how a factor depends on
temperature, friction and dimension, and names the cause. `response` tells preconditioners, their corrections and pulls by the drift
and the noise under gradients that are given.
"""
