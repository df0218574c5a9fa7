"""Preconditioned SGLD: Langevin steps scaled by the running mean square of the gradients, as RMSprop scales descent.

Li et al. correct the drift by Gamma_i = sum_j d_j G_ij, and drop it in practice as everybody does; it holds second
derivatives of U, which no definition is given, so that it is the scheme without Gamma that stands here. As h goes to 0
the memory follows theta, and the law that is left has the density exp(-U/T)/det G, not exp(-U/T): no order is stated.
"""

from fractions import Fraction

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.mathematics import sqrt
from sgverify.schemes.dynamics import langevin
from sgverify.schemes.numbers.text import read_decimal
from sgverify.schemes.scheme import Scheme, scheme

SOURCE = "Li, Chen, Carlson, Carin 2016, AAAI, Algorithm 1 without Gamma"
PREFIX = "psgld"
DECAY, FLOOR = Fraction(99, 100), Fraction(1, 100_000)


def preconditioned(decay: Fraction, floor: Fraction) -> Scheme:
    """V <- decay V + (1 - decay) g^2, entry by entry from V = 0, and a step in G = 1/(floor + sqrt(V)).

    At decay = 1 the memory stays at 0, and the step is that of Langevin dynamics at the step size h/floor.
    Raises `DefinitionError` unless 0 <= decay <= 1 and floor > 0.
    """
    if not (0 <= decay <= 1 and floor > 0):
        raise DefinitionError(
            f"{PREFIX}-{float(decay)}-{float(floor)}: expected a decay from 0 to 1 and a floor above 0, as in psgld-0.999-0.1"
        )

    @scheme(langevin, memory={"V": lambda theta: 0 * theta})
    def psgld(theta, V, *, h, grad, noise, T):
        g = grad(theta)
        V = decay * V + (1 - decay) * g * g
        G = 1 / (floor + sqrt(V))
        return theta - h * G * g + sqrt(2 * T * h * G) * noise(), V

    numbers = (decay, floor) != (DECAY, FLOOR)
    name = f"{PREFIX}-{float(decay)}-{float(floor)}" if numbers else PREFIX
    summary = f"Preconditioned SGLD without Gamma: RMSprop's mean square of decay {float(decay)}, floor {float(floor)}."
    return psgld.named(name, summary=summary, source=SOURCE)


def read_preconditioned(text: str) -> Scheme:
    """The scheme of a name's last part, DECAY-FLOOR. Raises `DefinitionError` where these are no two numbers."""
    decay, _, floor = text.partition("-")
    try:
        return preconditioned(read_decimal(decay), read_decimal(floor))
    except (ValueError, ZeroDivisionError):
        raise DefinitionError(
            f"scheme={PREFIX}-{text}: expected the decay of the mean square and the floor of its root, as in psgld-0.999-0.1"
        ) from None


SCHEMES = (
    preconditioned(DECAY, FLOOR),
    preconditioned(Fraction(999, 1000), Fraction(1, 10)).named(
        "psgld-0.999-0.1",
        summary="Preconditioned SGLD without Gamma, with the decay 0.999 and the floor 0.1 of awsgld.",
        source="awsgld appendix 1.2; Li, Chen, Carlson, Carin 2016",
    ),
)
