"""Euler schemes and their kin: explicit and nearly implicit steps of first order."""

from fractions import Fraction

from sgverify.schemes.definition.mathematics import exp, expm1, sqrt
from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.scheme import scheme
from tests.mutants import correct as _correct


@scheme(langevin, order=1)
def unadjusted_langevin(theta, *, h, grad, noise, T):
    """Unadjusted Langevin algorithm, Euler; Roberts and Tweedie 1996."""
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def euler_two_point(theta, *, h, grad, noise, T):
    """Euler with signs for normal draws; Milstein and Tretyakov 2004, section 2.1."""
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise.two_point()


@scheme(langevin, order=1)
def euler_three_point(theta, *, h, grad, noise, T):
    """Euler with three-point draws; Kloeden and Platen 1992, section 14.1."""
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise.three_point()


@scheme(langevin, order=1)
def euler_uniform(theta, *, h, grad, noise, T):
    """Euler with uniform draws of variance 1; Duenweg and Paul 1991."""
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise.uniform()


@scheme(langevin, order=1)
def euler_in_two_halves(theta, *, h, grad, noise, T):
    """Two Euler steps of half the size as one; Kloeden and Platen 1992, section 10.2."""
    theta = theta - h / 2 * grad(theta) + sqrt(T * h) * noise()
    return theta - h / 2 * grad(theta) + sqrt(T * h) * noise()


@scheme(langevin, order=1)
def gradient_of_two_minibatches(theta, *, h, grad, noise, T):
    """SGLD whose gradient is the mean of two minibatches'; Welling and Teh 2011."""
    g = (grad(theta) + grad.fresh()(theta)) / 2
    return theta - h * g + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def noise_before_gradient(theta, *, h, grad, noise, T):
    """The noise first, then a gradient step from there: the Lie splitting of Durmus, Majewski and Miasojedow 2019."""
    theta = theta + sqrt(2 * T * h) * noise()
    return theta - h * grad(theta)


@scheme(langevin, order=1)
def vilmart_kernel(theta, *, h, grad, noise, T):
    """The gradient at half of the noise, the method to be postprocessed; Vilmart 2015, equation (5)."""
    kick = sqrt(2 * T * h) * noise()
    return theta - h * grad(theta + kick / 2) + kick


def _implicit(share, iterations, name, reference):
    """theta' = theta - h ((1 - share) grad U(theta) + share grad U(theta')) + noise, iterated from theta itself."""

    @scheme(langevin, order=1)
    def theta_method(theta, *, h, grad, noise, T):
        kick, g, new = sqrt(2 * T * h) * noise(), grad(theta), theta
        for _ in range(iterations):
            new = theta - h * ((1 - share) * g + share * grad(new)) + kick
        return new

    return theta_method.named(name, summary=f"{reference}.")


backward_euler_one = _implicit(
    1, 2, "backward_euler_one", "Backward Euler, one corrected guess; Kloeden and Platen 1992, chapter 12"
)
backward_euler_two = _implicit(
    1, 3, "backward_euler_two", "Backward Euler, two corrected guesses; Kloeden and Platen 1992, chapter 12"
)
theta_method_quarter = _implicit(
    Fraction(1, 4), 2, "theta_method_quarter", "Theta-method with theta = 1/4, two iterations; Higham 2000"
)
theta_method_three_quarters = _implicit(
    Fraction(3, 4),
    3,
    "theta_method_three_quarters",
    "Theta-method with theta = 3/4, three iterations; Hodgkinson et al. 2021",
)


@scheme(langevin, order=1)
def proximal_point(theta, *, h, grad, noise, T):
    """A proximal step by two gradient iterations, then noise; Wibisono 2018, section 4."""
    new = theta - h * grad(theta)
    new = theta - h * grad(new)
    return theta - h * grad(new) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def one_leapfrog(theta, *, h, grad, noise, T):
    """Unadjusted HMC of one leapfrog step in the time sqrt(2h), momentum refreshed; Neal 2011, section 5.2."""
    t, p = sqrt(2 * h), sqrt(T) * noise()
    return theta + t * (p - t / 2 * grad(theta))


