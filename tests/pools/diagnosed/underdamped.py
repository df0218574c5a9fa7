"""Mistakes in underdamped Langevin steps."""

from sgverify.schemes import exp, expm1, find_scheme, kinetic, scheme, sqrt
from tests.pools.diagnosed.bug import Bug

EULER, BAOAB, OBABO = (find_scheme(name) for name in ("sghmc-euler", "sghmc-baoab", "sghmc-obabo"))


@scheme(kinetic, order=1)
def friction_in_the_noise_twice(theta, p, *, h, grad, noise, D, T):
    """D under the root and once more in front."""
    p = p - h * grad(theta) - h * D * p + sqrt(2 * D * D * T * h) * noise()
    return theta + h * p, p


@scheme(kinetic, order=1)
def friction_by_square_of_step(theta, p, *, h, grad, noise, D, T):
    """The friction, scaled by the learning rate already, is multiplied by it again."""
    p = p - h * grad(theta) - h * h * D * p + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p


@scheme(kinetic, order=1)
def noise_on_the_position(theta, p, *, h, grad, noise, D, T):
    """The noise moves theta and not the momentum."""
    p = p - h * grad(theta) - h * D * p
    return theta + h * p + sqrt(2 * D * T * h) * noise(), p


@scheme(kinetic, order=1)
def position_twice(theta, p, *, h, grad, noise, D, T):
    """The position is updated before and after the momentum."""
    theta = theta + h * p
    p = p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p


@scheme(kinetic, order=1)
def momentum_backwards(theta, p, *, h, grad, noise, D, T):
    """theta - h p, an optimizer's convention, beside a momentum that goes down the gradient."""
    p = p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()
    return theta - h * p, p


@scheme(kinetic, order=1)
def gradient_of_momentum(theta, p, *, h, grad, noise, D, T):
    """The gradient is asked at p."""
    p = p - h * grad(p) - h * D * p + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p


@scheme(kinetic, order=1)
def gradient_one_time_unit_ahead(theta, p, *, h, grad, noise, D, T):
    """Nesterov's look ahead without its step size."""
    p = p - h * grad(theta + p) - h * D * p + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p


@scheme(kinetic, order=1)
def gradient_without_step(theta, p, *, h, grad, noise, D, T):
    """The gradient forgets the step size."""
    p = p - grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p


@scheme(kinetic, order=1)
def noise_of_temperature_squared(theta, p, *, h, grad, noise, D, T):
    """T in the variance twice."""
    p = p - h * grad(theta) - h * D * p + T * sqrt(2 * D * h) * noise()
    return theta + h * p, p


@scheme(kinetic, order=1)
def force_of_exponential_integrator(theta, p, *, h, grad, noise, D, T):
    """(1 - exp(-D h)) grad, where it is to be divided by D."""
    p = exp(-D * h) * p + expm1(-D * h) * grad(theta) + sqrt(-T * expm1(-2 * D * h)) * noise()
    return theta + h * p, p


@scheme(kinetic, order=1)
def exponential_integrator(theta, p, *, h, grad, noise, D, T):
    """What was meant: force, friction and noise of the exponential integrator."""
    p = exp(-D * h) * p + expm1(-D * h) / D * grad(theta) + sqrt(-T * expm1(-2 * D * h)) * noise()
    return theta + h * p, p


@scheme(kinetic, order=2)
def baoab_noise_of_c(theta, p, *, h, grad, noise, D, T):
    """sqrt(T (1 - c)) for sqrt(T (1 - c^2))."""
    c = exp(-D * h)
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = c * p + sqrt(T * (1 - c)) * noise()
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


@scheme(kinetic, order=2)
def baoab_of_half_friction(theta, p, *, h, grad, noise, D, T):
    """c = exp(-D h/2), as in a scheme where friction acts twice."""
    c = exp(-D * h / 2)
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = c * p + sqrt(T * (1 - c * c)) * noise()
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


@scheme(kinetic, order=2)
def baoab_without_last_kick(theta, p, *, h, grad, noise, D, T):
    """The second half kick is left out."""
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = exp(-D * h) * p + sqrt(-T * expm1(-2 * D * h)) * noise()
    return theta + h / 2 * p, p


