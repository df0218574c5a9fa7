"""Kinetic schemes in the plane of one position and one momentum.

`interpreter` runs a step on a grid, `operator` carries a law forward, `law` solves for the difference of the invariant law
and the target, `bias` refines the grid.
"""
