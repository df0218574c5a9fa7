"""One recursion: the moments of the state, moved by the mean of a step over its randomness.

A kind of randomness is a file that says its mean operators over one `period`: `additive`, `hessians` (fresh in every step,
or in the order of an epoch), `blocks` (shared over a period), `snapshots` (kept in memory). `average` has bias and mean
square error of an average over any number of steps, `stability` when second and fourth moments stay bounded.
"""
