"""One recursion: the moments of the state, moved by the mean of a step over its randomness.

Each kind of randomness is a file with its mean operators over one `period`: `additive`, `hessians` (fresh in every step,
or in the order of an epoch), `blocks` (shared over a period), `snapshots` (kept in memory). `average` has bias and mean
square error of an average over any number of steps, `stability` the step sizes at which second and fourth moments are bounded.
"""
