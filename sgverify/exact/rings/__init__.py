"""Rings in which definitions are evaluated exactly, all on one context of named generators.

`polynomials` over the rationals, functions of one variable and a limit of time; `context`, generators under keys, with slots for
roots (`number_roots`), `functions` of the state and reciprocals; `ring`, the coefficients of power series (state, derivatives of U,
parameters); `roots` of the state as its elements; `evaluation` at numbers of any kind, which distinguishes elements from 0 where
the relations of the ring do not; `power_series` in sqrt(h) with an explicit O. Fokker-Planck reads h^0 of the series.
"""
