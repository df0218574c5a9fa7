"""Splittings of drift A, kick B and Ornstein-Uhlenbeck O: of molecular dynamics (Leimkuhler and Matthews 2013), of high order.

The exact O leaves the density invariant, and so does the flow of Newton's equations: a symplectic method of order p for the one,
followed by the other, leaves it invariant to order p, though the split itself has order 1 at finite times.
"""

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

GEOMETRIC_SOURCE = (
    "Bou-Rabee and Owhadi 2010, SIAM Journal on Numerical Analysis 48, the geometric Langevin algorithm; "
)

GEOMETRIC_SCHEMES = tuple(
    ALPHABET.word(text, order={"weak-finite-time": 1, "invariant": order}, coefficients=shares).named(
        f"sghmc-gla{order}",
        summary=f"Geometric Langevin: a symplectic method of order {order}, then the Ornstein-Uhlenbeck flow.",
        source=GEOMETRIC_SOURCE + source,
    )
    for order, text, shares, source in (
        (3, "ABABABO", "7/24, 2/3, 3/4, -2/3, -1/24, 1, 1", "Ruth 1983"),
        (
            4,
            "ABABABAO",
            # c/2, c, (1-c)/2, 1-2c, (1-c)/2, c, c/2 with c = 1/(2-2^(1/3)), whose denominator is made rational.
            "(4+2*2^(1/3)+2^(2/3))/12, (4+2*2^(1/3)+2^(2/3))/6, (2-2*2^(1/3)-2^(2/3))/12, -(1+2*2^(1/3)+2^(2/3))/3, "
            "(2-2*2^(1/3)-2^(2/3))/12, (4+2*2^(1/3)+2^(2/3))/6, (4+2*2^(1/3)+2^(2/3))/12, 1",
            "Forest and Ruth 1990",
        ),
    )
)
"""Third and fourth order in the invariant law, for full gradients."""
