"""Local orders: pinned for the catalogue, with the minibatch given and averaged over."""

from __future__ import annotations

import inspect
import re
from fractions import Fraction

import pytest

from sgverify import dynamics, exp, log, scheme, sin, sqrt
from sgverify.errors import DefinitionError, NotExpandableError
from sgverify.exact.readings.formula import plant
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.operators import transition_of
from sgverify.schemes import ALPHABETS, NAMED, find_scheme, kinetic, langevin
from tests.zoo.schemes import (
    THERMOSTAT,
    WITHOUT_DIM,
    euler_of_two_minibatches,
    heun,
    heun_of_two_minibatches,
)

# Computed by this package and held against brute force in test_against_brute_force.py: (given, averaged).
PINNED = {
    "sgld-euler": (1, 1),
    "sghmc-euler": (1, 1),
    "sghmc-euler-explicit": (1, 1),
    "sghmc-aboba": (2, 1),
    "sghmc-baoab": (2, 1),
    "sghmc-obabo": (2, 1),
    "sghmc-oabao": (2, 1),
    "sghmc-ubu": (2, 1),
    "sghmc-nogin": (2, 1),
    "sghmc-momentum": (1, 1),
    # The noise of (46) with B is the root of 2 D T h - B h^2 up to powers of h: its series divides by D T.
    "sghmc-momentum-0.001": (1, 1),
    "sgnht-euler": (1, 1),
    "sgnht-euler-explicit": (1, 1),
    "sgnht-aboba": (2, 1),
    "sgrld-euler": (1, 1),
    "sgrhmc-euler": (1, 1),
    "sgrhmc-aboba": (2, 1),
}


def orders(item, dim=1):
    found = local_order(item, dim)
    assert found.dim == dim
    return found.order, found.averaged_order


@pytest.mark.parametrize(
    ("name", "dim"),
    # Every entry of a metric has all its derivatives: 16 functions in dimension 4 take a minute.
    [
        (name, dim)
        for name in NAMED
        for dim in (1, 2, 3, 4)
        if name in PINNED and (dim <= 2 or not NAMED[name].dynamics.riemannian)
    ],
)
def test_the_catalogue(name: str, dim: int) -> None:
    assert orders(NAMED[name], dim) == PINNED[name]


def test_every_scheme_without_memory_is_pinned() -> None:
    assert not [name for name in set(NAMED) - set(PINNED) if not NAMED[name].memory]


@pytest.mark.parametrize(
    ("word", "order"), [("ABO", 1), ("OBA", 1), ("BAOAB", 2), ("OABAO", 2), ("ABOOBA", 2), ("ABOAB", 1)]
)
@pytest.mark.parametrize("alphabet", ["sghmc-chen", "sghmc-md", "sgnht-chen"])
def test_words(alphabet: str, word: str, order: int) -> None:
    assert orders(find_scheme(f"{alphabet}-{word}"))[0] == order


def test_the_claimed_order_is_not_asked() -> None:
    assert orders(NAMED["sghmc-aboba"].named("x", order=7))[0] == 2


def test_shares_that_are_no_palindrome_lose_an_order() -> None:
    half = Fraction(1, 2)
    for name, text in (("sghmc-chen", "ABOBA"), ("sghmc-md", "ABOBA")):
        word = ALPHABETS[name].word
        assert orders(word(text, coefficients=[half, half, 1, half, half]))[0] == 2
        assert orders(word(text, coefficients=[Fraction(1, 3), half, 1, half, Fraction(2, 3)]))[0] == 1
        # Negative shares run a flow backwards; without a draw in that letter it stays a flow.
        assert orders(word(text, coefficients=[Fraction(-1), half, 1, half, Fraction(2)]))[0] == 1


@pytest.mark.parametrize(
    ("name", "was", "now", "order"),
    [
        ("sgld-euler", "sqrt(2*T*h)", "sqrt(2*T*h)*(1 + h)", 1),
        ("sgld-euler", "sqrt(2*T*h)", "sqrt(2*T)*h", 0),
        ("sgld-euler", "sqrt(2*T*h)", "sqrt(3*T*h)", 0),
        ("sgld-euler", "theta - h*grad(theta)", "theta + h*grad(theta)", 0),
        ("sghmc-euler-explicit", "h*D*p", "h*p", 0),
        ("sghmc-euler-explicit", "p - h*grad(theta)", "p - h*grad(theta - h*h*p)", 1),
    ],
)
def test_planted_bugs_and_harmless_edits(name: str, was: str, now: str, order: int) -> None:
    assert orders(plant(NAMED[name], was, now))[0] == order


