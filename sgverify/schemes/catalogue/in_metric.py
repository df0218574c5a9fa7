"""Schemes of dynamics in a metric: steps, splittings, preconditioned steps, and steps on theta > 0."""

from fractions import Fraction

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.mathematics import exp, magnitude, sqrt
from sgverify.schemes.dynamics import (
    expanded_mean,
    kinetic_in_metric,
    kinetic_on_simplex,
    langevin,
    riemannian_kinetic,
    riemannian_langevin,
)
from sgverify.schemes.numbers.text import read_decimal
from sgverify.schemes.scheme import Scheme, scheme
from sgverify.schemes.splittings import Alphabet

# Schemes in a metric G(theta), G^-1 = B B^T: noise and friction that follow the geometry of the posterior.
#
# Both are drifts of the complete recipe (Ma, Chen, Fox 2015): without the divergence terms, which the first published
# samplers lack or approximate, they leave another density invariant.


@scheme(riemannian_langevin, order=1)
def sgrld_euler(theta, *, h, grad, noise, metric, T):
    """Stochastic gradient Riemannian Langevin dynamics, Euler."""
    force = T * metric.divergence(theta) - metric.inverse(theta, grad(theta))
    return theta + h * force + sqrt(2 * T * h) * metric.root(theta, noise())


@scheme(riemannian_kinetic, order=1)
def sgrhmc_euler(theta, p, *, h, grad, noise, metric, D, T):
    """Stochastic gradient Riemannian HMC, Euler: the momentum first, the position with the new momentum."""
    force = T * metric.root_divergence(theta) - metric.transposed(theta, grad(theta))
    p = p + h * force - h * D * metric.inverse(theta, p) + sqrt(2 * D * T * h) * metric.root(theta, noise())
    return theta + h * metric.root(theta, p), p


RIEMANNIAN_SCHEMES = (
    sgrld_euler.named("sgrld-euler", source="Patterson and Teh 2013; Ma, Chen, Fox 2015, section 4"),
    sgrhmc_euler.named("sgrhmc-euler", source="Ma, Chen, Fox 2015, Algorithm 1"),
)


# The splitting of SGHMC in a metric G(theta), chen2015 equation (49) of appendix J, in two forms.
#
# (49) has the letters, with the momentum p of the Hamiltonian U + p.G^-1 p/2 + (T/2) log det G,
#
#     A: dp = -D G^-1 p dt,    B: dp = -(grad U + (T/2) grad log det G) dt + sqrt(2DT) dW,    O: d theta = G^-1 p dt, dp = nu dt.
#
# The paper does not say what nu is. The density exp(-H/T) is invariant for nu = -grad_theta p.G^-1 p/2, with which O is a geodesic
# flow, and that has no closed form for a general metric.
#
# In the metric of the simplex, G^-1 = diag(theta), it has one: the geodesics are parabolas, sqrt(theta) moves evenly, and every
# letter of `SIMPLEX` is the exact flow of its part.
#
# In a general metric, G^-1 = B B^T, the letters of `ALPHABET` are those of the momentum B^T p in the place of p, whose law is
# N(0, T I) wherever theta is: neither log det G nor nu is left, and T div B^T takes their place. Its friction is D itself, so that
# it is solved exactly. Its drift d theta = B(theta) p dt is no exact flow but a midpoint step; it errs at t^3, so that symmetric
# words keep order 2.


RIEMANNIAN_SPLITTING_SOURCE = "chen2015 equation (49), appendix J"


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

RIEMANNIAN_SPLITTING_SCHEMES = (
    ALPHABET.word("ABOBA", order=2).named(
        "sgrhmc-aboba",
        summary="SGHMC in a metric, symmetric splitting ABOBA, its drift by the midpoint rule.",
        source=RIEMANNIAN_SPLITTING_SOURCE,
    ),
)

SIMPLEX_SCHEMES = (
    SIMPLEX.word("BAOAB", order=2).named(
        "sgrhmc-simplex-baoab",
        summary="SGHMC in the metric of the simplex, splitting BAOAB in the letters of equation (49).",
        source=RIEMANNIAN_SPLITTING_SOURCE,
    ),
)


# Preconditioned SGLD: Langevin steps scaled by the running mean square of the gradients, as RMSprop scales descent.
#
# Li et al. correct the drift by Gamma_i = sum_j d_j G_ij, and drop it in practice as everybody does; it holds second
# derivatives of U, which no definition is given, so that it is the scheme without Gamma that stands here. As h goes to 0
# the memory follows theta, and the law that is left has the density exp(-U/T)/det G, not exp(-U/T): no order is stated.


PRECONDITIONED_SOURCE = "Li, Chen, Carlson, Carin 2016, AAAI, Algorithm 1 without Gamma"
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
    return psgld.named(name, summary=summary, source=PRECONDITIONED_SOURCE)


def read_preconditioned(text: str) -> Scheme:
    """The scheme of a name's last part, DECAY-FLOOR. Raises `DefinitionError` where these are no two numbers."""
    decay, _, floor = text.partition("-")
    try:
        return preconditioned(read_decimal(decay), read_decimal(floor))
    except (ValueError, ZeroDivisionError):
        raise DefinitionError(
            f"scheme={PREFIX}-{text}: expected the decay of the mean square and the floor of its root, as in psgld-0.999-0.1"
        ) from None


PRECONDITIONED_SCHEMES = (
    preconditioned(DECAY, FLOOR),
    preconditioned(Fraction(999, 1000), Fraction(1, 10)).named(
        "psgld-0.999-0.1",
        summary="Preconditioned SGLD without Gamma, with the decay 0.999 and the floor 0.1 of awsgld.",
        source="awsgld appendix 1.2; Li, Chen, Carlson, Carin 2016",
    ),
)


# The expanded mean parametrisation of the simplex: w_k = theta_k / sum_j theta_j, each theta_k > 0 as of a gamma law.
#
# With counts n_k and independent theta_k ~ Gamma(alpha_k, 1) a priori, w ~ Dirichlet(alpha): the target `expanded-mean`, whose U is
# sum_k theta_k - (alpha_k + n_k - 1) log theta_k + n log sum_k theta_k, n = sum_k n_k. The metric is diag(theta)^-1, and a step
# that leaves theta > 0 is mirrored. At T = 1 the drift of a step is h (alpha_k + n_k - theta_k - n w_k), as published with epsilon
# = 2 h.
#
# The catalogue lists the scheme apart from those that run on every target: on all of R^d the square root of theta is none.
# Stationarity and the local order are proved as of theta > 0, and the running code is judged on a target that lives there.


EXPANDED_MEAN_SOURCE = "Patterson and Teh 2013, section 4"


@scheme(expanded_mean, order=1)
def sgrld_expanded_mean(theta, *, h, grad, noise, T):
    """Riemannian Langevin dynamics on theta > 0 in the metric diag(theta)^-1, Euler, mirrored at 0.

    The order is that of the step away from 0, where a step is mirrored with a chance that is small beyond all powers
    of h.
    """
    force = T - theta * grad(theta)
    return magnitude(theta + h * force + sqrt(2 * T * h * theta) * noise())


sgrld_expanded_mean = sgrld_expanded_mean.named("sgrld-expanded-mean", source=EXPANDED_MEAN_SOURCE)

EXPANDED_MEAN_SCHEMES = (sgrld_expanded_mean,)
