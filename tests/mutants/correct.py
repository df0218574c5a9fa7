"""Correct schemes that the catalogue of schemes has no place for, in which bugs are planted.

They are there because a published sampler has their form: a gradient that is kept from step to step, and noise that is
not normal.
"""

from sgverify.schemes.definition.mathematics import exp, expm1, sqrt
from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.scheme import scheme


def first_gradient(theta, p, *, grad):
    """The gradient that the first step begins with."""
    return grad(theta)


@scheme(kinetic, order=2, memory={"g": first_gradient})
def aboba_in_memory(theta, p, g, *, h, grad, noise, D, T):
    """ABOBA that keeps its gradient in memory and renews it before the kick."""
    theta = theta + h / 2 * p
    g = grad(theta)
    p = exp(-D * h / 2) * (exp(-D * h / 2) * p - h * g + sqrt(2 * D * T * h) * noise())
    return theta + h / 2 * p, p, g


@scheme(kinetic, order=2, memory={"g": first_gradient})
def baoab_in_memory(theta, p, g, *, h, grad, noise, D, T):
    """BAOAB with one gradient a step: that of the end is kept for the next step's first kick."""
    p = p - h / 2 * g
    theta = theta + h / 2 * p
    p = exp(-D * h) * p + sqrt(-T * expm1(-2 * D * h)) * noise()
    theta = theta + h / 2 * p
    g = grad(theta)
    return theta, p - h / 2 * g, g


@scheme(langevin, order=1)
def sgld_three_point(theta, *, h, grad, noise, T):
    """SGLD with noise of three points, as a weak integrator may have."""
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise.three_point()


@scheme(langevin, order=2)
def heun(theta, *, h, grad, noise, T):
    """The stochastic trapezoidal rule: a second-order method where the noise is additive."""
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad(guess)) + kick


@scheme(langevin, order=1)
def tamed(theta, *, h, grad, noise, T):
    """The coordinate-wise tamed Euler scheme: h g/(1 + h |g|) stays bounded where the gradient does not."""
    g = grad(theta)
    return theta - h * g / (1 + h * sqrt(g * g)) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=2)
def taylor_step(theta, *, h, grad, noise, T):
    """A Taylor step of weak order 2: one gradient at half of two draws, the drift's curvature by the Hessian."""
    size, one, two = sqrt(2 * T * h), noise(), noise()
    gradient = grad(theta + size / 2 * (one + two)) - h / 2 * grad.hessian(theta, grad(theta))
    return theta - h * gradient + size * one


@scheme(langevin, order=1)
def prior_then_likelihood(theta, *, h, grad, noise, T):
    """A step by the prior's gradient, then one by the likelihood's with the noise."""
    theta = theta - h * grad.prior(theta)
    return theta - h * grad.likelihood(theta) + sqrt(2 * T * h) * noise()
