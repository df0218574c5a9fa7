"""Overdamped schemes on the line.

`motion` takes a step from many points, `operator` collocates it on a uniform grid, `bias` refines the grid until the bias
converges. At h = 0: `defects` from the `diffusion`, and `leading`, the first
coefficient of the bias. `answers` joins them.
"""
