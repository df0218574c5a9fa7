"""Mistakes in samplers with a metric."""

from sgverify.schemes import find_scheme, riemannian_kinetic, riemannian_langevin, scheme, sqrt
from tests.pools.diagnosed.bug import Bug


@scheme(riemannian_langevin, order=1)
def gradient_not_preconditioned(theta, *, h, grad, noise, metric, T):
    """The noise follows the metric and the gradient does not."""
    drift = T * metric.divergence(theta) - grad(theta)
    return theta + h * drift + sqrt(2 * T * h) * metric.root(theta, noise())


@scheme(riemannian_langevin, order=1)
def divergence_subtracted(theta, *, h, grad, noise, metric, T):
    """The divergence of the metric has the other sign."""
    drift = -T * metric.divergence(theta) - metric.inverse(theta, grad(theta))
    return theta + h * drift + sqrt(2 * T * h) * metric.root(theta, noise())


@scheme(riemannian_kinetic, order=1)
def friction_twice_in_a_metric(theta, p, *, h, grad, noise, metric, D, T):
    """2 D G^-1 p beside noise for D."""
    force = T * metric.root_divergence(theta) - metric.transposed(theta, grad(theta))
    kick = sqrt(2 * D * T * h) * metric.root(theta, noise())
    p = p + h * (force - 2 * D * metric.inverse(theta, p)) + kick
    return theta + h * metric.root(theta, p), p


BUGS = (
    Bug(gradient_not_preconditioned, find_scheme("sgrld-euler"), "metric-wrong"),
    Bug(divergence_subtracted, find_scheme("sgrld-euler"), "metric-wrong"),
    Bug(friction_twice_in_a_metric, find_scheme("sgrhmc-euler"), "friction-wrong"),
)
