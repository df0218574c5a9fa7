"""Euler schemes and their kin: weak order 1 of overdamped and underdamped Langevin dynamics."""

from sgverify.schemes.dynamics import langevin
from sgverify.schemes.mathematics import sqrt
from sgverify.schemes.scheme import scheme


@scheme(langevin, order=1)
def unadjusted_langevin(theta, *, h, grad, noise, T):
    """Unadjusted Langevin algorithm; Roberts and Tweedie 1996."""
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise()
