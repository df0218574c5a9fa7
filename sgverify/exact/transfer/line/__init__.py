"""Overdamped schemes on the line.

`operator` takes a step from many points and collocates it on a uniform grid, `bias` refines the grid until the bias
converges. At h = 0: `defects`, the step's difference from a diffusion with its Poisson equation, and `leading`, the first
coefficient of the bias. `bias` joins them.
"""
