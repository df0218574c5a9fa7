"""Steps that keep something from one to the next: noise, gradients, running means."""

from sgverify.schemes.definition.mathematics import sqrt
from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.scheme import scheme


def _first_gradient(theta, *, grad):
    return grad(theta)


def _first_kinetic_gradient(theta, p, *, grad):
    return grad(theta)


@scheme(langevin, order=1, memory={"g": _first_gradient})
def euler_kept_gradient(theta, g, *, h, grad, noise, T):
    """Euler on a gradient that was taken at the end of the last step; Robert and Casella 2004, section 7.8.5."""
    theta = theta - h * g + sqrt(2 * T * h) * noise()
    return theta, grad(theta)


@scheme(kinetic, order=2, memory={"g": _first_kinetic_gradient})
def velocity_verlet_kept_gradient(theta, p, g, *, h, grad, noise, D, T):
    """Velocity Verlet about an implicit friction, one gradient a step; Swope, Andersen, Berens and Wilson 1982."""
    draw = sqrt(2 * D * T * h) * noise()
    p = p - h / 2 * g
    theta = theta + h / 2 * p
    p = ((1 - h * D / 2) * p + draw) / (1 + h * D / 2)
    theta = theta + h / 2 * p
    g = grad(theta)
    return theta, p - h / 2 * g, g


def _first_draw(theta, *, noise):
    return noise()


@scheme(langevin, order={"weak-finite-time": 1, "invariant": 2}, memory={"z": _first_draw})
def leimkuhler_matthews(theta, z, *, h, grad, noise, T):
    """Half of each draw now, half in the next step: order 2 in the invariant law; Leimkuhler and Matthews 2013."""
    new = noise()
    return theta - h * grad(theta) + sqrt(2 * T * h) * (z + new) / 2, new
