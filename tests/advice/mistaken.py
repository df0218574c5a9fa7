"""Wrong schemes as users write them, each beside the line that has to be edited."""

from sgverify import Alphabet, exp, expm1, scheme, sqrt
from sgverify.schemes import dot, kinetic, langevin, thermostat

# fmt: off


@scheme(langevin, order=1)
def halved(theta, *, h, grad, noise, T):
    kick = sqrt(T*h)*noise()
    guess = theta - h*grad(theta) + kick
    return theta - h/2*(grad(theta) + grad(guess)) + kick


def drift(theta, p, *, t):                          return theta + t*p, p
def friction(theta, p, *, t, D):                    return theta, exp(-D*t)*p
def kick(theta, p, *, t, grad, noise, D, T):        return theta, p - t*grad(theta) + sqrt(2*D*T*t)*noise()
def weak_kick(theta, p, *, t, grad, noise, D, T):   return theta, p - t*grad(theta) + sqrt(D*T*t)*noise()


right = Alphabet("mine", kinetic, A=drift, B=friction, O=kick).word("ABOBA", order=2)
unsymmetric = Alphabet("unsymmetric", kinetic, A=drift, B=friction, O=kick).word("ABOB", order=2)
wrong = Alphabet("wrong", kinetic, A=drift, B=friction, O=weak_kick).word("ABOBA", order=2)


def enclosed(factor):
    @scheme(langevin, order=1)
    def climbing(theta, *, h, grad, noise, T):
        return theta + factor*h*grad(theta) + sqrt(2*T*h)*noise()

    return climbing


climbing = enclosed(1)


@scheme(langevin, order=1)
def sided(theta, *, h, grad, noise, T):
    sign = theta/sqrt(theta*theta)
    return theta - h*grad(theta) + sqrt(2*T*h)*(2 - sign)*noise()


@scheme(kinetic, order=2)
def overclaimed(theta, p, *, h, grad, noise, D, T):
    p = p - h*grad(theta) - h*D*p + sqrt(2*D*T*h)*noise()
    return theta + h*p, p


@scheme(langevin, order=1)
def by_h(theta, *, h, grad, noise, T):
    return theta - h*grad(theta) + h*sqrt(2*T)*noise()


def begun(theta, p, *, grad):
    return grad(theta)


@scheme(kinetic, order=2, memory={"kept": begun})
def stale(theta, p, kept, *, h, grad, noise, D, T):
    middle = theta + h/2*p
    slope = grad(middle)
    p = exp(-D*h/2)*(exp(-D*h/2)*p - h*kept + sqrt(2*D*T*h)*noise())
    return middle + h/2*p, p, slope


longer = Alphabet("longer", kinetic, A=drift, B=friction, O=kick).word("ABOBA", order=2, coefficients="1/3,1/2,1,1/2,2/3")


@scheme(langevin, order=1)
def tempered(theta, *, h, grad, noise, T):
    return theta - h*grad(theta) + sqrt(2*h)*noise()


@scheme(kinetic, order=1)
def frictionless(theta, p, *, h, grad, noise, D, T):
    p = p - h*grad(theta) - h*D*p + sqrt(2*T*h)*noise()
    return theta + h*p, p


@scheme(kinetic, order=1)
def friction_of_two(theta, p, *, h, grad, noise, T):
    p = p - h*grad(theta) - h*2*p + sqrt(4*T*h)*noise()
    return theta + h*p, p


@scheme(langevin, order=1)
def own_gradient(theta, *, h, grad, noise, T):
    return theta - h*theta + sqrt(2*T*h)*noise()


@scheme(langevin, order=1)
def noisy_place(theta, *, h, grad, noise, T):
    return theta - h*grad(theta + noise()) + sqrt(2*T*h)*noise()


@scheme(kinetic, order=2)
def unmoved(theta, p, *, h, grad, noise, D, T):
    p = p - h/2*grad(theta)
    middle = theta
    p = exp(-D*h)*p + sqrt(-T*expm1(-2*D*h))*noise()
    theta = middle
    return theta, p - h/2*grad(theta)


def kept(theta, *, grad):
    return grad(theta)


@scheme(langevin, order=1, memory={"g": kept})
def squared(theta, g, *, h, grad, noise, T):
    g = 9*g**2/10 + grad(theta)/10
    return theta - h*g + sqrt(2*T*h)*noise(), g


@scheme(thermostat, order=1)
def summed(theta, p, xi, *, h, grad, noise, dim, D, T):
    p = p - h*xi*p - h*grad(theta) + sqrt(2*D*T*h)*noise()
    return theta + h*p, p, xi + h*(dot(p, p) - T)


@scheme(thermostat, order=1)
def halved_energy(theta, p, xi, *, h, grad, noise, D, T):
    p = p - h*xi*p - h*grad(theta) + sqrt(2*D*T*h)*noise()
    return theta + h*p, p, xi + h*(dot(p, p)/2 - T)
