"""Runge-Kutta methods of weak order 2 for the overdamped equation, whose noise is additive."""

from fractions import Fraction

from sgverify.schemes.definition.mathematics import exp, expm1, sqrt
from sgverify.schemes.dynamics import langevin
from sgverify.schemes.scheme import scheme
from tests.mutants import correct as _correct

stochastic_heun = _correct.heun.named(
    "stochastic_heun",
    summary="The trapezoidal rule with an Euler guess; Kloeden and Platen 1992, section 14.2.",
)


@scheme(langevin, order=2)
def stochastic_heun_three_point(theta, *, h, grad, noise, T):
    """The trapezoidal rule with three-point draws, enough for weak order 2; Milstein and Tretyakov 2004, section 2.1."""
    kick = sqrt(2 * T * h) * noise.three_point()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad(guess)) + kick


@scheme(langevin, order=2)
def srk_langevin(theta, *, h, grad, noise, T):
    """SRK-LD, two gradients at correlated normal draws; Li, Wu, Mackey and Erdogdu 2019, equation (11)."""
    size, x, e = sqrt(2 * T * h), noise(), noise()
    one = theta + size * ((Fraction(1, 2) + 1 / sqrt(6)) * x + e / sqrt(12))
    two = theta - h * grad(theta) + size * ((Fraction(1, 2) - 1 / sqrt(6)) * x + e / sqrt(12))
    return theta - h / 2 * (grad(one) + grad(two)) + size * x


@scheme(langevin, order=2)
def midpoint_two_draws(theta, *, h, grad, noise, T):
    """The explicit midpoint rule on a second draw: E d = E d^2 = 1/2 of the inner noise; Roessler 2009, additive noise."""
    size, one, two = sqrt(2 * T * h), noise(), noise()
    middle = theta - h / 2 * grad(theta) + size / 2 * (one + two)
    return theta - h * grad(middle) + size * one


@scheme(langevin, order=2)
def noise_about_midpoint(theta, *, h, grad, noise, T):
    """Strang splitting of noise and gradient flow, the flow by the midpoint rule; Abdulle, Cohen, Vilmart, Zygalakis 2012."""
    theta = theta + sqrt(T * h) * noise()
    theta = theta - h * grad(theta - h / 2 * grad(theta))
    return theta + sqrt(T * h) * noise()


@scheme(langevin, order=2)
def noise_about_heun(theta, *, h, grad, noise, T):
    """Strang splitting of noise and gradient flow, the flow by Heun's rule; Ninomiya and Victoir 2008, additive noise."""
    theta = theta + sqrt(T * h) * noise()
    g = grad(theta)
    theta = theta - h / 2 * (g + grad(theta - h * g))
    return theta + sqrt(T * h) * noise()


@scheme(langevin, order=2)
def midpoint_about_noise(theta, *, h, grad, noise, T):
    """Half a flow, the noise, half a flow, each flow by the midpoint rule; Ninomiya and Victoir 2008, equation (1)."""
    theta = theta - h / 2 * grad(theta - h / 4 * grad(theta))
    theta = theta + sqrt(2 * T * h) * noise()
    return theta - h / 2 * grad(theta - h / 4 * grad(theta))


@scheme(langevin, order=2)
def midpoint_about_three_points(theta, *, h, grad, noise, T):
    """Half a flow, three-point noise, half a flow; Misawa 2000 with Gauss-Hermite draws."""
    theta = theta - h / 2 * grad(theta - h / 4 * grad(theta))
    theta = theta + sqrt(2 * T * h) * noise.three_point()
    return theta - h / 2 * grad(theta - h / 4 * grad(theta))


@scheme(langevin, order=2)
def kutta_about_noise(theta, *, h, grad, noise, T):
    """Strang splitting with the flow by Kutta's third-order rule; Alamo and Sanz-Serna 2016."""

    def flow(x, t):
        one = -grad(x)
        two = -grad(x + t / 2 * one)
        three = -grad(x - t * one + 2 * t * two)
        return x + t / 6 * (one + 4 * two + three)

    theta = flow(theta, h / 2) + sqrt(2 * T * h) * noise()
    return flow(theta, h / 2)


def _trapezoidal(iterations, name, reference):
    @scheme(langevin, order=2)
    def trapezoidal(theta, *, h, grad, noise, T):
        kick, g, new = sqrt(2 * T * h) * noise(), grad(theta), theta
        for _ in range(iterations):
            new = theta - h / 2 * (g + grad(new)) + kick
        return new

    return trapezoidal.named(name, summary=f"{reference}.")


trapezoidal_three = _trapezoidal(
    3,
    "trapezoidal_three",
    "The trapezoidal theta-method by three iterations; Kloeden and Platen 1992, section 15.4",
)
trapezoidal_four = _trapezoidal(
    4,
    "trapezoidal_four",
    "The trapezoidal theta-method by four iterations; Dalalyan 2017, remark on theta = 1/2",
)


@scheme(langevin, order=2)
def exponential_heun(theta, *, h, grad, noise, T):
    """Exponential trapezoidal rule: theta/2 exactly, the rest by Heun; Komori, Cohen and Burrage 2017."""
    rate = Fraction(1, 2)
    kick = sqrt(-T * expm1(-2 * rate * h) / rate) * noise()
    decay = exp(-rate * h)

    def rest(x):
        return -(grad(x) - rate * x)

    first = rest(theta)
    guess = decay * (theta + h * first) + kick
    return decay * theta + h / 2 * (decay * first + rest(guess)) + kick


@scheme(langevin, order=2)
def ornstein_uhlenbeck_between(theta, *, h, grad, noise, T):
    """Strang splitting of the exact flow of theta/2 with noise and of the rest by Heun; Buckwar, Tamborrino and Tubikanec 2020."""
    rate = Fraction(1, 2)

    def flow(x, t):
        first = -(grad(x) - rate * x)
        guess = x + t * first
        return x + t / 2 * (first - (grad(guess) - rate * guess))

    theta = flow(theta, h / 2)
    theta = exp(-rate * h) * theta + sqrt(-T * expm1(-2 * rate * h) / rate) * noise()
    return flow(theta, h / 2)


taylor_about_shifted_noise = _correct.taylor_step.named(
    "taylor_about_shifted_noise",
    summary="One gradient at half of two draws, and a Hessian-vector product; Milstein and Tretyakov 2004, section 2.2.",
)
