"""The noisy-gradient integrator of Matthews and Weare: gradient noise of known variance is damped away.

The definition cannot ask what the variance is, so the scheme's name says it: `sghmc-nogin-0.5`.
"""

from fractions import Fraction

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.mathematics import expm1, sqrt
from sgverify.schemes.dynamics import kinetic
from sgverify.schemes.numbers.text import read_decimal
from sgverify.schemes.scheme import Scheme, scheme

SOURCE = "Matthews and Weare 2018, arXiv 1805.08863, the NOGIN algorithm"
PREFIX = "sghmc-nogin"


def noisy_gradient(ratio: Fraction) -> Scheme:
    """The scheme for gradient noise g with E g g^T = ratio T I: second order in the invariant law where that is so.

    The noise of a step, xi = kick - h g/2, enters before and after the friction, and has the variance
    s T, s = tanh(D h/2) + ratio h^2/4. With (1 - s)/(1 + s) as the damping between, N(0, T) stays invariant for the
    momentum: ((1 - s)^2 + 4 s)/(1 + s)^2 = 1. At ratio = 0 it is the molecular ABOBA.
    Raises `DefinitionError` for a negative ratio.
    """
    if ratio < 0:
        raise DefinitionError(f"{PREFIX}-{ratio}: a variance is not negative; give E g_i^2 / T, such as 0.5")

    @scheme(kinetic, order=1 if ratio else 2)
    def nogin(theta, p, *, h, grad, noise, D, T):
        a = -expm1(-D * h)
        s = a / (2 - a)
        theta = theta + h / 2 * p
        pushed = sqrt(T * s) * noise() - h / 2 * grad(theta)
        s = s + ratio * h**2 / 4
        p = (1 - s) / (1 + s) * (p + pushed) + pushed
        return theta + h / 2 * p, p

    name = f"{PREFIX}-{_decimal(ratio)}" if ratio else PREFIX
    summary = (
        f"NOGIN for gradient noise of variance {_decimal(ratio)} T: drift, noisy kick about a damping, drift."
    )
    return nogin.named(name, summary=summary, source=SOURCE)


def read_noisy_gradient(text: str) -> Scheme:
    """The scheme of a name's last part, the ratio of variances as a decimal or a fraction.

    Raises `DefinitionError` where it is no number.
    """
    try:
        ratio = read_decimal(text)
    except (ValueError, ZeroDivisionError):
        raise DefinitionError(
            f"scheme={PREFIX}-{text}: expected E g_i^2 / T, the variance of the gradient noise over the temperature, as "
            f"in {PREFIX}-0.5 or {PREFIX}-1/3"
        ) from None
    return noisy_gradient(ratio)


def _decimal(ratio: Fraction) -> str:
    if ratio.denominator == 1:
        return str(ratio)
    return str(float(ratio)) if Fraction(str(float(ratio))) == ratio else str(ratio)


SCHEMES = (noisy_gradient(Fraction(0)),)
