"""Schemes of other diffusions with the same invariant law: masses, time scales, auxiliary momenta."""

from fractions import Fraction

from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.definition.mathematics import dot, exp, expm1, sqrt
from sgverify.schemes.dynamics import dynamics
from sgverify.schemes.scheme import scheme
from sgverify.schemes.splittings import Alphabet

_MASS = 3


def _with_mass(theta, p, *, U, T):
    return -(U(theta) + dot(p, p) / (2 * _MASS)) / T


@dynamics(theta=VECTOR, p=VECTOR, density=_with_mass)
def _massive(theta, p, *, grad, D, T):
    return (p / _MASS, -grad(theta) - D * p / _MASS), (0, D * T)


@scheme(_massive, order=1)
def massive_euler(theta, p, *, h, grad, noise, D, T):
    """SGHMC with a mass, the momentum first; Chen, Fox and Guestrin 2014, section 3.3 with M = 3."""
    p = p - h * grad(theta) - h * D * p / _MASS + sqrt(2 * D * T * h) * noise()
    return theta + h * p / _MASS, p


def _drift(theta, p, *, t):
    return theta + t * p / _MASS, p


def _kick(theta, p, *, t, grad):
    return theta, p - t * grad(theta)


def _rub(theta, p, *, t, noise, D, T):
    rate = Fraction(1, _MASS)
    return theta, exp(-D * t * rate) * p + sqrt(-_MASS * T * expm1(-2 * D * t * rate)) * noise()


_MASSIVE = Alphabet("massive", _massive, A=_drift, B=_kick, O=_rub)

massive_baoab = _MASSIVE.word("BAOAB", order=2).named(
    "massive_baoab", summary="BAOAB with the mass 3; Leimkuhler and Matthews 2013."
)
massive_obabo = _MASSIVE.word("OBABO", order=2).named(
    "massive_obabo", summary="OBABO with the mass 3; Bussi and Parrinello 2007."
)

_SCALE = Fraction(1, 4)


@dynamics(theta=VECTOR)
def _scaled(theta, *, grad, T):
    return -_SCALE * grad(theta), _SCALE * T


@scheme(_scaled, order=1)
def preconditioned_euler(theta, *, h, grad, noise, T):
    """SGLD with a constant preconditioner, here 1/4; Girolami and Calderhead 2011, section 5."""
    return theta - h * _SCALE * grad(theta) + sqrt(2 * _SCALE * T * h) * noise()


@scheme(_scaled, order=2)
def preconditioned_heun(theta, *, h, grad, noise, T):
    """Heun with a constant preconditioner, here 1/4; Li, Wu, Mackey and Erdogdu 2019."""
    kick = sqrt(2 * _SCALE * T * h) * noise()
    g = grad(theta)
    return theta - h * _SCALE / 2 * (g + grad(theta - h * _SCALE * g + kick)) + kick


@dynamics(theta=VECTOR, p=VECTOR)
def _both_noisy(theta, p, *, grad, D, T):
    return (p - grad(theta), -grad(theta) - D * p), (T, D * T)


@scheme(_both_noisy, order=1)
def hessian_free_high_resolution(theta, p, *, h, grad, noise, D, T):
    """Noise in position and momentum, Euler; Li, Zha and Tao 2022, HFHR dynamics with alpha = 1."""
    g = grad(theta)
    later = theta + h * (p - g) + sqrt(2 * T * h) * noise()
    return later, p - h * g - h * D * p + sqrt(2 * D * T * h) * noise()


def _with_two(theta, p, r, *, U, T):
    return -(U(theta) + dot(p, p) / 2 + dot(r, r) / 2) / T


_COUPLING = 2


@dynamics(theta=VECTOR, p=VECTOR, r=VECTOR, density=_with_two)
def _third_order(theta, p, r, *, grad, D, T):
    return (p, -grad(theta) + _COUPLING * r, -_COUPLING * p - D * r), (0, 0, D * T)


@scheme(_third_order, order=1)
def third_order_euler(theta, p, r, *, h, grad, noise, D, T):
    """Third-order Langevin dynamics, Euler; Mou, Ma, Wainwright, Bartlett and Jordan 2021."""
    later = r - h * _COUPLING * p - h * D * r + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p - h * grad(theta) + h * _COUPLING * r, later


def _move(theta, p, r, *, t):
    return theta + t * p, p, r


def _force(theta, p, r, *, t, grad):
    return theta, p - t * grad(theta), r


def _pull(theta, p, r, *, t):
    return theta, p + t * _COUPLING * r, r


def _pushed_back(theta, p, r, *, t):
    return theta, p, r - t * _COUPLING * p


def _bath(theta, p, r, *, t, noise, D, T):
    return theta, p, exp(-D * t) * r + sqrt(-T * expm1(-2 * D * t)) * noise()


_LETTERS = Alphabet("one auxiliary", _third_order, A=_move, B=_force, C=_pull, E=_pushed_back, O=_bath)

generalised_langevin_symmetric = _LETTERS.word("BACEOECAB", order=2).named(
    "generalised_langevin_symmetric",
    summary="Generalised Langevin with one auxiliary momentum, symmetric splitting; Leimkuhler and Sachs 2022.",
)
generalised_langevin_lie = _LETTERS.word("BACEO", order=1).named(
    "generalised_langevin_lie",
    summary="Generalised Langevin with one auxiliary momentum, Lie splitting; Ceriotti, Bussi and Parrinello 2010.",
)
third_order_symmetric = _LETTERS.word("OECBABCEO", order=2).named(
    "third_order_symmetric",
    summary="Third-order Langevin, splitting about the drift; Monmarche 2023, high-order Langevin.",
)
