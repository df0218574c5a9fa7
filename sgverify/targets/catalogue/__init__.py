"""The targets that ship with sgverify, a file for each family of potentials.

`quadratic` (Gaussian laws), `conjugate` (counts and outcomes), `regressions`, `wells` (potentials of one
well or several, and mixtures).
"""
