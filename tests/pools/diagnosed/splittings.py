"""Mistakes in letters and words of splittings."""

from sgverify.schemes import Alphabet, exp, expm1, kinetic, sqrt
from tests.pools.diagnosed.bug import Bug


def drift(theta, p, *, t):
    """theta along p."""
    return theta + t * p, p


def kick(theta, p, *, t, grad):
    """p down the gradient."""
    return theta, p - t * grad(theta)


def bath(theta, p, *, t, noise, D, T):
    """Friction and noise, exactly."""
    return theta, exp(-D * t) * p + sqrt(-T * expm1(-2 * D * t)) * noise()


def kick_upwards(theta, p, *, t, grad):
    """A kick of the wrong sign."""
    return theta, p + t * grad(theta)


def bath_of_euler_noise(theta, p, *, t, noise, D, T):
    """An exact decay with Euler's noise."""
    return theta, exp(-D * t) * p + sqrt(2 * D * T * t) * noise()


def bath_of_euler_decay(theta, p, *, t, noise, D, T):
    """Euler's decay with exact noise."""
    return theta, (1 - D * t) * p + sqrt(-T * expm1(-2 * D * t)) * noise()


def bath_of_half_noise(theta, p, *, t, noise, D, T):
    """The variance of half of the time."""
    return theta, exp(-D * t) * p + sqrt(-T * expm1(-D * t)) * noise()


def bath_of_temperature_one(theta, p, *, t, noise, D, T):
    """A variance that does not know T."""
    return theta, exp(-D * t) * p + sqrt(-expm1(-2 * D * t)) * noise()


def bath_damped_twice(theta, p, *, t, noise, D, T):
    """Twice the friction."""
    return theta, exp(-2 * D * t) * p + sqrt(-T * expm1(-2 * D * t)) * noise()


def drift_by_half(theta, p, *, t):
    """A half that the word has already."""
    return theta + t / 2 * p, p


def _alphabet(name, **letters):
    return Alphabet(name, kinetic, **{"A": drift, "B": kick, "O": bath, **letters})


exact = _alphabet("langevin-letters")
BAOAB = exact.word("BAOAB", order=2)
upwards = _alphabet("letters-kicked-upwards", B=kick_upwards).word("BAOAB", order=2)
euler_noise = _alphabet("letters-of-euler-noise", O=bath_of_euler_noise).word("BAOAB", order=2)
euler_decay = _alphabet("letters-of-euler-decay", O=bath_of_euler_decay).word("BAOAB", order=2)
half_noise = _alphabet("letters-of-half-noise", O=bath_of_half_noise).word("BAOAB", order=2)
temperature_one = _alphabet("letters-at-temperature-one", O=bath_of_temperature_one).word("BAOAB", order=2)
damped_twice = _alphabet("letters-damped-twice", O=bath_damped_twice).word("BAOAB", order=2)
moved_by_half = _alphabet("letters-moved-by-half", A=drift_by_half).word("BAOAB", order=2)
open_word = exact.word("BAOBA", order=2)
unequal_shares = exact.word(
    "BAOAB", order=2, coefficients="1/3,1/2,1,1/2,2/3", name="langevin-letters-unequal"
)
fourth_order = exact.word("ABOBA", order=4, name="langevin-letters-fourth")

BUGS = (
    Bug(upwards, BAOAB, "drift-sign"),
    Bug(euler_noise, BAOAB, "letter-not-exact"),
    Bug(euler_decay, BAOAB, "letter-not-exact"),
    Bug(half_noise, BAOAB, "diffusion-scaled"),
    Bug(temperature_one, BAOAB, "temperature-missing"),
    Bug(damped_twice, BAOAB, "friction-wrong"),
    Bug(moved_by_half, BAOAB, "substep-wrong"),
    Bug(open_word, BAOAB, "word-not-symmetric"),
    Bug(unequal_shares, BAOAB, "word-not-symmetric"),
    Bug(fourth_order, exact.word("ABOBA", order=2, name="langevin-letters-second"), "claimed-order"),
)
