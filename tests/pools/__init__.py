"""Does `verify` judge steps correctly of which it is known whether they are right or wrong?

Each family of steps is a plain module in `right` or `wrong`, with schemes, splittings and torch steps at its top level. The
docstring of a step (the summary of a splitting) describes it and, in `right`, names its publication. `entries` finds the steps,
`running` judges one in a separate process, and `table` records the outcomes. `diagnosed` holds wrong definitions with the cause
of each.
"""
