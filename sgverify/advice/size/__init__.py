"""The size of a chain's error at a step size, and the largest step that keeps it within a bound.

`model`: the answer (`HowLarge`). `finding` computes it from the law of a chain, with the largest step within an error,
and `coupled` by a run at three step sizes.
"""
