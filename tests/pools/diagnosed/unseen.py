"""Mistakes that nobody diagnosed before the search for edits was finished: what it did with them at first sight is recorded."""

from sgverify.schemes import (
    Alphabet,
    dot,
    exp,
    expm1,
    find_scheme,
    kinetic,
    langevin,
    riemannian_kinetic,
    riemannian_langevin,
    scheme,
    sqrt,
    thermostat,
)
from tests.mutants.correct import heun
from tests.pools.diagnosed.bug import Bug

SGLD, SGHMC, OBABO, SGNHT = (
    find_scheme(name) for name in ("sgld-euler", "sghmc-euler", "sghmc-obabo", "sgnht-euler")
)


@scheme(langevin, order=1)
def noise_over_the_step(theta, *, h, grad, noise, T):
    """The step size divides the variance."""
    return theta - h * grad(theta) + sqrt(2 * T / h) * noise()


@scheme(langevin, order=1)
def gradient_by_square_of_step(theta, *, h, grad, noise, T):
    """The learning rate multiplies the gradient twice."""
    return theta - h * h * grad(theta) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def temperature_times_the_gradient(theta, *, h, grad, noise, T):
    """The temperature multiplies gradient and noise."""
    return theta - h * T * grad(theta) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=2)
def heun_of_signs(theta, *, h, grad, noise, T):
    """Signs for normal draws, whose fourth moment a step of order 2 needs."""
    kick = sqrt(2 * T * h) * noise.two_point()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad(guess)) + kick


@scheme(langevin, order=2)
def heun_corrector_of_whole_step(theta, *, h, grad, noise, T):
    """The mean of the two gradients is taken without its half."""
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h * (grad(theta) + grad(guess)) + kick


def first_gradient(theta, *, grad):
    """The gradient that the first step begins with."""
    return grad(theta)


@scheme(langevin, order=1, memory={"g": first_gradient})
def extrapolated_gradient(theta, g, *, h, grad, noise, T):
    """What was meant: the gradient extrapolated by that of the step before, after Adams and Bashforth."""
    new = grad(theta)
    return theta - h * (3 * new / 2 - g / 2) + sqrt(2 * T * h) * noise(), new


@scheme(langevin, order=1, memory={"g": first_gradient})
def extrapolated_gradient_added(theta, g, *, h, grad, noise, T):
    """The gradient of the step before is added."""
    new = grad(theta)
    return theta - h * (3 * new / 2 + g / 2) + sqrt(2 * T * h) * noise(), new


@scheme(langevin, order=1, memory={"g": first_gradient})
def gradient_average(theta, g, *, h, grad, noise, T):
    """What was meant: weights that sum to 1."""
    g = 4 * g / 5 + grad(theta) / 5
    return theta - h * g + sqrt(2 * T * h) * noise(), g


@scheme(langevin, order=1, memory={"g": first_gradient})
def gradient_average_of_weight_two(theta, g, *, h, grad, noise, T):
    """4/5 and 2/5: weights that sum to more than 1."""
    g = 4 * g / 5 + 2 * grad(theta) / 5
    return theta - h * g + sqrt(2 * T * h) * noise(), g


@scheme(kinetic, order=1)
def friction_of_the_position(theta, p, *, h, grad, noise, D, T):
    """The friction damps the position."""
    p = p - h * grad(theta) - h * D * theta + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p


@scheme(kinetic, order=2)
def position_without_half_acceleration(theta, p, *, h, grad, noise, D, T):
    """Velocity Verlet between two frictions, its position without -h^2/2 grad U."""
    c, s = exp(-D * h / 2), sqrt(-T * expm1(-D * h))
    p = c * p + s * noise()
    moved = theta + h * p
    p = p - h / 2 * (grad(theta) + grad(moved))
    return moved, c * p + s * noise()


@scheme(kinetic, order=2)
def obabo_decays_of_whole_steps(theta, p, *, h, grad, noise, D, T):
    """Both frictions are those of a whole step, beside noises of half a step."""
    c, s = exp(-D * h), sqrt(-T * expm1(-D * h))
    p = c * p + s * noise() - h / 2 * grad(theta)
    theta = theta + h * p
    p = p - h / 2 * grad(theta)
    return theta, c * p + s * noise()


@scheme(kinetic, order=2)
def obabo_second_noise_missing(theta, p, *, h, grad, noise, D, T):
    """The second friction adds no noise."""
    c, s = exp(-D * h / 2), sqrt(-T * expm1(-D * h))
    p = c * p + s * noise() - h / 2 * grad(theta)
    theta = theta + h * p
    p = p - h / 2 * grad(theta)
    return theta, c * p


@scheme(kinetic, order=1)
def exponential_drift(theta, p, *, h, grad, noise, D, T):
    """What was meant: theta moves by the integral of the decaying momentum."""
    moved = theta - expm1(-D * h) / D * p
    p = exp(-D * h) * p - h * grad(theta) + sqrt(-T * expm1(-2 * D * h)) * noise()
    return moved, p


