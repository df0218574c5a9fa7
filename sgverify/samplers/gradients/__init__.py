"""How are gradient estimators computed on tensors?

`estimators` implements `grad` while a scheme runs, `kinds` maps each declared estimator to its class and scales or clips its
gradients, `minibatches` draws the data indices, `control_variates` has SAGA and centred estimates. `differentiation` computes
gradients and energies of a target by `derivatives`.
"""
