"""The stochastic gradient Nose-Hoover thermostat: Algorithm 3 of Chen, Ding, Carin 2015, and its splitting.

The invariant density is exp(-[U + p.p/2 + dim/2 (xi - D)^2]/T), so that xi ~ N(D, T/dim).
"""

from sgverify.schemes.definition.mathematics import dot, exp, sqrt
from sgverify.schemes.dynamics import thermostat
from sgverify.schemes.scheme import scheme
from sgverify.schemes.splittings import Alphabet

SOURCE = "chen2015 Algorithm 3 and equation (9); Ding et al. 2014"


@scheme(thermostat, order=1)
def sgnht_euler(theta, p, xi, *, h, grad, noise, dim, D, T):
    """SGNHT, Euler as in Algorithm 3: p, then theta and xi with the new p; at any temperature."""
    p = p - h * xi * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p, xi + h * (dot(p, p) / dim - T)


@scheme(thermostat, order=1)
def sgnht_euler_explicit(theta, p, xi, *, h, grad, noise, dim, D, T):
    """SGNHT, explicit Euler: theta and xi with the old p, as the library posteriors has it."""
    kicked = p - h * xi * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    return theta + h * p, kicked, xi + h * (dot(p, p) / dim - T)


def drift(theta, p, xi, *, t, dim, T):
    """A: d theta = p dt, d xi = (p.p/dim - T) dt."""
    return theta + t * p, p, xi + t * (dot(p, p) / dim - T)


def friction(theta, p, xi, *, t):
    """B: dp = -xi p dt."""
    return theta, exp(-xi * t) * p, xi


def noisy_kick(theta, p, xi, *, t, grad, noise, D, T):
    """O: dp = -grad U dt + sqrt(2DT) dW."""
    return theta, p - t * grad(theta) + sqrt(2 * D * T * t) * noise(), xi


ALPHABET = Alphabet("chen2015-thermostat", thermostat, A=drift, B=friction, O=noisy_kick)

SCHEMES = (
    sgnht_euler.named("sgnht-euler", source="chen2015 Algorithm 3"),
    sgnht_euler_explicit.named("sgnht-euler-explicit", source="posteriors, sgmcmc.sgnht"),
    ALPHABET.word("ABOBA", order=2).named(
        "sgnht-aboba", summary="SGNHT, symmetric splitting ABOBA of chen2015 section 4.", source=SOURCE
    ),
)