@scheme(kinetic, order=1)
def exponential_drift_without_division(theta, p, *, h, grad, noise, D, T):
    """1 - exp(-D h) without its 1/D."""
    moved = theta - expm1(-D * h) * p
    p = exp(-D * h) * p - h * grad(theta) + sqrt(-T * expm1(-2 * D * h)) * noise()
    return moved, p


@scheme(thermostat, order=1)
def feedback_of_temperature_squared(theta, p, xi, *, h, grad, noise, dim, D, T):
    """The energy is held against T^2."""
    p = p - h * xi * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p, xi + h * (dot(p, p) / dim - T * T)


@scheme(thermostat, order=1)
def friction_by_square_of_thermostat(theta, p, xi, *, h, grad, noise, dim, D, T):
    """The thermostat's square is the friction."""
    p = p - h * xi * xi * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p, xi + h * (dot(p, p) / dim - T)


@scheme(thermostat, order=1)
def energy_of_the_gradient(theta, p, xi, *, h, grad, noise, dim, D, T):
    """The square of the gradient drives the thermostat."""
    slope = grad(theta)
    p = p - h * xi * p - h * slope + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p, xi + h * (dot(slope, slope) / dim - T)


@scheme(riemannian_langevin, order=1)
def root_for_inverse(theta, *, h, grad, noise, metric, T):
    """The root of the metric multiplies the gradient."""
    drift = T * metric.divergence(theta) - metric.root(theta, grad(theta))
    return theta + h * drift + sqrt(2 * T * h) * metric.root(theta, noise())


@scheme(riemannian_kinetic, order=1)
def position_by_inverse_metric(theta, p, *, h, grad, noise, metric, D, T):
    """The position moves by G^-1 p."""
    force = T * metric.root_divergence(theta) - metric.transposed(theta, grad(theta))
    kick = sqrt(2 * D * T * h) * metric.root(theta, noise())
    p = p + h * (force - D * metric.inverse(theta, p)) + kick
    return theta + h * metric.inverse(theta, p), p


def drift(theta, p, *, t):
    """theta along p."""
    return theta + t * p, p


def kick(theta, p, *, t, grad):
    """p down the gradient."""
    return theta, p - t * grad(theta)


def bath(theta, p, *, t, noise, D, T):
    """Friction and noise, exactly."""
    return theta, exp(-D * t) * p + sqrt(-T * expm1(-2 * D * t)) * noise()


def kick_over_temperature(theta, p, *, t, grad, T):
    """The gradient of U/T in the place of that of U."""
    return theta, p - t / T * grad(theta)


def decay_without_friction(theta, p, *, t, noise, D, T):
    """A decay of rate 1."""
    return theta, exp(-t) * p + sqrt(-T * expm1(-2 * D * t)) * noise()


def _alphabet(name, **letters):
    return Alphabet(name, kinetic, **{"A": drift, "B": kick, "O": bath, **letters})


exact = _alphabet("underdamped-letters")
BAOAB = exact.word("BAOAB", order=2)
over_temperature = _alphabet("letters-kicked-over-temperature", B=kick_over_temperature).word(
    "BAOAB", order=2
)
without_friction = _alphabet("letters-decaying-without-friction", O=decay_without_friction).word(
    "BAOAB", order=2
)
last_kick_longer = exact.word(
    "BAOAB", order=2, coefficients="1/4,1/2,1,1/2,3/4", name="underdamped-letters-last-kick-longer"
)

BUGS = (
    Bug(noise_over_the_step, SGLD, "diffusion-power-of-h"),
    Bug(gradient_by_square_of_step, SGLD, "drift-scaled"),
    Bug(temperature_times_the_gradient, SGLD, "temperature-misplaced"),
    Bug(heun_of_signs, heun, "noise-law"),
    Bug(heun_corrector_of_whole_step, heun, "drift-scaled"),
    Bug(extrapolated_gradient_added, extrapolated_gradient, "drift-scaled"),
    Bug(gradient_average_of_weight_two, gradient_average, "drift-scaled"),
    Bug(friction_of_the_position, SGHMC, "friction-wrong"),
    Bug(position_without_half_acceleration, OBABO, "old-value"),
    Bug(obabo_decays_of_whole_steps, OBABO, "friction-wrong"),
    Bug(obabo_second_noise_missing, OBABO, "diffusion-scaled"),
    Bug(exponential_drift_without_division, exponential_drift, "substep-wrong"),
    Bug(feedback_of_temperature_squared, SGNHT, "temperature-misplaced"),
    Bug(friction_by_square_of_thermostat, SGNHT, "friction-wrong"),
    Bug(energy_of_the_gradient, SGNHT, "thermostat-wrong"),
    Bug(root_for_inverse, find_scheme("sgrld-euler"), "metric-wrong"),
    Bug(position_by_inverse_metric, find_scheme("sgrhmc-euler"), "metric-wrong"),
    Bug(over_temperature, BAOAB, "temperature-misplaced"),
    Bug(without_friction, BAOAB, "friction-wrong"),
    Bug(last_kick_longer, BAOAB, "word-not-symmetric"),
)
