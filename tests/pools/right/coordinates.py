"""Diffusions and steps whose coordinates differ: skew drifts, frictions, masses and preconditioners of their own."""

from fractions import Fraction

from sgverify.schemes.definition.mathematics import dot, exp, expm1, sqrt
from sgverify.schemes.dynamics import dynamics
from sgverify.schemes.numbers.constants import constants, linear
from sgverify.schemes.scheme import scheme
from sgverify.schemes.splittings import Alphabet

_SKEW = ((0, 1), (-1, 0))


@dynamics(theta="vector")
def _irreversible(theta, *, grad, T):
    g = grad(theta)
    return -g - linear(_SKEW, g), T


@scheme(_irreversible, order=1)
def irreversible_euler(theta, *, h, grad, noise, T):
    """Irreversible Langevin, drift -(I + J) grad U, Euler; Hwang, Hwang-Ma and Sheu 1993; Futami, Sato, Sugiyama 2021."""
    g = grad(theta)
    return theta - h * (g + linear(_SKEW, g)) + sqrt(2 * T * h) * noise()


@scheme(_irreversible, order=2)
def irreversible_heun(theta, *, h, grad, noise, T):
    """Irreversible Langevin, Heun; Lelievre, Nier and Pavliotis 2013."""

    def drift(x):
        g = grad(x)
        return -g - linear(_SKEW, g)

    kick, first = sqrt(2 * T * h) * noise(), drift(theta)
    return theta + h / 2 * (first + drift(theta + h * first + kick)) + kick


@dynamics(theta="vector", p="vector")
def _rubbed(theta, p, *, grad, D, T):
    friction = D * constants((1, 2, 3), p)
    return (p, -grad(theta) - friction * p), (0, T * friction)


@scheme(_rubbed, order=1)
def friction_vector_euler(theta, p, *, h, grad, noise, D, T):
    """SGHMC with a friction of each coordinate's own; Chen, Fox and Guestrin 2014, equation (13)."""
    friction = D * constants((1, 2, 3), p)
    p = p - h * grad(theta) - h * friction * p + sqrt(2 * friction * T * h) * noise()
    return theta + h * p, p


def _drift(theta, p, *, t):
    return theta + t * p, p


def _kick(theta, p, *, t, grad):
    return theta, p - t * grad(theta)


def _rub(theta, p, *, t, noise, D, T):
    friction = D * constants((1, 2, 3), p)
    return theta, exp(-friction * t) * p + sqrt(-T * expm1(-2 * friction * t)) * noise()


_RUBBED = Alphabet("rubbed", _rubbed, A=_drift, B=_kick, O=_rub)

friction_vector_baoab = _RUBBED.word("BAOAB", order=2).named(
    "friction_vector_baoab",
    summary="BAOAB with a friction of each coordinate's own; Leimkuhler and Matthews 2015.",
)


@dynamics(theta="vector")
def _scaled(theta, *, grad, T):
    return -constants((1, Fraction(1, 4)), theta) * grad(theta), T * constants((1, Fraction(1, 4)), theta)


@scheme(_scaled, order=1)
def diagonal_preconditioner(theta, *, h, grad, noise, T):
    """SGLD with a constant diagonal preconditioner; Girolami and Calderhead 2011, section 5; Li et al. 2016."""
    scale = constants((1, Fraction(1, 4)), theta)
    return theta - h * scale * grad(theta) + sqrt(2 * T * h * scale) * noise()


_MASS_INVERSE = ((Fraction(1, 2), Fraction(-1, 2)), (Fraction(-1, 2), 1))


def _with_mass(theta, p, *, U, T):
    return -(U(theta) + dot(p, linear(_MASS_INVERSE, p)) / 2) / T


@dynamics(theta="vector", p="vector", density=_with_mass)
def _massive(theta, p, *, grad, D, T):
    velocity = linear(_MASS_INVERSE, p)
    return (velocity, -grad(theta) - D * velocity), (0, D * T)


@scheme(_massive, order=1)
def mass_matrix_euler(theta, p, *, h, grad, noise, D, T):
    """SGHMC with a mass matrix, the momentum first; Chen, Fox and Guestrin 2014, section 3.3."""
    p = p - h * grad(theta) - h * D * linear(_MASS_INVERSE, p) + sqrt(2 * D * T * h) * noise()
    return theta + h * linear(_MASS_INVERSE, p), p
