"""Steps of Langevin dynamics, overdamped and with momentum, written as one function."""

from fractions import Fraction

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.mathematics import expm1, sqrt
from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.numbers.text import read_decimal
from sgverify.schemes.scheme import Scheme, scheme

# The Euler schemes of Chen, Ding, Carin 2015: Algorithm 1, Algorithm 2 and Appendix I.1.


@scheme(langevin, order=1)
def sgld_euler(theta, *, h, grad, noise, T):
    """Stochastic gradient Langevin dynamics, Euler."""
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise()


@scheme(kinetic, order=1)
def sghmc_euler(theta, p, *, h, grad, noise, D, T):
    """SGHMC, Euler as in Algorithm 2: the momentum first, the position with the new momentum."""
    p = p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p


@scheme(kinetic, order=1)
def sghmc_euler_explicit(theta, p, *, h, grad, noise, D, T):
    """SGHMC, explicit Euler as in Appendix I.1: the position with the old momentum."""
    return theta + h * p, p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()


EULER_SCHEMES = (
    sgld_euler.named("sgld-euler", source="chen2015 Algorithm 1; Welling and Teh 2011"),
    sghmc_euler.named("sghmc-euler", source="chen2015 Algorithm 2"),
    sghmc_euler_explicit.named("sghmc-euler-explicit", source="chen2015 Appendix I.1"),
)


# SGHMC in the momentum form of deep learning: equation (46) in the appendix of Deng, Lin, Liang 2022.
#
#     x <- x + gamma,   gamma <- (1 - alpha) gamma - eps g(x) + N(0, 2 eps (alpha - beta)),   beta = eps B/2
#
# with the gradient at the new x. The convention map to chen2015: eps = h^2, gamma = h p, alpha = h D, and B the variance of
# the gradient noise that is taken off. At B = 0 it is Algorithm 2 begun at its other half: from (theta, p) it takes the
# path (theta_(k+1), p_k) of that algorithm from (theta + h p, p).


MOMENTUM_SOURCE = "deng2022 appendix, equation (46); Saatci and Wilson 2017"

PRINTED = Fraction(1, 1000)
"""The estimate of B of the paper's experiments."""


def momentum_form(estimate: Fraction) -> Scheme:
    """(46) with B = `estimate` for every coordinate; the noise is that of temperature T, 2 eps (alpha T - beta)."""

    @scheme(kinetic, order=1)
    def momentum(theta, p, *, h, grad, noise, D, T):
        eps, alpha, gamma = h**2, h * D, h * p
        theta = theta + gamma
        share = alpha * T - eps * estimate / 2 if estimate else alpha * T
        gamma = (1 - alpha) * gamma - eps * grad(theta) + sqrt(2 * eps * share) * noise()
        return theta, gamma / h

    name = f"sghmc-momentum-{float(estimate)}" if estimate else "sghmc-momentum"
    taken = f"; {float(estimate)} is taken off for the gradient noise" if estimate else ""
    summary = f"SGHMC with learning rate h^2 and momentum decay 1 - h D: the position first{taken}."
    return momentum.named(name, summary=summary, source=MOMENTUM_SOURCE)


MOMENTUM_SCHEMES = (momentum_form(Fraction(0)), momentum_form(PRINTED))


# The noisy-gradient integrator of Matthews and Weare: gradient noise of known variance is damped away.
#
# The definition cannot ask what the variance is, so the scheme's name says it: `sghmc-nogin-0.5`.


NOISY_GRADIENT_SOURCE = "Matthews and Weare 2018, arXiv 1805.08863, the NOGIN algorithm"
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
    return nogin.named(name, summary=summary, source=NOISY_GRADIENT_SOURCE)


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


NOISY_GRADIENT_SCHEMES = (noisy_gradient(Fraction(0)),)
