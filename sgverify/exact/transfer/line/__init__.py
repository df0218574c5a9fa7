"""Overdamped schemes on the line.

`operator` takes a step from many points and collocates it on a uniform grid, `bias` refines the grid until the bias converges.
"""
