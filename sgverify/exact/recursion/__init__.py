"""One recursion: the moments of the state, moved by the mean of a step over its randomness.

Each kind of randomness has its mean operators over one `period`: `additive` (fresh in every step, or in blocks shared over a
period), `hessians` (fresh in every step, or in the order of an epoch), `snapshots` (kept in memory). `average` has bias and
mean square error of an average over any number of steps, and the step sizes at which second and fourth moments are bounded.
"""
