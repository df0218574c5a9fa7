"""How do all chains of a sweep run, from their start to averages or draws?

`settings` and `schedules` describe a run, `assembly` sets up its chains, `run` moves them leg by leg and calls its observers
(`leg`). Observers are `running_sums` (states with weights enter by `weighted_sums`) with `averages`, `states` and
`recorder`. `checkpoint` and `pausing` store a run in a file and resume it with equal bits; so do `halting` and `recording`, for
draws.
"""
