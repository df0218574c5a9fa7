"""What exact computation shows on the paper's model (theory.md), derived by the tool and nowhere written in."""

from __future__ import annotations

from fractions import Fraction

import flint
import pytest
from flint import arb, fmpq

from sgverify import scheme, sqrt
from sgverify.configuration import Configuration
from sgverify.errors import NotExpandableError
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import answers_for
from sgverify.exact.chain.ergodic import stationary_bias
from sgverify.schemes import NAMED, langevin
from sgverify.subject.binding import make_subject
from tests.exact.series_chains import expand
from tests.zoo.affine_models import gaussian, model_of
from tests.zoo.schemes import heun, heun_of_two_minibatches

WORDS = ("sghmc-aboba", "sghmc-baoab", "sghmc-obabo", "sghmc-oabao", "sghmc-chen-baoab", "sghmc-chen-oabao")

BEYOND = ("theta**3", "theta**4")


def bias(scheme, **settings):
    return answers_for(model_of(scheme, **settings)).expansion


def order(scheme, **settings):
    """The index of the first coefficient that is not zero; None where all are, each proved or enclosed."""
    found = bias(scheme, **settings)
    # Moments beyond the second are enclosed at tiny steps: a zero is a ball that holds it.
    assert found.exact or settings["test_function"] in BEYOND, "in fractions, so that a zero is a zero"
    return next((j for j, value in enumerate(found.values) if value), None)


@pytest.mark.parametrize("friction", [0.5, 2.0, 31.0])
def test_orders_of_the_stationary_bias(friction: float) -> None:
    """Items 1 to 3."""
    for name, theta, momentum in (
        ("sghmc-aboba", 2, 2),
        ("sghmc-euler-explicit", 1, 1),
        ("sghmc-euler", 2, 1),
        ("sghmc-baoab", None, 2),
    ):
        assert order(name, friction=friction) == theta
        assert order(name, friction=friction, test_function="p**2") == momentum
    assert order("sgld-euler") == 1


# Computed here: the order in theta^2, theta^3, theta^4, and in p^2; the mean of theta never has a bias.
MOLECULAR = {
    "baoab": (None, 2),
    "aboba": (None, 2),
    "obabo": (2, None),
    "oabao": (2, None),
    "aoboa": (2, 2),
}


@pytest.mark.parametrize("word", MOLECULAR)
def test_molecular_words_without_bias_in_any_polynomial_of_theta(word: str) -> None:
    """Item 3: BAOAB has none in theta, and so has ABOBA; where the kicks stand outside, p has none."""
    theta, momentum = MOLECULAR[word]
    assert order(f"sghmc-md-{word}", test_function="theta") is None
    for f in ("theta**2", *BEYOND):
        assert order(f"sghmc-md-{word}", test_function=f) == theta
    assert order(f"sghmc-md-{word}", test_function="p**2") == momentum


@pytest.mark.by_default("iid")
@pytest.mark.parametrize("kind", ["iid", "without-replacement"])
def test_minibatches_make_every_scheme_first_order(kind: str) -> None:
    """Item 4: exponent 1 for all, with one leading coefficient for all kinetic schemes of order two."""
    gradient = {"kind": kind, "batch": 10}
    leading = set()
    for name in (*WORDS, *(name for name in NAMED if make_subject(name, Configuration()).affine)):
        found = bias(name, gradient=gradient)
        assert found.exact and found.values[0] == 0 and found.values[1] != 0, name
        if name in WORDS:
            leading.add(found.texts[1])
    assert len(leading) == 1
    assert bias("sghmc-euler-explicit", gradient=gradient).texts[1] not in leading
    # The coefficient is h/(2 D) V / Lambda: extra noise h V against the own 2 D T, on a variance T / Lambda.
    model = model_of("sghmc-aboba", gradient=gradient)
    assert model.noise.covariance is not None
    expected = model.noise.covariance[0, 0] / (4 * fmpq(1001))
    with flint.ctx.workprec(256):
        coefficient = answers_for(model).expansion.values[1]
    assert coefficient == pytest.approx(float(arb(expected).mid()), rel=1e-15)


