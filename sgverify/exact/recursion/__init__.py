"""One recursion: the moments of the state, moved by the mean of a step over its randomness.

A kind of randomness is a file that says its mean operators over one period: `additive`, `hessians` (fresh in every step),
`orders`, `blocks` (shared over a period), `snapshots` (kept in memory). What is asked of them is in `answers.moments`.
"""