@scheme(langevin, order=1)
def two_leapfrogs(theta, *, h, grad, noise, T):
    """Unadjusted HMC of two leapfrog steps in the time sqrt(2h) together; Bou-Rabee and Eberle 2023."""
    t, p = sqrt(h / 2), sqrt(T) * noise()
    p = p - t / 2 * grad(theta)
    theta = theta + t * p
    p = p - t * grad(theta)
    return theta + t * p


@scheme(langevin, order=1)
def exponential_euler(theta, *, h, grad, noise, T):
    """Exponential Euler: the linear part theta/2 of the gradient exactly, the rest frozen; Jentzen and Kloeden 2009."""
    rate = Fraction(1, 2)
    rest = grad(theta) - rate * theta
    decay = -expm1(-rate * h) / rate
    return exp(-rate * h) * theta - decay * rest + sqrt(-T * expm1(-2 * rate * h) / rate) * noise()


@scheme(langevin, order=1)
def linearly_implicit(theta, *, h, grad, noise, T):
    """Semi-implicit Euler: a linear part theta/2 of the gradient taken at the end; Kloeden and Platen 1992, section 12.2."""
    rate = Fraction(1, 2)
    return (theta - h * (grad(theta) - rate * theta) + sqrt(2 * T * h) * noise()) / (1 + rate * h)


@scheme(kinetic, order=1)
def explicit_euler(theta, p, *, h, grad, noise, D, T):
    """Euler of the kinetic equation, all at the old state; Kloeden and Platen 1992, section 9.1."""
    return theta + h * p, p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()


@scheme(kinetic, order=1)
def symplectic_euler(theta, p, *, h, grad, noise, D, T):
    """The momentum first, the position with the new one; Chen, Fox and Guestrin 2014, equation (15)."""
    p = p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p


@scheme(kinetic, order=1)
def symplectic_euler_position_first(theta, p, *, h, grad, noise, D, T):
    """The position first, the gradient there; Milstein and Tretyakov 2003, the other partitioned Euler method."""
    theta = theta + h * p
    return theta, p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()


@scheme(kinetic, order=1)
def lookahead(theta, p, *, h, grad, noise, D, T):
    """The gradient where the momentum would lead, as Nesterov's; Ma, Chatterji, Cheng, Flammarion, Bartlett and Jordan 2021."""
    p = (1 - h * D) * p - h * grad(theta + h * p) + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p


@scheme(kinetic, order=1)
def decoupled_decay(theta, p, *, h, grad, noise, D, T):
    """SGHMC with the exact decay of the momentum and Euler's noise; Chen, Ding and Carin 2015, Algorithm 2 with exp(-Dh)."""
    p = exp(-D * h) * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p


@scheme(langevin, order=1)
def local_linearisation(theta, *, h, grad, noise, T):
    """Ozaki's local linearisation, exponentials of the Hessian to second powers; Ozaki 1992; Roberts and Tweedie 1996."""
    g, z = grad(theta), noise()
    bent = grad.hessian(theta, g)
    drift = g - h / 2 * bent + h**2 / 6 * grad.hessian(theta, bent)
    turned = grad.hessian(theta, z)
    kick = z - h / 2 * turned + 5 * h**2 / 24 * grad.hessian(theta, turned)
    return theta - h * drift + sqrt(2 * T * h) * kick


prior_then_likelihood = _correct.prior_then_likelihood.named(
    "prior_then_likelihood",
    summary="The prior's gradient step, then the likelihood's with noise; Durmus, Majewski and Miasojedow 2019.",
)


@scheme(langevin, order=1)
def likelihood_of_two_minibatches(theta, *, h, grad, noise, T):
    """SGLD whose likelihood is averaged over two minibatches, the prior taken once; Welling and Teh 2011."""
    g = grad.prior(theta) + (grad.likelihood(theta) + grad.fresh().likelihood(theta)) / 2
    return theta - h * g + sqrt(2 * T * h) * noise()
