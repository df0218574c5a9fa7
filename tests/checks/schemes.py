"""Schemes with a planted bug, and some that no exact engine reaches."""

from __future__ import annotations

from sgverify import Alphabet, dot, exp, scheme, sqrt
from sgverify.schemes import kinetic, langevin, thermostat
from sgverify.schemes.catalogue.chen import drift, friction


def weak_kick(theta, p, *, t, grad, noise, D, T):
    return theta, p - t * grad(theta) + sqrt(D * T * t) * noise()


WEAK = Alphabet("wrong", kinetic, A=drift, B=friction, O=weak_kick).word("ABOBA", order=2)


@scheme(thermostat, order=1)
def nose(theta, p, xi, *, h, grad, noise, dim, D, T):
    p = exp(-h * xi) * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p, xi + h * (dot(p, p) / dim - T)


@scheme(langevin, order=1)
def multiplicative(theta, *, h, grad, noise, T):
    return theta * exp(-h * theta) - h * grad(theta) + h * theta * theta + sqrt(2 * T * h) * noise()


@scheme(langevin)
def unreadable(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) / (1 + theta * theta) + sqrt(2 * T * h) * noise()


@scheme(langevin)
def forgot(theta, *, h, grad, noise, T):
    return theta - grad(theta) / 10000 + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def two_noises(theta, *, h, grad, noise, T):
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad.fresh()(guess)) + kick


@scheme(kinetic)
def frictionless(theta, p, *, h, grad, noise, D, T):
    p = p - h * grad(theta) + 0 * noise()
    return theta + h * p, p


@scheme(langevin)
def uphill(theta, *, h, grad, noise, T):
    return theta + h * grad(theta) + sqrt(2 * T * h) * noise()
