"""How do all chains of a sweep run, from their start to averages or draws?

`settings` and `schedules` describe a run, `assembly` sets up its chains, `run` moves them leg by leg and calls its observers
(`leg`), `stepwise` step by step. Observers are the running sums of `averages` and the recorder of
`recording`. `halting` and `recording` store draws and resume their run with equal bits.
"""
