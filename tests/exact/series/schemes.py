"""Schemes that the catalogue does not have, for the tests of the power-series reading."""

from __future__ import annotations

from sgverify import Alphabet, dot, exp, scheme, sqrt
from sgverify.schemes import langevin, thermostat


@scheme(langevin)
def heun(theta, *, h, grad, noise, T):
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad(guess)) + kick


@scheme(langevin)
def heun_of_two_minibatches(theta, *, h, grad, noise, T):
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad.fresh()(guess)) + kick


@scheme(langevin)
def euler_of_two_minibatches(theta, *, h, grad, noise, T):
    return theta - h / 2 * (grad(theta) + grad.fresh()(theta)) + sqrt(2 * T * h) * noise()


def drift(theta, p, xi, *, t, dim, T):
    return theta + t * p, p, xi + t * (dot(p, p) / dim - T)


def drift_without_dim(theta, p, xi, *, t, T):
    return theta + t * p, p, xi + t * (dot(p, p) - T)


def friction(theta, p, xi, *, t):
    return theta, exp(-t * xi) * p, xi


def kick(theta, p, xi, *, t, grad, noise, D, T):
    return theta, p - t * grad(theta) + sqrt(2 * D * T * t) * noise(), xi


THERMOSTAT = Alphabet("nose", thermostat, A=drift, B=friction, O=kick)
WITHOUT_DIM = Alphabet("nodim", thermostat, A=drift_without_dim, B=friction, O=kick)
