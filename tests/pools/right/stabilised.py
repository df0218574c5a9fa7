"""Chebyshev methods: explicit steps of many stages whose stability grows with the square of the number of stages.

Tamed steps: a drift that grows too fast is scaled back by a factor that tends to 1 with h.
"""

from fractions import Fraction

from sgverify.schemes.definition.mathematics import dot, sqrt
from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.scheme import scheme

_DAMPING = Fraction(1, 20)


def _chebyshev(stages, at):
    """T_0..T_s at a point, and T_s' there, exactly."""
    values, slopes = [Fraction(1), at], [Fraction(0), Fraction(1)]
    for _ in range(stages - 1):
        values.append(2 * at * values[-1] - values[-2])
        slopes.append(2 * values[-2] + 2 * at * slopes[-1] - slopes[-2])
    return values, slopes[stages]


def _stages(stages):
    """Of every stage the factors of h f, of the last stage and of the one before; and omega_1, omega_0."""
    zero = 1 + _DAMPING / stages**2
    values, slope = _chebyshev(stages, zero)
    one = values[stages] / slope
    rows = [
        (
            2 * one * values[i - 1] / values[i],
            2 * zero * values[i - 1] / values[i],
            -values[i - 2] / values[i],
        )
        for i in range(2, stages + 1)
    ]
    return rows, one, zero


def _sk_rock(stages, name):
    rows, one, zero = _stages(stages)

    @scheme(langevin, order=1)
    def sk_rock(theta, *, h, grad, noise, T):
        kick = sqrt(2 * T * h) * noise()
        first = one / zero
        before, last = (
            theta,
            theta - first * h * grad(theta + stages * one / 2 * kick) + stages * first * kick,
        )
        for drift, near, far in rows:
            before, last = last, -drift * h * grad(last) + near * last + far * before
        return last

    summary = f"SK-ROCK of {stages} stages, the noise in the first; Abdulle, Almuslimani and Vilmart 2018."
    return sk_rock.named(name, summary=summary)


def _s_rock(stages, name):
    rows, one, zero = _stages(stages)

    @scheme(langevin, order=1)
    def s_rock(theta, *, h, grad, noise, T):
        before, last = theta, theta - one / zero * h * grad(theta)
        for drift, near, far in rows:
            before, last = last, -drift * h * grad(last) + near * last + far * before
        return last + sqrt(2 * T * h) * noise()

    return s_rock.named(
        name, summary=f"S-ROCK of {stages} stages, the noise after the last; Abdulle and Li 2008."
    )


sk_rock_one = _sk_rock(1, "sk_rock_one")
sk_rock_two = _sk_rock(2, "sk_rock_two")
sk_rock_three = _sk_rock(3, "sk_rock_three")
sk_rock_five = _sk_rock(5, "sk_rock_five")
s_rock_two = _s_rock(2, "s_rock_two")
s_rock_four = _s_rock(4, "s_rock_four")


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
