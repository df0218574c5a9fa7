"""A dynamics alone, without a step: is its density invariant, and what does its generator do to polynomials?

`fokker_planck` decides the stationary Fokker-Planck equation for every smooth potential. `generator` is L on the polynomials in the
state, on one target, with the Poisson equation of an affine dynamics.
"""
