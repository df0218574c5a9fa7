"""Random numbers of a run: the same bits whatever is batched.

`philox` makes counter-based words, `variates` normal and whole numbers of them, `noise` says which stream each row of a
sweep draws from.
"""
