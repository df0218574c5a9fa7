"""The generator of a dynamics on polynomials, exactly.

`polynomials`: values of a dynamics as polynomials in its state. `generator`: L on them, and the Poisson equation of an affine
dynamics.
"""
