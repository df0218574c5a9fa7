"""Mistakes in overdamped Langevin steps."""

from sgverify.schemes import find_scheme, langevin, scheme, sqrt
from tests.mutants.correct import heun
from tests.pools.diagnosed.bug import Bug

EULER = find_scheme("sgld-euler")


@scheme(langevin, order=1)
def half_of_everything(theta, *, h, grad, noise, T):
    """Welling and Teh's theta - h/2 grad + N(0, h), held to the dynamics at time h."""
    return theta - h / 2 * grad(theta) + sqrt(T * h) * noise()


@scheme(langevin, order=1)
def variance_for_deviation(theta, *, h, grad, noise, T):
    """A normal law is given 2 T h as its standard deviation."""
    return theta - h * grad(theta) + 2 * T * h * noise()


@scheme(langevin, order=1)
def noise_inside_the_step(theta, *, h, grad, noise, T):
    """h (grad + noise): the optimizer's learning rate multiplies both."""
    return theta - h * (grad(theta) + sqrt(2 * T) * noise())


@scheme(langevin, order=1)
def noise_without_step(theta, *, h, grad, noise, T):
    """sqrt(2 T) z in every step, whatever h is."""
    return theta - h * grad(theta) + sqrt(2 * T) * noise()


@scheme(langevin, order=1)
def noise_by_fourth_root(theta, *, h, grad, noise, T):
    """A root is taken twice."""
    return theta - h * grad(theta) + sqrt(2 * T * sqrt(h)) * noise()


@scheme(langevin, order=1)
def inverse_temperature(theta, *, h, grad, noise, T):
    """beta for T in the noise."""
    return theta - h * grad(theta) + sqrt(2 * h / T) * noise()


@scheme(langevin, order=1)
def gradient_of_the_tempered(theta, *, h, grad, noise, T):
    """The gradient of U/T beside noise of the temperature T: tempered twice."""
    return theta - h / T * grad(theta) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def one_number_for_all_coordinates(theta, *, h, grad, noise, T):
    """randn() where randn(d) is meant."""
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise.scalar()


@scheme(langevin, order=1)
def four_for_two(theta, *, h, grad, noise, T):
    """2 (2 T) h under the root: a factor counted twice."""
    return theta - h * grad(theta) + sqrt(4 * T * h) * noise()


@scheme(langevin, order=1)
def ten_per_cent_too_little(theta, *, h, grad, noise, T):
    """A shrinkage of the noise that was tuned by hand."""
    return theta - h * grad(theta) + 9 * sqrt(2 * T * h) / 10 * noise()


@scheme(langevin, order=1)
def decay_beside_the_prior(theta, *, h, grad, noise, T):
    """The optimizer's weight decay, though the prior is in grad already."""
    return theta - h * grad(theta) - h * theta + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def prior_alone(theta, *, h, grad, noise, T):
    """The likelihood never enters."""
    return theta - h * grad.prior(theta) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def likelihood_alone(theta, *, h, grad, noise, T):
    """The prior never enters."""
    return theta - h * grad.likelihood(theta) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def likelihood_halved(theta, *, h, grad, noise, T):
    """A loss that is 1/2 of the squares, of which the mean is taken twice."""
    return theta - h * grad.prior(theta) - h / 2 * grad.likelihood(theta) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def prior_five_times(theta, *, h, grad, noise, T):
    """The prior is part of each of five batches."""
    return theta - h * grad.likelihood(theta) - 5 * h * grad.prior(theta) + sqrt(2 * T * h) * noise()


def first_gradient(theta, *, grad):
    """The gradient that the first step begins with."""
    return grad(theta)


def no_gradient(theta, *, grad):
    """Nothing is known before the first step."""
    return 0 * grad(theta)


@scheme(langevin, order=1, memory={"g": no_gradient})
def momentum_without_weight(theta, g, *, h, grad, noise, T):
    """g = 9/10 g + grad, where (1 - 9/10) grad is meant: ten times the gradient."""
    g = 9 * g / 10 + grad(theta)
    return theta - h * g + sqrt(2 * T * h) * noise(), g


@scheme(langevin, order=1, memory={"g": first_gradient})
def gradient_smoothed(theta, g, *, h, grad, noise, T):
    """What was meant: an average of gradients with weights that sum to 1."""
    g = 9 * g / 10 + grad(theta) / 10
    return theta - h * g + sqrt(2 * T * h) * noise(), g


