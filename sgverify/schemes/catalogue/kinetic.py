"""Splittings of kinetic Langevin dynamics.

`CHEN`, of Chen, Ding, Carin 2015, equation (9): drift A, friction B, noisy kick O. `MOLECULAR`, of molecular dynamics (Leimkuhler
and Matthews 2013): drift A, kick B and Ornstein-Uhlenbeck O. `UBU`: everything but the gradient is one letter, solved exactly,
between whose halves the momentum is kicked.

Of high order: the exact O leaves the density invariant, and so does the flow of Newton's equations: a symplectic method of order p
for the one, followed by the other, leaves it invariant to order p, though the split itself has order 1 at finite times.
"""

from sgverify.schemes.definition.mathematics import exp, expm1, sqrt
from sgverify.schemes.dynamics import kinetic
from sgverify.schemes.splittings import Alphabet

CHEN_SOURCE = "chen2015 equation (9)"


def drift(theta, p, *, t):
    """A: d theta = p dt."""
    return theta + t * p, p


def friction(theta, p, *, t, D):
    """B: dp = -D p dt."""
    return theta, exp(-D * t) * p


def noisy_kick(theta, p, *, t, grad, noise, D, T):
    """O: dp = -grad U dt + sqrt(2DT) dW."""
    return theta, p - t * grad(theta) + sqrt(2 * D * T * t) * noise()


CHEN = Alphabet("chen2015", kinetic, A=drift, B=friction, O=noisy_kick)

CHEN_SCHEMES = (
    CHEN.word("ABOBA", order=2).named(
        "sghmc-aboba", summary="SGHMC, symmetric splitting ABOBA of chen2015 section 4.", source=CHEN_SOURCE
    ),
)

MOLECULAR_SOURCE = "Leimkuhler and Matthews 2013, Applied Mathematics Research eXpress"


def kick(theta, p, *, t, grad):
    """B: dp = -grad U dt."""
    return theta, p - t * grad(theta)


def ornstein_uhlenbeck(theta, p, *, t, noise, D, T):
    """O: dp = -D p dt + sqrt(2DT) dW, solved exactly."""
    return theta, exp(-D * t) * p + sqrt(-T * expm1(-2 * D * t)) * noise()


MOLECULAR = Alphabet("molecular", kinetic, A=drift, B=kick, O=ornstein_uhlenbeck)

MOLECULAR_SCHEMES = tuple(
    MOLECULAR.word(text, order=2).named(
        f"sghmc-{text.lower()}",
        summary=f"Langevin splitting {text} of molecular dynamics.",
        source=MOLECULAR_SOURCE,
    )
    for text in ("BAOAB", "OBABO", "OABAO")
)

GEOMETRIC_SOURCE = (
    "Bou-Rabee and Owhadi 2010, SIAM Journal on Numerical Analysis 48, the geometric Langevin algorithm; "
)

GEOMETRIC_SCHEMES = tuple(
    MOLECULAR.word(text, order={"weak-finite-time": 1, "invariant": order}, coefficients=shares).named(
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

UBU_SOURCE = "Sanz-Serna and Zygalakis 2021, Journal of Machine Learning Research 22"


def free_flow(theta, p, *, t, noise, D, T):
    """U: d theta = p dt, dp = -D p dt + sqrt(2DT) dW, solved exactly; theta and p move on one Brownian path.

    With a = 1 - exp(-D t) the noise of p has variance T a (2 - a), its covariance with that of theta is T a^2/D, and
    theta has a part of its own, of variance 2T (D t - 2a/(2 - a))/D^2 = D T t^3/6 + O(t^4). That difference loses
    12/(D t)^2 roundings: in float64 its root is good to 1e-11 at D t = 0.01, and may not be real below D t = 1e-7.
    """
    a = -expm1(-D * t)
    pushed = sqrt(T * a * (2 - a)) * noise()
    own = sqrt(2 * T * (D * t - 2 * a / (2 - a))) / D * noise()
    return theta + a / D * p + a / (2 - a) / D * pushed + own, (1 - a) * p + pushed


UBU = Alphabet("ubu", kinetic, U=free_flow, B=kick)

UBU_SCHEMES = (
    UBU.word("UBU", order=2).named(
        "sghmc-ubu",
        summary="Langevin splitting UBU: exact free flow, kick, exact free flow.",
        source=UBU_SOURCE,
    ),
)
