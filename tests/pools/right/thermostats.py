"""Nose-Hoover thermostats with noise on the momentum: the friction finds the strength of the gradient noise."""

from sgverify.schemes.catalogue import thermostat as catalogue
from sgverify.schemes.definition.mathematics import dot, exp, sqrt
from sgverify.schemes.dynamics import dynamics, thermostat
from sgverify.schemes.scheme import scheme
from sgverify.schemes.splittings import Alphabet


@scheme(thermostat, order=1)
def sgnht(theta, p, xi, *, h, grad, noise, dim, D, T):
    """The stochastic gradient Nose-Hoover thermostat, Euler; Ding, Fang, Babbush, Chen, Skeel and Neven 2014."""
    p = p - h * xi * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    theta = theta + h * p
    return theta, p, xi + h * (dot(p, p) / dim - T)


thermostat_baoab = catalogue.ALPHABET.word("BAOAB", order=2).named(
    "thermostat_baoab", summary="SGNHT, symmetric splitting BAOAB; Li, Chen, Carlson and Carin 2016."
)


def _drift(theta, p, xi, *, t):
    return theta + t * p, p, xi


def _noisy_kick(theta, p, xi, *, t, grad, noise, D, T):
    return theta, p - t * grad(theta) + sqrt(2 * D * T * t) * noise(), xi


def _friction(theta, p, xi, *, t):
    return theta, exp(-xi * t) * p, xi


def _heat(theta, p, xi, *, t, dim, T):
    return theta, p, xi + t * (dot(p, p) / dim - T)


_ADAPTIVE = Alphabet("adaptive", thermostat, A=_drift, B=_noisy_kick, D=_friction, H=_heat)

adaptive_langevin = _ADAPTIVE.word("BADHDAB", order=2).named(
    "adaptive_langevin", summary="Adaptive Langevin, B A D H D A B; Leimkuhler and Shang 2016, after BADODAB."
)


def _with_friction(theta, p, xi, *, U, dim, T):
    return -(U(theta) + dot(p, p) / 2 + dim / 2 * xi**2) / T


@dynamics(theta="vector", p="vector", xi="scalar", density=_with_friction)
def _nose_hoover_langevin(theta, p, xi, *, grad, dim, D, T):
    return (p, -grad(theta) - xi * p, dot(p, p) / dim - T - D * xi), (0, 0, D * T / dim)


@scheme(_nose_hoover_langevin, order=1)
def nose_hoover_langevin(theta, p, xi, *, h, grad, noise, dim, D, T):
    """Nose-Hoover-Langevin, Euler, noise on the friction alone; Samoletov, Dettmann and Chaplain 2007."""
    p = p - h * grad(theta) - h * xi * p
    heat = dot(p, p) / dim - T
    return theta + h * p, p, xi + h * (heat - D * xi) + sqrt(2 * D * T * h / dim) * noise.scalar()