def test_a_thermostat_in_two_dimensions() -> None:
    assert orders(THERMOSTAT.word("ABOBA"), 2) == (2, 1)
    # Without its 1/dim it passes in one dimension only.
    assert orders(WITHOUT_DIM.word("ABOBA"), 1) == (2, 1)
    assert orders(WITHOUT_DIM.word("ABOBA"), 2) == (0, 0)


def test_defects_as_text() -> None:
    found = local_order(NAMED["sgld-euler"], 1)
    assert found.given_minibatch is not None and found.averaged is not None
    assert found.given_minibatch.text == "h^2 ( [-(1/2) U' U'' + (1/2) U''' T] d_theta + [U'' T] d_theta^2 )"
    assert found.averaged.text == found.given_minibatch.text + " + E[(W')^2] * ( h^2 ( [1/2] d_theta^2 ) )"
    aboba = local_order(NAMED["sghmc-aboba"], 1)
    assert aboba.averaged is not None and aboba.averaged.text == "E[(W')^2] * ( h^2 ( [1/2] d_p^2 ) )"
    assert aboba.given_minibatch is not None and aboba.given_minibatch.power == 3
    assert " D" in aboba.given_minibatch.text and "d_p" in aboba.given_minibatch.text


@pytest.mark.parametrize(
    ("item", "given", "noise"),
    [
        # One minibatch in both gradients keeps E W'^2 / 2; two of them halve it and lose E W' W''.
        (heun, 2, "E[(W')^2] * ( h^2 ( [1/2] d_theta^2 ) ) + E[W' W''] * ( h^2 ( [1/2] d_theta ) )"),
        (heun_of_two_minibatches, 2, "E[(W')^2] * ( h^2 ( [1/4] d_theta^2 ) )"),
        (euler_of_two_minibatches, 1, "E[(W')^2] * ( h^2 ( [1/4] d_theta^2 ) )"),
    ],
)
def test_fresh_minibatches(item, given: int, noise: str) -> None:
    found = local_order(item, 1)
    assert found.averaged is not None
    assert (found.order, found.averaged_order) == (given, 1)
    assert found.averaged.text.endswith(noise)
    assert (found.averaged.text == noise) is (given == 2)


def memory_scheme(cached_per_subject):
    """Adams-Bashforth: theta - h (3/2 g_n - 1/2 g_(n-1)), the memory started as it stays."""

    @scheme(langevin, memory={"before": lambda theta, *, grad: grad(theta)})
    def adams(theta, before, *, h, grad, noise, T):
        now = grad(theta)
        return theta - h * (3 * now / 2 - before / 2) + sqrt(2 * T * h) * noise(), cached_per_subject(now)

    return adams


def test_a_memory_is_followed_until_its_start_is_forgotten() -> None:
    """AB2 is -h g and a difference that sums to nothing: its variance on N(0, 1/P) is (1/P) (1 + O((h P)^2))."""
    found = local_order(memory_scheme(lambda now: now), 1)
    assert (found.steps, found.order) == (2, 2)
    # The first step cannot see what the memory of the first step will do to the second.
    assert local_order(memory_scheme(lambda now: 2 * now), 1).order == 0
    assert local_order(heun, 1).steps == 1


def averaged_noise(share, begin=lambda theta, *, noise: noise()):
    """Leimkuhler and Matthews 2013 where `share` is 1/2: the noise of two steps, averaged."""

    @scheme(langevin, memory={"before": begin})
    def averaging(theta, before, *, h, grad, noise, T):
        new = noise()
        return theta - h * grad(theta) + sqrt(2 * T * h) * share * (before + new), new

    return averaging


def test_a_memory_that_starts_from_noise() -> None:
    """Over n steps T h of the variance is missing, whatever n: nothing that accumulates."""
    found = averaged_noise(Fraction(1, 2))
    assert (found.starts.draws, found.draws) == (1, 1)
    assert local_order(found, 2).order == 1


@pytest.mark.parametrize(
    "wrong", [averaged_noise(1 / sqrt(2)), averaged_noise(Fraction(1, 3)), averaged_noise(1)]
)
def test_noise_of_two_steps_has_to_sum_to_one(wrong) -> None:
    """(z + new)/sqrt(2) has the right variance in every step, and twice as much over many."""
    assert local_order(wrong, 2).order == 0


