"""Transfer operators on a grid: invariant laws beyond Gaussians, deterministically and with a stated error.

`line` is for overdamped schemes, `plane` for kinetic ones on one-dimensional targets; `result` defines the answers of both.
"""
