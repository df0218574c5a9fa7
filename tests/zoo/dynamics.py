"""Dynamics and densities that a paper prints, or that somebody gets wrong."""

from sgverify.schemes import dot, dynamics


def sghmc_as_printed(theta, p, *, U):
    return -U(theta) + dot(p, p) / 2


def thermostat_as_printed(theta, p, xi, *, U, D):
    return -U(theta) - dot(p, p) / 2 + (xi - D) ** 2 / 2


def thermostat_with_the_sign_mended(theta, p, xi, *, U, D):
    return -U(theta) - dot(p, p) / 2 - (xi - D) ** 2 / 2


def thermostat_mended(theta, p, xi, *, U, D, dim):
    return -U(theta) - dot(p, p) / 2 - dim * (xi - D) ** 2 / 2


@dynamics(theta="vector")
def half_speed(theta, *, grad):
    """chen2015 (10): d theta = -1/2 grad U dt + dW."""
    return -grad(theta) / 2, 0.5


@dynamics(theta="vector")
def without_gamma(theta, *, grad, metric, T):
    return -metric.inverse(theta, grad(theta)), T * metric.diffusion(theta)


@dynamics(theta="vector")
def half_gamma(theta, *, grad, metric, T):
    force = -metric.inverse(theta, grad(theta))
    return force + T * metric.divergence(theta) / 2, T * metric.diffusion(theta)


@dynamics(theta="vector", p="vector")
def kinetic_without_gamma(theta, p, *, grad, metric, D, T):
    force = -metric.transposed(theta, grad(theta)) - D * metric.inverse(theta, p)
    return (metric.root(theta, p), force), (0, D * T * metric.diffusion(theta))


@dynamics(theta="vector", p="vector")
def wrong_fluctuation(theta, p, *, grad, D, T):
    return (p, -grad(theta) - D * p), (0, D * D * T)


def without_dim(theta, p, xi, *, U, D, T):
    return -(U(theta) + dot(p, p) / 2 + (xi - D) ** 2 / 2) / T


@dynamics(theta="vector", p="vector", xi="scalar", density=without_dim)
def thermostat_without_dim(theta, p, xi, *, grad, D, T):
    return (p, -grad(theta) - xi * p, dot(p, p) - T), (0, D * T, 0)
