"""The loop: rows of step sizes and chains, from their start to averages, draws or a transcript.

`settings` and `schedules` say what is run, `assembly` makes the chains, `run` moves them leg by leg and
tells its observers (`leg`). Observers: `running_sums` and `averages`, `states`, `recording`, `transcript`. `checkpoint` and
`pausing` keep a run in a file, to the same bits.
"""