def test_what_the_start_of_a_memory_leaves_is_counted_once() -> None:
    """A start that is off by 1 in units of sqrt(h) moves every later average by O(sqrt(h))."""
    off = averaged_noise(Fraction(1, 2), lambda theta: 0 * theta + 1)
    found = local_order(off, 1)
    assert found.start is not None
    assert found.order == Fraction(1, 2)
    assert local_order(averaged_noise(Fraction(1, 2), lambda theta: 0 * theta), 1).order == 1


def test_a_memory_that_starts_from_a_minibatch() -> None:
    """The start draws a minibatch of its own, as the sampler does, and the first step another."""
    found = local_order(memory_scheme(lambda now: now), 1).averaged
    assert found is not None
    # h^2 of two steps: -3/2 W_1 + 1/2 W_0 - 3/2 W_2 + 1/2 W_1 = 1/2 W_0 - W_1 - 3/2 W_2, half the sum of squares.
    assert "E[(W')^2] * ( h^2 ( [7/4] d_theta^2 ) )" in found.text


def test_fresh_minibatches_without_a_plain_one() -> None:
    @scheme(langevin)
    def fresh_only(theta, *, h, grad, noise, T):
        drawn, first, second = sqrt(2 * T * h) * noise(), grad.fresh(), grad.fresh()
        slope = second(theta)
        return theta - h * (slope + first(theta - h * slope + drawn)) / 2 + drawn

    found, other = local_order(fresh_only, 1), local_order(heun_of_two_minibatches, 1)
    assert fresh_only.minibatches == 2
    assert found == other


@dynamics(theta="vector")
def diffusion(theta, *, T):
    return 0 * theta, T


@dynamics(theta="vector")
def relaxation(theta, *, D, T):
    return -D * theta, T


def test_exact_flows_have_no_defect() -> None:
    @scheme(diffusion)
    def brownian(theta, *, h, noise, T):
        return theta + sqrt(2 * T * h) * noise()

    @scheme(relaxation)
    def ornstein_uhlenbeck(theta, *, h, noise, D, T):
        return exp(-D * h) * theta + sqrt(T / D * (1 - exp(-2 * D * h))) * noise()

    found = local_order(brownian, 2)
    assert (found.given_minibatch, found.averaged) == (None, None)
    assert found.order == found.examined == 4
    # E (sqrt(2T) sqrt(h) z)^8 / 8! = (T h)^4 105 2^4 / 8! = (T h)^4 / 4!: moments beyond the fourth are taken.
    ring = Ring(1, diffusion.shapes, diffusion.parameters, depth=1, draws=1, minibatches=1, cap=9)
    (term,) = transition_of(brownian, ring, 8).at(8).items()
    assert term == ((8,), ring.generator("root", "T") ** 8 * ring.constant(Fraction(1, 24)))
    # T / D is no polynomial in sqrt(T), sqrt(D): 1/D is an element of its own.
    exact = local_order(ornstein_uhlenbeck, 2)
    assert (exact.given_minibatch, exact.averaged, exact.order) == (None, None, 4)

    @scheme(relaxation)
    def twice_as_wide(theta, *, h, noise, D, T):
        return exp(-D * h) * theta + sqrt(T / D * (1 - exp(-3 * D * h))) * noise()

    assert local_order(twice_as_wide, 2).order == 0


def test_a_wrong_moment_beyond_the_fourth_is_seen() -> None:
    """The product of two draws has the mean and variance of one; its fourth moment is 9 instead of 3."""

    @scheme(diffusion)
    def product(theta, *, h, noise, T):
        return theta + sqrt(2 * T * h) * noise() * noise()

    found = local_order(product, 1)
    assert found.given_minibatch is not None
    assert (found.order, set(found.given_minibatch.operator)) == (1, {(4,)})


