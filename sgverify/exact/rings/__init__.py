"""Rings in which definitions are evaluated exactly.

`polynomials` over the rationals, functions of one variable and a limit of time; `ring`, the coefficients of power series
(state, derivatives of U, parameters); `roots` of numbers and of the state as its elements; `evaluation` at numbers, which
distinguishes elements from 0 where the relations of the ring do not; `power_series` in sqrt(h) with an explicit O;
`differential_field`, for Fokker-Planck.
"""
