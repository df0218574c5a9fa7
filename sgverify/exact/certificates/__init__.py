"""Certificates at the user's own step size, for every potential of a class and in every dimension.

`pair` reads the difference of two copies of a step that share draws and minibatches, affine in their gradients' differences;
`semidefinite` is the program that seeks a norm in which it shrinks; `contraction` proves the rate, at a step size or between two,
and finds members of the class that shrink no faster; `largest_step` seeks the step and friction that contract best;
`distance` bounds the Wasserstein distance between the chain's law and the posterior, beside a `motion` that leaves it as it is.
"""
