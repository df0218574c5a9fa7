"""The splitting of SGHMC in a metric G(theta), chen2015 equation (49) of appendix J, in two forms.

(49) has the letters, with the momentum p of the Hamiltonian U + p.G^-1 p/2 + (T/2) log det G,

    A: dp = -D G^-1 p dt,    B: dp = -(grad U + (T/2) grad log det G) dt + sqrt(2DT) dW,    O: d theta = G^-1 p dt, dp = nu dt.

The paper does not say what nu is. The density exp(-H/T) is invariant for nu = -grad_theta p.G^-1 p/2, with which O is a geodesic
flow, and that has no closed form for a general metric.

In the metric of the simplex, G^-1 = diag(theta), it has one: the geodesics are parabolas, sqrt(theta) moves evenly, and every
letter of `SIMPLEX` is the exact flow of its part.

In a general metric, G^-1 = B B^T, the letters of `ALPHABET` are those of the momentum B^T p in the place of p, whose law is
N(0, T I) wherever theta is: neither log det G nor nu is left, and T div B^T takes their place. Its friction is D itself, so that it
is solved exactly. Its drift d theta = B(theta) p dt is no exact flow but a midpoint step; it errs at t^3, so that symmetric words
keep order 2.
"""

from sgverify.schemes.definition.mathematics import exp, sqrt
from sgverify.schemes.dynamics import kinetic_in_metric, kinetic_on_simplex
from sgverify.schemes.splittings import Alphabet

SOURCE = "chen2015 equation (49), appendix J"


def simplex_friction(theta, p, *, t, D):
    """A: dp = -D theta p dt."""
    return theta, exp(-D * t * theta) * p


def simplex_kick(theta, p, *, t, grad, noise, D, T):
    """B: dp = (T/(2 theta) - grad U) dt + sqrt(2DT) dW; -(1/2) grad log det G = 1/(2 theta)."""
    return theta, p + t * (T / (2 * theta) - grad(theta)) + sqrt(2 * D * T * t) * noise()


def simplex_geodesic(theta, p, *, t):
    """O: d theta = theta p dt, dp = -p^2/2 dt; theta p^2 and the speed of sqrt(theta) are kept."""
    growth = 1 + t / 2 * p
    return theta * growth * growth, p / growth


SIMPLEX = Alphabet(
    "chen2015-simplex", kinetic_on_simplex, A=simplex_friction, B=simplex_kick, O=simplex_geodesic
)


def drift(theta, p, *, t, metric):
    """A: d theta = B(theta) p dt, by the midpoint rule."""
    middle = theta + t / 2 * metric.root(theta, p)
    return theta + t * metric.root(middle, p), p


def friction(theta, p, *, t, D):
    """B: dp = -D p dt."""
    return theta, exp(-D * t) * p


def noisy_kick(theta, p, *, t, grad, noise, metric, D, T):
    """O: dp = (T div B^T - B^T grad U) dt + sqrt(2DT) dW."""
    force = T * metric.root_divergence(theta) - metric.transposed(theta, grad(theta))
    return theta, p + t * force + sqrt(2 * D * T * t) * noise()


ALPHABET = Alphabet("chen2015-metric", kinetic_in_metric, A=drift, B=friction, O=noisy_kick)

SCHEMES = (
    ALPHABET.word("ABOBA", order=2).named(
        "sgrhmc-aboba",
        summary="SGHMC in a metric, symmetric splitting ABOBA, its drift by the midpoint rule.",
        source=SOURCE,
    ),
)

SIMPLEX_SCHEMES = (
    SIMPLEX.word("BAOAB", order=2).named(
        "sgrhmc-simplex-baoab",
        summary="SGHMC in the metric of the simplex, splitting BAOAB in the letters of equation (49).",
        source=SOURCE,
    ),
)
