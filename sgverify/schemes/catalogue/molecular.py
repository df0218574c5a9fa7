"""The splitting of molecular dynamics (Leimkuhler and Matthews 2013): drift A, kick B, Ornstein-Uhlenbeck O."""

from sgverify.schemes.catalogue.chen import drift
from sgverify.schemes.definition.mathematics import exp, expm1, sqrt
from sgverify.schemes.dynamics import kinetic
from sgverify.schemes.splittings import Alphabet

SOURCE = "Leimkuhler and Matthews 2013, Applied Mathematics Research eXpress"


def kick(theta, p, *, t, grad):
    """B: dp = -grad U dt."""
    return theta, p - t * grad(theta)


def ornstein_uhlenbeck(theta, p, *, t, noise, D, T):
    """O: dp = -D p dt + sqrt(2DT) dW, solved exactly."""
    return theta, exp(-D * t) * p + sqrt(-T * expm1(-2 * D * t)) * noise()


ALPHABET = Alphabet("molecular", kinetic, A=drift, B=kick, O=ornstein_uhlenbeck)

SCHEMES = tuple(
    ALPHABET.word(text, order=2).named(
        f"sghmc-{text.lower()}", summary=f"Langevin splitting {text} of molecular dynamics.", source=SOURCE
    )
    for text in ("BAOAB", "OBABO", "OABAO")
)
