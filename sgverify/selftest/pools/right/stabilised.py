"""Chebyshev methods: explicit steps of many stages whose stability grows with the square of the number of stages."""

from fractions import Fraction

from sgverify.schemes.dynamics import langevin
from sgverify.schemes.mathematics import sqrt
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
