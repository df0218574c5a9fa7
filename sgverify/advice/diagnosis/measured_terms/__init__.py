"""Which terms of a step that can only be run are wrong? Its mean and covariance as h -> 0, at several states and settings.

`generator` measures the factors with which the dynamics' terms enter torch code, `scaling` how a factor depends on temperature,
friction and dimension, `black_box` names the cause.
"""