@scheme(kinetic, order=2)
def baoab_last_kick_upwards(theta, p, *, h, grad, noise, D, T):
    """The second half kick has the other sign."""
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = exp(-D * h) * p + sqrt(-T * expm1(-2 * D * h)) * noise()
    theta = theta + h / 2 * p
    return theta, p + h / 2 * grad(theta)


@scheme(kinetic, order=2)
def baoab_friction_that_drives(theta, p, *, h, grad, noise, D, T):
    """exp(D h) for exp(-D h)."""
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = exp(D * h) * p + sqrt(-T * expm1(-2 * D * h)) * noise()
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


@scheme(kinetic, order=2)
def baoab_kicks_of_whole_steps(theta, p, *, h, grad, noise, D, T):
    """Both kicks are those of a whole step."""
    p = p - h * grad(theta)
    theta = theta + h / 2 * p
    p = exp(-D * h) * p + sqrt(-T * expm1(-2 * D * h)) * noise()
    theta = theta + h / 2 * p
    return theta, p - h * grad(theta)


@scheme(kinetic, order=2)
def baoab_of_one_gradient(theta, p, *, h, grad, noise, D, T):
    """Both kicks take the gradient of the start."""
    kick = h / 2 * grad(theta)
    p = p - kick
    theta = theta + h / 2 * p
    p = exp(-D * h) * p + sqrt(-T * expm1(-2 * D * h)) * noise()
    return theta + h / 2 * p, p - kick


@scheme(kinetic, order=2)
def obabo_noise_of_whole_step(theta, p, *, h, grad, noise, D, T):
    """The constants of the decay are halved, those of the noise are not."""
    c, s = exp(-D * h / 2), sqrt(-T * expm1(-2 * D * h))
    p = c * p + s * noise() - h / 2 * grad(theta)
    theta = theta + h * p
    p = p - h / 2 * grad(theta)
    return theta, c * p + s * noise()


@scheme(kinetic, order=2)
def obabo_drift_by_half(theta, p, *, h, grad, noise, D, T):
    """The drift of BAOAB, which acts twice there, in OBABO."""
    c, s = exp(-D * h / 2), sqrt(-T * expm1(-D * h))
    p = c * p + s * noise() - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = p - h / 2 * grad(theta)
    return theta, c * p + s * noise()


@scheme(kinetic, order=2)
def obabo_one_draw(theta, p, *, h, grad, noise, D, T):
    """One draw for both ends."""
    z = sqrt(-T * expm1(-D * h)) * noise()
    c = exp(-D * h / 2)
    p = c * p + z - h / 2 * grad(theta)
    theta = theta + h * p
    p = p - h / 2 * grad(theta)
    return theta, c * p + z


BUGS = (
    Bug(friction_in_the_noise_twice, EULER, "diffusion-scaled"),
    Bug(friction_by_square_of_step, EULER, "friction-wrong"),
    Bug(noise_on_the_position, EULER, "noise-missing"),
    Bug(position_twice, EULER, "substep-wrong"),
    Bug(momentum_backwards, EULER, "drift-sign"),
    Bug(gradient_of_momentum, EULER, "gradient-of-wrong-argument"),
    Bug(gradient_one_time_unit_ahead, EULER, "gradient-of-wrong-argument"),
    Bug(gradient_without_step, EULER, "drift-scaled"),
    Bug(noise_of_temperature_squared, EULER, "temperature-misplaced"),
    Bug(force_of_exponential_integrator, exponential_integrator, "drift-scaled"),
    Bug(baoab_noise_of_c, BAOAB, "diffusion-scaled"),
    Bug(baoab_of_half_friction, BAOAB, "friction-wrong"),
    Bug(baoab_without_last_kick, BAOAB, "substep-wrong"),
    Bug(baoab_last_kick_upwards, BAOAB, "drift-sign"),
    Bug(baoab_friction_that_drives, BAOAB, "friction-wrong"),
    Bug(baoab_kicks_of_whole_steps, BAOAB, "substep-wrong"),
    Bug(baoab_of_one_gradient, BAOAB, "gradient-at-old-point"),
    Bug(obabo_noise_of_whole_step, OBABO, "diffusion-scaled"),
    Bug(obabo_drift_by_half, OBABO, "substep-wrong"),
    Bug(obabo_one_draw, OBABO, "noise-shared"),
)