def kicked(**changed):
    values = {
        "drift": lambda theta, h, grad: h * grad(theta),
        "amplitude": lambda theta, h, T: sqrt(2 * T * h),
    }
    values.update(changed)

    @scheme(langevin)
    def step(theta, *, h, grad, noise, T):
        return theta - values["drift"](theta, h, grad) + values["amplitude"](theta, h, T) * noise()

    return step


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"amplitude": lambda theta, h, T: sqrt(2 * T * h * theta)}, "square root"),
        ({"amplitude": lambda theta, h, T: sqrt(2 * T * h) / (h - h)}, "division by zero"),
        ({"amplitude": lambda theta, h, T: sqrt(2 * T * h) / theta}, "not a polynomial"),
        ({"amplitude": lambda theta, h, T: sqrt(sqrt(h) * T)}, "odd power"),
        ({"amplitude": lambda theta, h, T: T / h}, "vanishes with h"),
        ({"amplitude": lambda theta, h, T: sqrt(2 * T * h) / (T - 1)}, r"1\) / \(T - 1\)"),
        ({"amplitude": lambda theta, h, T: sqrt(-2 * T * h)}, "which is negative"),
        ({"drift": lambda theta, h, grad: h * log(theta)}, "not known to be a number"),
        ({"drift": lambda theta, h, grad: h * sin(theta / h)}, "vanishes with h"),
        ({"drift": lambda theta, h, grad: h * grad(2 * theta)}, "does not tend to theta"),
        ({"drift": lambda theta, h, grad: h * grad(theta) / (1 + theta)}, "not a polynomial"),
    ],
)
def test_what_has_no_series_is_refused(changed: dict, says: str) -> None:
    with pytest.raises(NotExpandableError, match=says):
        local_order(kicked(**changed), 1)


@pytest.mark.parametrize(
    ("amplitude", "order"),
    [
        (lambda theta, h, T: sqrt(2 * T * h) / sqrt(1 + h), 1),
        (lambda theta, h, T: sqrt(2 * h) * sqrt(T), 1),
        (lambda theta, h, T: sqrt(3) * sqrt(2 * T * h / 3), 1),
        (lambda theta, h, T: sqrt(6 * T * h) / sqrt(2), 0),
        (lambda theta, h, T: sqrt(h) * sqrt(2 * T + 1), 0),
        (lambda theta, h, T: sqrt(2 * T * h * exp(-h * theta)), 1),
        (lambda theta, h, T: 2 * sqrt(h * T) * (1 - sqrt(h)), 0),
    ],
)
def test_roots_that_are_no_polynomials(amplitude, order: int) -> None:
    """Roots of numbers and of parameters are opaque, and their squares are carried out."""
    assert local_order(kicked(amplitude=amplitude), 1).order == order


def test_a_draw_cannot_flow_backwards() -> None:
    """Formally E (sqrt(-t) z)^2 = -t would be the flow of a negative time; no code can draw it."""
    shares = [Fraction(3, 2), Fraction(1, 2), 1, Fraction(1, 2), Fraction(-1, 2)]
    with pytest.raises(DefinitionError, match="the letter O draws noise and has the negative share -1/2"):
        ALPHABETS["sghmc-chen"].word("OABAO", coefficients=shares)


def euler_with_a_momentum_named(name: str):
    def signature(*keywords: str) -> inspect.Signature:
        kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        state = [inspect.Parameter(item, kinds[0]) for item in ("theta", name)]
        return inspect.Signature([*state, *(inspect.Parameter(item, kinds[1]) for item in keywords)])

    def diffusion_of(theta, p, *, grad, D, T):
        return (p, -grad(theta) - D * p), (0, D * T)

    def step(theta, p, *, h, grad, noise, D, T):
        p = p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()
        return theta + h * p, p

    diffusion_of.__signature__ = signature("grad", "D", "T")  # type: ignore[attr-defined]
    step.__signature__ = signature("h", "grad", "noise", "D", "T")  # type: ignore[attr-defined]
    return scheme(dynamics(**{"theta": "vector", name: "vector"})(diffusion_of))(step)


@pytest.mark.parametrize(
    "name", ["z", "U", "B", "root", "slot", "dual", "U0_1", "z0_0", "slot_0", "dual_theta"]
)
def test_a_state_may_be_called_like_the_rings_own_symbols(name: str) -> None:
    found = local_order(euler_with_a_momentum_named(name), 1).given_minibatch
    plain = local_order(NAMED["sghmc-euler"], 1).given_minibatch
    assert found is not None and plain is not None
    assert found.text == re.sub(r"\bp\b", name, plain.text.replace("d_p", f"d_{name}"))


def test_a_step_that_forgets_h() -> None:
    @scheme(kinetic)
    def forgot(theta, p, *, h, grad, noise, D, T):
        return theta + h * p, p - h * grad(theta) - D * p + sqrt(2 * D * T * h) * noise()

    assert local_order(forgot, 1).order == -1