@scheme(langevin, order=1, memory={"g": first_gradient})
def gradient_kept_for_ever(theta, g, *, h, grad, noise, T):
    """The gradient of the start is never renewed."""
    return theta - h * g + sqrt(2 * T * h) * noise(), g


@scheme(langevin, order=2)
def heun_guess_without_step(theta, *, h, grad, noise, T):
    """The predictor forgets h."""
    kick = sqrt(2 * T * h) * noise()
    guess = theta - grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad(guess)) + kick


@scheme(langevin, order=2)
def heun_twice_at_the_start(theta, *, h, grad, noise, T):
    """The corrector asks the gradient where the predictor did."""
    kick = sqrt(2 * T * h) * noise()
    return theta - h / 2 * (grad(theta) + grad(theta)) + kick


@scheme(langevin, order=2)
def heun_of_unequal_weights(theta, *, h, grad, noise, T):
    """1/2 and 1/3: weights that do not sum to 1."""
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h * (grad(theta) / 2 + grad(guess) / 3) + kick


@scheme(langevin, order=2)
def heun_of_two_draws(theta, *, h, grad, noise, T):
    """The predictor moves by another draw than the step."""
    guess = theta - h * grad(theta) + sqrt(2 * T * h) * noise()
    return theta - h / 2 * (grad(theta) + grad(guess)) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=2)
def heun_guess_upwards(theta, *, h, grad, noise, T):
    """The predictor climbs."""
    kick = sqrt(2 * T * h) * noise()
    guess = theta + h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad(guess)) + kick


@scheme(langevin, order=2)
def euler_called_second_order(theta, *, h, grad, noise, T):
    """SGLD, claimed to be of order 2."""
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def gradient_at_minus_theta(theta, *, h, grad, noise, T):
    """The gradient at the mirrored point, as an antithetic pair has it."""
    return theta - h * grad(-theta) + sqrt(2 * T * h) * noise()


def first_draw(theta, *, noise):
    """The draw before the first step."""
    return noise()


@scheme(langevin, order={"invariant": 2}, memory={"z": first_draw})
def averaged_draws(theta, z, *, h, grad, noise, T):
    """What was meant: the method of Leimkuhler and Matthews 2013."""
    new = noise()
    return theta - h * grad(theta) + sqrt(T * h / 2) * (z + new), new


@scheme(langevin, order={"invariant": 2}, memory={"z": first_draw})
def averaged_draws_without_half(theta, z, *, h, grad, noise, T):
    """The two draws are summed and not averaged."""
    new = noise()
    return theta - h * grad(theta) + sqrt(2 * T * h) * (z + new), new


BUGS = (
    Bug(half_of_everything, EULER, "substep-wrong"),
    Bug(variance_for_deviation, EULER, "diffusion-power-of-h"),
    Bug(noise_inside_the_step, EULER, "diffusion-power-of-h"),
    Bug(noise_without_step, EULER, "diffusion-power-of-h"),
    Bug(noise_by_fourth_root, EULER, "diffusion-power-of-h"),
    Bug(inverse_temperature, EULER, "temperature-misplaced"),
    Bug(gradient_of_the_tempered, EULER, "temperature-misplaced"),
    Bug(one_number_for_all_coordinates, EULER, "noise-shared"),
    Bug(four_for_two, EULER, "diffusion-scaled"),
    Bug(ten_per_cent_too_little, EULER, "diffusion-scaled"),
    Bug(decay_beside_the_prior, EULER, "prior-scaled"),
    Bug(prior_alone, EULER, "data-scaling"),
    Bug(likelihood_alone, EULER, "prior-scaled"),
    Bug(likelihood_halved, EULER, "data-scaling"),
    Bug(prior_five_times, EULER, "prior-scaled"),
    Bug(momentum_without_weight, gradient_smoothed, "drift-scaled"),
    Bug(gradient_kept_for_ever, EULER, "gradient-at-old-point"),
    Bug(heun_guess_without_step, heun, "gradient-of-wrong-argument"),
    Bug(heun_twice_at_the_start, heun, "gradient-at-old-point"),
    Bug(heun_of_unequal_weights, heun, "drift-scaled"),
    Bug(heun_of_two_draws, heun, "gradient-of-wrong-argument"),
    Bug(heun_guess_upwards, heun, "gradient-of-wrong-argument"),
    Bug(euler_called_second_order, EULER, "claimed-order"),
    Bug(gradient_at_minus_theta, EULER, "gradient-of-wrong-argument"),
    Bug(averaged_draws_without_half, averaged_draws, "diffusion-scaled"),
)
