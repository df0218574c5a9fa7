"""Integrators of the kinetic equation that molecular dynamics uses, each as it is published."""

from sgverify.schemes.definition.mathematics import exp, expm1, sqrt
from sgverify.schemes.dynamics import kinetic
from sgverify.schemes.scheme import scheme
from tests.mutants import correct as _correct


@scheme(kinetic, order=2)
def bbk(theta, p, *, h, grad, noise, D, T):
    """BBK with a draw for each half step; Bruenger, Brooks and Karplus 1984; Leimkuhler and Matthews 2015, section 7.3."""
    p = (1 - h * D / 2) * p - h / 2 * grad(theta) + sqrt(D * T * h) * noise()
    theta = theta + h * p
    return theta, (p - h / 2 * grad(theta) + sqrt(D * T * h) * noise()) / (1 + h * D / 2)


@scheme(kinetic, order=2)
def gronbech_jensen_farago(theta, p, *, h, grad, noise, D, T):
    """The GJF thermostat, one draw a step; Gronbech-Jensen and Farago 2013, equations (19) to (21)."""
    b = 1 / (1 + D * h / 2)
    a = b * (1 - D * h / 2)
    draw, g = sqrt(2 * D * T * h) * noise(), grad(theta)
    theta = theta + b * h * (p - h / 2 * g + draw / 2)
    return theta, a * p - h / 2 * (a * g + grad(theta)) + b * draw


@scheme(kinetic, order=1)
def cheng_exponential(theta, p, *, h, grad, noise, D, T):
    """Everything but the gradient exactly, that frozen at the start; Cheng, Chatterji, Bartlett and Jordan 2018."""
    a = -expm1(-D * h)
    g = grad(theta)
    pushed = sqrt(T * a * (2 - a)) * noise()
    own = sqrt(2 * T * (D * h - 2 * a / (2 - a))) / D * noise()
    theta = theta + a / D * p - (h - a / D) / D * g + a / (2 - a) / D * pushed + own
    return theta, (1 - a) * p - a / D * g + pushed


@scheme(kinetic, order=1)
def ermak_buckholz(theta, p, *, h, grad, noise, D, T):
    """Force frozen at the end of the drift, friction and noise exact; after Ermak and Buckholz 1980."""
    a = -expm1(-D * h)
    theta = theta + h * p
    return theta, (1 - a) * p - a / D * grad(theta) + sqrt(T * a * (2 - a)) * noise()


@scheme(kinetic, order=2)
def mannella_leapfrog(theta, p, *, h, grad, noise, D, T):
    """The stochastic leapfrog: drift, an implicit friction about the kick, drift; Mannella 2004."""
    theta = theta + h / 2 * p
    p = ((1 - h * D / 2) * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()) / (1 + h * D / 2)
    return theta + h / 2 * p, p


@scheme(kinetic, order=2)
def position_verlet(theta, p, *, h, grad, noise, D, T):
    """Stochastic position Verlet: drift, exact linear friction with a frozen force, drift; Melchionna 2007."""
    theta = theta + h / 2 * p
    a = -expm1(-D * h)
    p = (1 - a) * p - a / D * grad(theta) + sqrt(T * a * (2 - a)) * noise()
    return theta + h / 2 * p, p


@scheme(kinetic, order=2)
def velocity_verlet(theta, p, *, h, grad, noise, D, T):
    """Stochastic velocity Verlet, friction and noise in halves outside; Melchionna 2007; Bussi and Parrinello 2007."""
    p = exp(-D * h / 2) * p + sqrt(-T * expm1(-D * h)) * noise() - h / 2 * grad(theta)
    theta = theta + h * p
    return theta, exp(-D * h / 2) * (p - h / 2 * grad(theta)) + sqrt(-T * expm1(-D * h)) * noise()


@scheme(kinetic, order=2)
def cayley_baoab(theta, p, *, h, grad, noise, D, T):
    """BAOAB with Cayley's rational friction in the place of the exponential; Pavliotis, Stuart and Zygalakis 2009."""
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = ((1 - h * D / 2) * p + sqrt(2 * D * T * h) * noise()) / (1 + h * D / 2)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


@scheme(kinetic, order=1)
def quasi_symplectic_euler(theta, p, *, h, grad, noise, D, T):
    """Quasi-symplectic Euler, the friction implicit; Milstein and Tretyakov 2003, equation (2.5)."""
    p = (p - h * grad(theta) + sqrt(2 * D * T * h) * noise()) / (1 + h * D)
    return theta + h * p, p


