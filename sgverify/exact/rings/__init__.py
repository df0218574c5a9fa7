"""Rings in which definitions are read exactly.

`polynomials` over the rationals; `ring`, the coefficients of the power-series reading (state, derivatives of U,
parameters); `roots` of numbers and of the state as elements of it; `evaluation` at numbers, which tells 0 from what
the ring does not know to be 0; `power_series` in sqrt(h) with an explicit O; `differential_field`, for Fokker-Planck.
"""
