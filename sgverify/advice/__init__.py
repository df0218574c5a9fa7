"""Advice on the next step of a user: why a scheme fails, how large its error is, and which plan costs least.

`diagnosis`: the cause of a failure, and the edit of its source that mends it. `size`: the error at a step size, and the steps that
keep it small. `plans`: which scheme, step size and gradient estimator know a target best for their cost. `step_bias` warns of a
step size before draws are made (`widths` is its answer), `covariates` names those of a regression, `comparison` puts schemes side
by side: orders, stability, and what an error costs. They take the law of a chain by one of the methods of `chain_laws`, which
`product_laws` chooses and extends to products of lines; the last is `closure`, an approximation about a mode. `networks`: the step
and the batch for a torch module, from what is measured at a mode. `certified`: the rate and the distance that hold at a step size
for every potential of a class.
`identification`: the published scheme that a step is. `design`: the words over an alphabet with the smallest leading error.
"""
