"""Schemes in a metric G(theta), G^-1 = B B^T: noise and friction that follow the geometry of the posterior.

Both are drifts of the complete recipe (Ma, Chen, Fox 2015): without the divergence terms, which the first published
samplers lack or approximate, they leave another density invariant.
"""

from sgverify.schemes.definition.mathematics import sqrt
from sgverify.schemes.dynamics import riemannian_kinetic, riemannian_langevin
from sgverify.schemes.scheme import scheme


@scheme(riemannian_langevin, order=1)
def sgrld_euler(theta, *, h, grad, noise, metric, T):
    """Stochastic gradient Riemannian Langevin dynamics, Euler."""
    force = T * metric.divergence(theta) - metric.inverse(theta, grad(theta))
    return theta + h * force + sqrt(2 * T * h) * metric.root(theta, noise())


@scheme(riemannian_kinetic, order=1)
def sgrhmc_euler(theta, p, *, h, grad, noise, metric, D, T):
    """Stochastic gradient Riemannian HMC, Euler: the momentum first, the position with the new momentum."""
    force = T * metric.root_divergence(theta) - metric.transposed(theta, grad(theta))
    p = p + h * force - h * D * metric.inverse(theta, p) + sqrt(2 * D * T * h) * metric.root(theta, noise())
    return theta + h * metric.root(theta, p), p


SCHEMES = (
    sgrld_euler.named("sgrld-euler", source="Patterson and Teh 2013; Ma, Chen, Fox 2015, section 4"),
    sgrhmc_euler.named("sgrhmc-euler", source="Ma, Chen, Fox 2015, Algorithm 1"),
)
