"""Gradient estimators on tensors.

`estimators` is what `grad` is while a scheme runs, `kinds` the class of each declared estimator, `minibatches` the data that
it holds, `control_variates` SVRG and its kin, `biased` estimates that are off. `differentiation` has gradients and energies
of a target, `enumeration` runs an estimator on every minibatch there is.
"""
