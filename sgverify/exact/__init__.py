"""Exact interpreters of schemes, and exact answers about their chains, without sampling.

Mathematics without schemes: `numbers` (balls, cumulants, matrices, jets, quadrature), `rings` (polynomial rings and
truncated power series), `splittings` (free Lie algebras and Baker-Campbell-Hausdorff). Readings of a definition:
`readings` (printed formula, long double, behaviour at small and large steps), `series` (local orders, for every
smooth potential), `stationarity` (Fokker-Planck, and the generator of a dynamics on polynomials), `affine` (a step on a quadratic
potential).
Answers about chains: `posterior` (true averages), `chain` (affine chains), `minibatch` (laws of minibatch noise), `recursion`
(the moments of any randomness), `answers` (one protocol for bias and mean square error), `transfer` (grids, beyond Gaussians).
`certificates` hold for every potential of a class, at a step size. Composites: `exchange`, `weights`.
"""
