"""Tamed steps: a drift that grows too fast is scaled back by a factor that tends to 1 with h."""

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.mathematics import dot, sqrt
from sgverify.schemes.scheme import scheme


@scheme(langevin, order=1)
def tamed_euler(theta, *, h, grad, noise, T):
    """Tamed unadjusted Langevin, h g/(1 + h |g|); Hutzenthaler, Jentzen and Kloeden 2012; Brosse et al. 2019."""
    g = grad(theta)
    return theta - h * g / (1 + h * sqrt(dot(g, g))) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def tamed_by_coordinates(theta, *, h, grad, noise, T):
    """Tamed by coordinates, h g_i/(1 + h |g_i|); Brosse, Durmus, Moulines and Sabanis 2019, TULAc."""
    g = grad(theta)
    return theta - h * g / (1 + h * sqrt(g * g)) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def tamed_by_square(theta, *, h, grad, noise, T):
    """Tamed by the squared norm, h g/(1 + h |g|^2); Sabanis 2013, alpha = 1/2."""
    g = grad(theta)
    return theta - h * g / (1 + h * dot(g, g)) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def tamed_by_root(theta, *, h, grad, noise, T):
    """Tamed by a smooth root, h g/sqrt(1 + h |g|^2); Sabanis and Zhang 2019."""
    g = grad(theta)
    return theta - h * g / sqrt(1 + h * dot(g, g)) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def tamed_by_squared_coordinates(theta, *, h, grad, noise, T):
    """Tamed by squared coordinates, h g_i/(1 + h g_i^2); Lovas, Lytras, Rasonyi and Sabanis 2023."""
    g = grad(theta)
    return theta - h * g / (1 + h * g * g) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=2)
def tamed_heun(theta, *, h, grad, noise, T):
    """Heun whose drift is tamed to third order, 1/(1 + h^2 |g|^2); Wang, Zhao and Zhang 2024, modified weak schemes."""
    kick, g = sqrt(2 * T * h) * noise(), grad(theta)
    end = grad(theta - h * g + kick)
    mean = (g + end) / 2
    return theta - h * mean / (1 + h**2 * dot(mean, mean)) + kick


@scheme(kinetic, order=1)
def tamed_kinetic(theta, p, *, h, grad, noise, D, T):
    """Kinetic Langevin with a tamed force; Johnston, Lytras and Sabanis 2024."""
    g = grad(theta)
    p = (1 - h * D) * p - h * g / sqrt(1 + h * dot(g, g)) + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p
