"""Which rate do sampled chains show if no exact method answers? Verdicts have a stated error rate and use no slope.

`method` fixes the error rate and the random streams. `pilot` finds how long chains forget their start, `plan` the steps,
lengths and chains of each look, `sweep` runs them. `gaussian_control` are the same chains on a Gaussian target, whose known
averages take most of the noise away; `controlled_plan` plans a sweep beside them. `stationary` and `lengths` decide the rate in h
and in L, where `forgetting` are the lengths in which chains forget their start, `length_plan` chooses them, and `timed_variance`
tells from the shortest where a mean square error shows no bias. `euler_control` compares a bias that is lost in the noise with a
known first-order one, `points` lays sampled points beside exact curves.
`reference` is the average that samples are compared with.
"""
