"""The Euler schemes of Chen, Ding, Carin 2015: Algorithm 1, Algorithm 2 and Appendix I.1."""

from sgverify.schemes.definition.mathematics import sqrt
from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.scheme import scheme


@scheme(langevin, order=1)
def sgld_euler(theta, *, h, grad, noise, T):
    """Stochastic gradient Langevin dynamics, Euler."""
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise()


@scheme(kinetic, order=1)
def sghmc_euler(theta, p, *, h, grad, noise, D, T):
    """SGHMC, Euler as in Algorithm 2: the momentum first, the position with the new momentum."""
    p = p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p


@scheme(kinetic, order=1)
def sghmc_euler_explicit(theta, p, *, h, grad, noise, D, T):
    """SGHMC, explicit Euler as in Appendix I.1: the position with the old momentum."""
    return theta + h * p, p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()


SCHEMES = (
    sgld_euler.named("sgld-euler", source="chen2015 Algorithm 1; Welling and Teh 2011"),
    sghmc_euler.named("sghmc-euler", source="chen2015 Algorithm 2"),
    sghmc_euler_explicit.named("sghmc-euler-explicit", source="chen2015 Appendix I.1"),
)
