"""Schemes that the catalogue does not have: right ones, wrong ones, and some that no exact engine reaches."""

from __future__ import annotations

from sgverify import Alphabet, dot, exp, scheme, sqrt
from sgverify.schemes import kinetic, langevin, thermostat
from sgverify.schemes.catalogue.kinetic import drift, friction, noisy_kick

# --- Langevin, right


@scheme(langevin)
def heun(theta, *, h, grad, noise, T):
    """Two gradient evaluations on one minibatch."""
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad(guess)) + kick


@scheme(langevin)
def heun_of_two_minibatches(theta, *, h, grad, noise, T):
    """The second gradient on a minibatch of its own, at a point that the first one moved."""
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad.fresh()(guess)) + kick


@scheme(langevin)
def euler_of_two_minibatches(theta, *, h, grad, noise, T):
    return theta - h / 2 * (grad(theta) + grad.fresh()(theta)) + sqrt(2 * T * h) * noise()


@scheme(langevin)
def bent(theta, *, h, grad, noise, T):
    """The Hessian of the step's own minibatch, applied to the gradient of another one."""
    slope = grad.fresh()(theta)
    return theta - h * grad(theta) - h**2 * grad.hessian(theta, slope) + sqrt(2 * T * h) * noise()


@scheme(langevin)
def half_kicks(theta, *, h, grad, noise, T):
    """Two draws: half the noise before the drift, half behind it."""
    y = theta + sqrt(T * h) * noise()
    return y - h * grad(y) + sqrt(T * h) * noise()


@scheme(langevin)
def coins(theta, *, h, grad, noise, T):
    """Euler with coin tosses for noise."""
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise.two_point()


@scheme(langevin)
def bounded(theta, *, h, grad, noise, T):
    """Euler with bounded noise that has the normal moments through the fifth."""
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise.three_point()


@scheme(langevin)
def bounded_heun(theta, *, h, grad, noise, T):
    """Heun's scheme with that noise."""
    kick = sqrt(2 * T * h) * noise.three_point()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad(guess)) + kick


@scheme(langevin, order=1)
def noise_then_gradient(theta, *, h, grad, noise, T):
    """The gradient is taken where the noise has led to: at h = 1/P the draw is lost."""
    theta = theta + sqrt(2 * T * h) * noise()
    return theta - h * grad(theta)


# --- Langevin with a memory


@scheme(langevin, memory={"z": lambda theta, *, noise: noise()})
def leimkuhler_matthews(theta, z, *, h, grad, noise, T):
    """Half of each draw is kept for the next step: order 1 at finite times, order 2 in its law."""
    new = noise()
    return theta - h * grad(theta) + sqrt(2 * T * h) * (z + new) / 2, new


@scheme(langevin, memory={"z": lambda theta, *, h, T, noise: sqrt(2 * T * h) * noise()})
def kept_increment(theta, z, *, h, grad, noise, T):
    """The same, with the draw kept as it enters."""
    new = sqrt(2 * T * h) * noise()
    return theta - h * grad(theta) + (new + z) / 2, new


@scheme(langevin, memory={"g": lambda theta, *, grad: grad(theta)})
def adams(theta, g, *, h, grad, noise, T):
    """Two gradients of which one is the last step's."""
    now = grad(theta)
    return theta - h * (3 * now - g) / 2 + sqrt(2 * T * h) * noise(), now


# --- Langevin, wrong


@scheme(langevin)
def weak_noise(theta, *, h, grad, noise, T):
    """Half the variance that Langevin dynamics asks for: exp(-2U/T) is what it tends to."""
    return theta - h * grad(theta) + sqrt(T * h) * noise()


@scheme(langevin)
def planted_drift(theta, *, h, grad, noise, T):
    """Heun's scheme with a planted error of the second order: 0.51 for 1/2 and 0.49 for the other."""
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h * (0.51 * grad(theta) + 0.49 * grad(guess)) + kick


@scheme(langevin, order=1)
def multiplicative(theta, *, h, grad, noise, T):
    return theta * exp(-h * theta) - h * grad(theta) + h * theta * theta + sqrt(2 * T * h) * noise()


@scheme(langevin)
def unreadable(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) / (1 + theta + theta * theta) + sqrt(2 * T * h) * noise()


@scheme(langevin)
def forgot(theta, *, h, grad, noise, T):
    return theta - grad(theta) / 10000 + sqrt(2 * T * h) * noise()


@scheme(langevin)
def uphill(theta, *, h, grad, noise, T):
    return theta + h * grad(theta) + sqrt(2 * T * h) * noise()


# --- kinetic


def weak_kick(theta, p, *, t, grad, noise, D, T):
    """Half the variance of the noise."""
    return theta, p - t * grad(theta) + sqrt(D * T * t) * noise()


def half_friction(theta, p, *, t, D):
    return theta, exp(-D * t / 2) * p


WEAK = Alphabet("wrong", kinetic, A=drift, B=friction, O=weak_kick).word("ABOBA", order=2)
RUBBED = Alphabet("wrong", kinetic, A=drift, B=half_friction, O=noisy_kick).word("ABOBA")
"""ABOBA with half the friction: the law of twice the temperature."""


@scheme(kinetic)
def frictionless(theta, p, *, h, grad, noise, D, T):
    p = p - h * grad(theta) + 0 * noise()
    return theta + h * p, p


# --- thermostats


@scheme(thermostat, order=1)
def nose(theta, p, xi, *, h, grad, noise, dim, D, T):
    p = exp(-h * xi) * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p, xi + h * (dot(p, p) / dim - T)


def thermostat_drift(theta, p, xi, *, t, dim, T):
    return theta + t * p, p, xi + t * (dot(p, p) / dim - T)


def thermostat_drift_without_dim(theta, p, xi, *, t, T):
    return theta + t * p, p, xi + t * (dot(p, p) - T)


def thermostat_friction(theta, p, xi, *, t):
    return theta, exp(-t * xi) * p, xi


def thermostat_kick(theta, p, xi, *, t, grad, noise, D, T):
    return theta, p - t * grad(theta) + sqrt(2 * D * T * t) * noise(), xi


_LETTERS = {"B": thermostat_friction, "O": thermostat_kick}
THERMOSTAT = Alphabet("nose", thermostat, A=thermostat_drift, **_LETTERS)
WITHOUT_DIM = Alphabet("nodim", thermostat, A=thermostat_drift_without_dim, **_LETTERS)
