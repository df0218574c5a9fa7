"""Kinetic schemes in the plane of one position and one momentum.

`interpreter` reads a step on a `grid`, `operator` carries a law, `law` finds what a step adds to the invariant one,
`bias` refines, `transient` averages over L steps. At h = 0: `expansion`, `poisson`, `leading`. `answers` joins them.
"""
