"""SGHMC in the momentum form of deep learning: equation (46) in the appendix of Deng, Lin, Liang 2022.

    x <- x + gamma,   gamma <- (1 - alpha) gamma - eps g(x) + N(0, 2 eps (alpha - beta)),   beta = eps B/2

with the gradient at the new x. The convention map to chen2015: eps = h^2, gamma = h p, alpha = h D, and B the variance of
the gradient noise that is taken off. At B = 0 it is Algorithm 2 begun at its other half: from (theta, p) it takes the
path (theta_(k+1), p_k) of that algorithm from (theta + h p, p).
"""

from fractions import Fraction

from sgverify.schemes.definition.mathematics import sqrt
from sgverify.schemes.dynamics import kinetic
from sgverify.schemes.scheme import Scheme, scheme

SOURCE = "deng2022 appendix, equation (46); Saatci and Wilson 2017"

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
    return momentum.named(name, summary=summary, source=SOURCE)


SCHEMES = (momentum_form(Fraction(0)), momentum_form(PRINTED))