@scheme(kinetic, order=2)
def quasi_symplectic_second(theta, p, *, h, grad, noise, D, T):
    """Quasi-symplectic of weak order 2 with three-point draws; Milstein and Tretyakov 2003, section 3."""
    p = exp(-D * h / 2) * p + sqrt(-T * expm1(-D * h)) * noise.three_point()
    p = p - h / 2 * grad(theta)
    theta = theta + h * p
    p = p - h / 2 * grad(theta)
    return theta, exp(-D * h / 2) * p + sqrt(-T * expm1(-D * h)) * noise.three_point()


@scheme(kinetic, order=2)
def baoab_three_point(theta, p, *, h, grad, noise, D, T):
    """BAOAB with three-point draws, enough for weak order 2; Milstein and Tretyakov 2004, section 2.1."""
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = exp(-D * h) * p + sqrt(-T * expm1(-2 * D * h)) * noise.three_point()
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


@scheme(kinetic, order=1)
def baoab_two_point(theta, p, *, h, grad, noise, D, T):
    """BAOAB with signs for normal draws: their fourth moment costs an order; Milstein and Tretyakov 2004, section 2.1."""
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = exp(-D * h) * p + sqrt(-T * expm1(-2 * D * h)) * noise.two_point()
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


baoab_one_gradient = _correct.baoab_in_memory.named(
    "baoab_one_gradient",
    summary="BAOAB that keeps the gradient of its end for the next start; Leimkuhler and Matthews 2013.",
)


@scheme(kinetic, order=2)
def heun_kinetic(theta, p, *, h, grad, noise, D, T):
    """Heun's rule for the kinetic equation; Greiner, Strittmatter and Honerkamp 1988."""
    kick = sqrt(2 * D * T * h) * noise()
    force = -grad(theta) - D * p
    later, faster = theta + h * p, p + h * force + kick
    theta = theta + h / 2 * (p + faster)
    return theta, p + h / 2 * (force - grad(later) - D * faster) + kick


@scheme(kinetic, order=1)
def verlet_explicit_friction(theta, p, *, h, grad, noise, D, T):
    """Velocity Verlet with friction and noise by Euler in its first half; Allen and Tildesley 1987, section 9.3."""
    p = (1 - h * D) * p - h / 2 * grad(theta) + sqrt(2 * D * T * h) * noise()
    theta = theta + h * p
    return theta, p - h / 2 * grad(theta)


@scheme(kinetic, order=2)
def implicit_midpoint_three(theta, p, *, h, grad, noise, D, T):
    """The implicit midpoint rule by three iterations, one draw; Milstein and Tretyakov 2003; Burrage, Lenane, Lythe 2007."""
    kick = sqrt(2 * D * T * h) * noise()
    x, v = theta, p
    for _ in range(3):
        middle, slow = (theta + x) / 2, (p + v) / 2
        x, v = theta + h * slow, p - h * grad(middle) - h * D * slow + kick
    return x, v


@scheme(kinetic, order=2)
def linear_part_exact(theta, p, *, h, grad, noise, D, T):
    """ABOBA of multiple time scales: theta/2 of the force in three short inner kicks; Tuckerman, Berne, Martyna 1992."""
    rate, inner = 2, 3
    p = p - h / 2 * (grad(theta) - theta / rate)
    for _ in range(inner):
        t = h / inner
        p = p - t / 2 * theta / rate
        theta = theta + t / 2 * p
        p = exp(-D * t) * p + sqrt(-T * expm1(-2 * D * t)) * noise()
        theta = theta + t / 2 * p
        p = p - t / 2 * theta / rate
    return theta, p - h / 2 * (grad(theta) - theta / rate)


@scheme(kinetic, order=1)
def stratified_time(theta, p, *, h, grad, noise, D, T):
    """The force at a uniform time of a straight move, then friction and noise; Bou-Rabee and Marsden 2022."""
    time = (1 + noise.scalar.uniform() / sqrt(3)) / 2 * h
    g = grad(theta + time * p)
    theta, p = theta + h * p - h**2 / 2 * g, p - h * g
    return theta, exp(-D * h) * p + sqrt(-T * expm1(-2 * D * h)) * noise()


@scheme(kinetic, order=2)
def takahashi_imada(theta, p, *, h, grad, noise, D, T):
    """BAOAB whose force is corrected by a Hessian-vector product; Takahashi and Imada 1984; Lopez-Marcos et al. 1997."""

    def force(x):
        g = grad(x)
        return -(g - h**2 / 12 * grad.hessian(x, g))

    p = p + h / 2 * force(theta)
    theta = theta + h / 2 * p
    p = exp(-D * h) * p + sqrt(-T * expm1(-2 * D * h)) * noise()
    theta = theta + h / 2 * p
    return theta, p + h / 2 * force(theta)