def test_the_whole_data_set_without_replacement_is_the_full_gradient() -> None:
    full = bias("sghmc-aboba")
    assert bias("sghmc-aboba", gradient={"kind": "without-replacement", "batch": 1000}) == full
    assert bias("sghmc-aboba", gradient={"kind": "iid", "batch": 1000}).values[1] != 0


def test_two_minibatches_halve_the_noise() -> None:
    gradient = {"kind": "iid", "batch": 10}
    one, two = (bias(scheme, gradient=gradient).values[1] for scheme in (heun, heun_of_two_minibatches))
    assert two == pytest.approx(one / 2, rel=1e-14)
    assert bias(heun) == bias(heun_of_two_minibatches)


def test_equivalent_words_differ_in_their_constants() -> None:
    """Item 8: of one order, different in size and in sign."""
    found = {word: bias(word, test_function="p**2").values[2] for word in WORDS}
    assert len(set(found.values())) > 1
    assert {value > 0 for value in found.values()} == {True, False}


@pytest.mark.parametrize("test_function", ["theta**2", "p**2", "theta + theta*p"])
@pytest.mark.parametrize("gradient", ["full", "iid"])
@pytest.mark.parametrize("scheme", ["sgld-euler", "sghmc-euler", "sghmc-aboba", "sghmc-obabo"])
def test_expansions_against_values_at_tiny_steps(scheme: str, gradient: str, test_function: str) -> None:
    """(b(h) - sum_(j<k) b_j h^j) / h^k = b_k + h b_(k+1) + ... at h = 1e-15, the values known to 1e-70."""
    if scheme == "sgld-euler" and "p" in test_function:
        pytest.skip("no momentum")
    settings = {"target": {"data": [0.1, 0.5, 1.0, 0.2]}, "gradient": {"kind": gradient, "batch": 2}}
    model = model_of(scheme, test_function=test_function, temperature=0.5, **settings)
    answers = answers_for(model)
    h = fmpq(1, 10**15)
    truth = fmpq(model.truth.numerator, model.truth.denominator)
    coefficients = expand(answers.series, answers.exact_observable, truth).coefficients
    assert [str(c) for c in coefficients if len(str(c)) <= 40] == [
        t for t in answers.expansion.texts if "..." not in t and "char" not in t
    ]
    value = stationary_bias(model.problem_at(fixed_step(Fraction(1, 10**15))), relative=1e-70, bits=800)
    with flint.ctx.workprec(800):
        left = value.ball
        for k in range(4):
            found = left / arb(h) ** k
            # The tail is h (b_(k+1) + h b_(k+2) + ...), and h times the next coefficient is far below this.
            assert abs(found - arb(coefficients[k])) < 1e-14 * (1 + abs(arb(coefficients[k + 1]))), k
            left = left - arb(coefficients[k]) * arb(h) ** k


def test_exact_coefficients_of_euler_by_hand() -> None:
    """SGLD on N(0, T/lambda): variance T/lambda / (1 - h lambda/2), so b_j = (T/lambda) (lambda/2)^j."""
    answers = answers_for(model_of("sgld-euler", temperature=0.5, target=gaussian(3.0)))
    assert [Fraction(text) for text in answers.expansion.texts] == [
        0,
        *(Fraction(1, 6) * Fraction(3, 2) ** j for j in range(1, 5)),
    ]


def test_the_order_does_not_hide_behind_a_symmetric_mean() -> None:
    """A biased mean is seen by an odd test function on a target whose mean is not zero."""
    for f in ("theta", "theta**2"):
        assert order("sgld-euler", test_function=f, target=gaussian(2.0, 1.5)) == (
            None if f == "theta" else 1
        )


def test_a_step_without_an_expansion() -> None:
    @scheme(langevin)
    def forgot(theta, *, h, grad, noise, T):
        return theta - grad(theta) / 100 + sqrt(2 * T * h) * noise()

    @scheme(langevin)
    def odd(theta, *, h, grad, noise, T):
        return theta - h * grad(theta) + h * sqrt(h) * theta + sqrt(2 * T * h) * noise()

    with pytest.raises(NotExpandableError, match="identity"):
        bias(forgot, target=gaussian(2.0))
    with pytest.raises(NotExpandableError, match="power s"):
        bias(odd, target=gaussian(2.0))
