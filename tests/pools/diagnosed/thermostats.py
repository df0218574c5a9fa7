"""Mistakes in stochastic gradient Nose-Hoover thermostats."""

from sgverify.schemes import dot, find_scheme, scheme, sqrt, thermostat
from tests.pools.diagnosed.bug import Bug

EULER = find_scheme("sgnht-euler")


@scheme(thermostat, order=1)
def energy_times_dimension(theta, p, xi, *, h, grad, noise, dim, D, T):
    """A mean over coordinates, multiplied by their number."""
    p = p - h * xi * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p, xi + h * (dim * dot(p, p) - T)


@scheme(thermostat, order=1)
def energy_against_twice_the_temperature(theta, p, xi, *, h, grad, noise, dim, D, T):
    """p.p/dim is held against 2 T, as if it were twice the kinetic energy of two variables."""
    p = p - h * xi * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p, xi + h * (dot(p, p) / dim - 2 * T)


@scheme(thermostat, order=1)
def noise_of_the_thermostat(theta, p, xi, *, h, grad, noise, dim, D, T):
    """The noise takes xi for D: the injected noise follows the friction."""
    p = p - h * xi * p - h * grad(theta) + sqrt(2 * sqrt(xi * xi) * T * h) * noise()
    return theta + h * p, p, xi + h * (dot(p, p) / dim - T)


@scheme(thermostat, order=1)
def friction_of_both(theta, p, xi, *, h, grad, noise, dim, D, T):
    """D p beside xi p: the friction is counted twice."""
    p = p - h * xi * p - h * D * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p, xi + h * (dot(p, p) / dim - T)


@scheme(thermostat, order=1)
def feedback_by_square_of_step(theta, p, xi, *, h, grad, noise, dim, D, T):
    """The thermostat moves by h^2."""
    p = p - h * xi * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p, xi + h * h * (dot(p, p) / dim - T)


@scheme(thermostat, order=1)
def energy_of_position(theta, p, xi, *, h, grad, noise, dim, D, T):
    """The energy of theta drives the thermostat."""
    p = p - h * xi * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p, xi + h * (dot(theta, theta) / dim - T)


BUGS = (
    Bug(energy_times_dimension, EULER, "thermostat-dimension"),
    Bug(energy_against_twice_the_temperature, EULER, "thermostat-wrong"),
    Bug(noise_of_the_thermostat, EULER, "diffusion-scaled"),
    Bug(friction_of_both, EULER, "friction-wrong"),
    Bug(feedback_by_square_of_step, EULER, "thermostat-wrong"),
    Bug(energy_of_position, EULER, "thermostat-wrong"),
)
