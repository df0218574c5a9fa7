"""The splitting of Chen, Ding, Carin 2015, equation (9): drift A, friction B, noisy kick O."""

from sgverify.schemes.definition.mathematics import exp, sqrt
from sgverify.schemes.dynamics import kinetic
from sgverify.schemes.splittings import Alphabet

SOURCE = "chen2015 equation (9)"


def drift(theta, p, *, t):
    """A: d theta = p dt."""
    return theta + t * p, p


def friction(theta, p, *, t, D):
    """B: dp = -D p dt."""
    return theta, exp(-D * t) * p


def noisy_kick(theta, p, *, t, grad, noise, D, T):
    """O: dp = -grad U dt + sqrt(2DT) dW."""
    return theta, p - t * grad(theta) + sqrt(2 * D * T * t) * noise()


ALPHABET = Alphabet("chen2015", kinetic, A=drift, B=friction, O=noisy_kick)

SCHEMES = (
    ALPHABET.word("ABOBA", order=2).named(
        "sghmc-aboba", summary="SGHMC, symmetric splitting ABOBA of chen2015 section 4.", source=SOURCE
    ),
)
