"""UBU: everything but the gradient is one letter, solved exactly, between whose halves the momentum is kicked."""

from sgverify.schemes.catalogue.molecular import kick
from sgverify.schemes.definition.mathematics import expm1, sqrt
from sgverify.schemes.dynamics import kinetic
from sgverify.schemes.splittings import Alphabet

SOURCE = "Sanz-Serna and Zygalakis 2021, Journal of Machine Learning Research 22"


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


ALPHABET = Alphabet("ubu", kinetic, U=free_flow, B=kick)

SCHEMES = (
    ALPHABET.word("UBU", order=2).named(
        "sghmc-ubu", summary="Langevin splitting UBU: exact free flow, kick, exact free flow.", source=SOURCE
    ),
)
