"""The example file that users start from works as it stands."""

from __future__ import annotations

from sgverify import Alphabet, dynamics, exp, scheme, sqrt
from sgverify.schemes import Dynamics, find_scheme, kinetic, langevin  # ready-made dynamics


@scheme(langevin, order=1)  # order: the claim; leave it out and it is only measured
def heun(theta, *, h, grad, noise, T):
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad(guess)) + kick


def drift(theta, p, *, t):
    return theta + t * p, p


def friction(theta, p, *, t, D):
    return theta, exp(-D * t) * p


def kick(theta, p, *, t, grad, noise, D, T):
    return theta, p - t * grad(theta) + sqrt(2 * D * T * t) * noise()


def weak_kick(theta, p, *, t, grad, noise, D, T):
    return theta, p - t * grad(theta) + sqrt(D * T * t) * noise()


aboba = Alphabet("mine", kinetic, A=drift, B=friction, O=kick).word("ABOBA", order=2)
wrong = Alphabet("wrong", kinetic, A=drift, B=friction, O=weak_kick).word("ABOBA", order=2)


def one_step(found, theta, p=None):
    noises = iter((0.5, -1.25))
    state = (theta,) if p is None else (theta, p)
    ingredients = {"h": 0.25, "grad": lambda x: x**3 - x, "noise": lambda: next(noises), "D": 2.0, "T": 0.5}
    return tuple(float(value) for value in found.step(state, **ingredients))


def test_names_orders_and_counts() -> None:
    assert (heun.name, heun.order, heun.draws, heun.gradients, heun.minibatches) == ("heun", 1, 1, 3, 1)
    assert (aboba.name, aboba.order, aboba.draws, aboba.gradients) == ("mine-aboba", 2, 1, 1)
    assert heun.parameters == ("T",)
    assert aboba.word.palindromic


def test_heun_is_computed_as_it_is_written() -> None:
    (theta,) = one_step(heun, 1.5)
    draw = (2 * 0.5 * 0.25) ** 0.5 * 0.5
    slope = 1.5**3 - 1.5
    guess = 1.5 - 0.25 * slope + draw
    # Every operation is exact or rounded alike here: dyadic numbers, and 0.25 has an exact root.
    assert theta == 1.5 - 0.125 * (slope + (guess**3 - guess)) + draw


def test_the_users_word_is_the_catalogues() -> None:
    assert one_step(aboba, 1.5, -0.5) == one_step(find_scheme("sghmc-aboba"), 1.5, -0.5)
    assert one_step(wrong, 1.5, -0.5) != one_step(aboba, 1.5, -0.5)


def test_a_dynamics_of_ones_own() -> None:
    @dynamics(theta="vector")
    def slow(theta, *, grad, T):
        return -grad(theta) / 2, T / 2

    @scheme(slow)
    def euler(theta, *, h, grad, noise, T):
        return theta - h / 2 * grad(theta) + sqrt(T * h) * noise()

    assert isinstance(slow, Dynamics)
    assert euler.dynamics is slow
    assert euler.order is None
