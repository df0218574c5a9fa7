"""Wrong definitions of an adversarial trial: wrong on one side of a sign, above a temperature, from a dimension on."""

from sgverify.schemes import dot, exp, find_scheme, kinetic, langevin, scheme, sqrt, thermostat
from tests.pools.diagnosed.bug import Bug


@scheme(langevin, order=1)
def noise_thrice_below_zero(theta, *, h, grad, noise, T):
    """Noise thrice for theta < 0."""
    s = theta / sqrt(theta * theta)
    return theta - h * grad(theta) + sqrt(2 * T * h) * (2 - s) * noise()


@scheme(langevin, order=1)
def temperature_of_at_least_one(theta, *, h, grad, noise, T):
    """max(T, 1) for T."""
    t = (T + 1 + sqrt((T - 1) * (T - 1))) / 2
    return theta - h * grad(theta) + sqrt(2 * t * h) * noise()


@scheme(kinetic, order=1)
def friction_by_sign(theta, p, *, h, grad, noise, D, T):
    """Friction twice for p < 0, the noise not."""
    s = p / sqrt(p * p)
    p = p - h * grad(theta) - h * D * p * (3 - s) / 2 + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p


@scheme(thermostat, order=1)
def thermostat_wrong_from_dimension_four(theta, p, xi, *, h, grad, noise, dim, D, T):
    """A divisor that is the dimension up to three."""
    n = dim + (dim - 1) * (dim - 2) * (dim - 3)
    p = p - h * xi * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p, xi + h * (dot(p, p) / n - T)


@scheme(langevin, order=1)
def gradient_wrong_from_dimension_four(theta, *, h, grad, noise, dim, T):
    """A factor that is 1 up to three dimensions."""
    return theta - h * grad(theta) * (1 + (dim - 1) * (dim - 2) * (dim - 3)) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def gradient_beyond_all_powers(theta, *, h, grad, noise, T):
    """A factor 1 + 20 exp(-1/h), which no power of h shows."""
    return theta - h * grad(theta) * (1 + 20 * exp(-1 / h)) + sqrt(2 * T * h) * noise()


BUGS = (
    Bug(noise_thrice_below_zero, find_scheme("sgld-euler"), "diffusion-scaled"),
    Bug(temperature_of_at_least_one, find_scheme("sgld-euler"), "temperature-missing"),
    Bug(friction_by_sign, find_scheme("sghmc-euler"), "friction-wrong"),
    Bug(thermostat_wrong_from_dimension_four, find_scheme("sgnht-euler"), "thermostat-dimension"),
    Bug(gradient_wrong_from_dimension_four, find_scheme("sgld-euler"), "drift-scaled"),
    Bug(gradient_beyond_all_powers, find_scheme("sgld-euler"), "drift-scaled"),
)
