"""The printed formula is the definition: the same values, the same calls, and the text that a bug is planted in."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sgverify import dot, exp, expm1, scheme, sqrt
from sgverify.errors import DefinitionError
from sgverify.exact.readings.expression import Expression, name, text
from sgverify.exact.readings.formula import define, formula, plant
from sgverify.schemes import NAMED, Algebraic, Scheme, find_scheme, langevin, thermostat
from sgverify.schemes.scheme import make_scheme
from sgverify.testing.profiles import examples
from tests.tables import each_row

FRACTIONS = st.fractions(-3, 3, max_denominator=8)
POSITIVE = st.fractions(Fraction(1, 8), 3, max_denominator=8)
WORDS = st.builds(
    "sghmc-{}-{}".format,
    st.sampled_from(["chen", "md"]),
    st.text("ABO", min_size=3, max_size=8).filter(lambda text: set(text) == set("ABO")),
)


@scheme(langevin, order=1)
def heun(theta, *, h, grad, noise, T):
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad.fresh()(guess)) + kick


@scheme(langevin)
def numbers(theta, *, h, grad, noise, T):
    unused = noise()
    force = grad(theta)
    grad(unused)
    root = sqrt(2) / 3 * h
    kick = (1 - sqrt(Fraction(1, 2))) * sqrt(T * h) * noise()
    drift = (Fraction(1, 3) + h) * Fraction(-2, 3) * force - -(h**2) * -0.1 * force
    return (
        -(-theta)
        - (root - (h - 1)) / (2 / h) * drift
        + kick * Fraction(-1, 4)
        - (1 + Fraction(1, 3) - h) * theta
    )


@scheme(thermostat)
def nose_hoover(theta, p, xi, *, h, grad, noise, dim, D, T):
    p = p - h * (grad(theta) + xi * p) + sqrt(2 * D * T * h) * noise()
    theta = theta + h * p
    return theta, p, xi + h * (dot(p, p) / dim - T) + expm1(-h) ** 2 * (xi / exp(h))


@scheme(langevin, memory={"old": lambda theta, *, grad: grad(theta)})
def stale(theta, old, *, h, grad, noise, T):
    return theta - h * old + sqrt(2 * T * h) * noise(), grad(theta)


OWN = (heun, numbers, nose_hoover, stale)


class Metric:
    """The metric of one coordinate, b = 2 + theta^2, on plain numbers."""

    def root(self, theta: Any, vector: Any) -> Any:
        return (2 + theta * theta) * vector

    transposed = root

    def inverse(self, theta: Any, vector: Any) -> Any:
        return self.root(theta, self.root(theta, vector))

    def divergence(self, theta: Any) -> Any:
        return 4 * theta * (2 + theta * theta)

    def root_divergence(self, theta: Any) -> Any:
        return 2 * theta


READ_BACK: dict[int, tuple[Scheme, Scheme]] = {}
"""Schemes that were read back, by the identity of the original, which is kept beside."""


def read_back(original: Scheme) -> Scheme:
    """The scheme that the printed formula defines."""
    if id(original) not in READ_BACK:
        READ_BACK[id(original)] = original, _read_back(original)
    return READ_BACK[id(original)][1]


def _read_back(original: Scheme) -> Scheme:
    source = formula(original)
    function = source[4 : source.index("(")]
    return make_scheme(
        define(source, function),
        original.dynamics,
        order=original.order,
        memory=original.memory,
        name=original.name,
    )


class Gradient:
    """A cubic, another one for every minibatch; remembers where it was asked."""

    def __init__(self, asked: list[Any]) -> None:
        self.asked = asked
        self.minibatch = len([entry for entry in asked if entry == "fresh"])

    def __call__(self, theta: Any) -> Any:
        self.asked.append((self.minibatch, theta))
        return theta * theta * theta - (2 + self.minibatch) * theta

    def fresh(self) -> Gradient:
        self.asked.append("fresh")
        return Gradient(self.asked)


def one_step(found: Scheme, state: tuple[Any, ...], noises: list[Any], **ingredients: Any) -> Any:
    asked: list[Any] = []
    queue = iter(noises)
    values = found.step(
        state,
        grad=Gradient(asked),
        noise=lambda: asked.append("draw") or next(queue),
        dim=2,
        metric=Metric(),
        **ingredients,
    )
    return values, sorted(asked, key=repr)


@pytest.fixture(autouse=True, scope="module")
def _dot_of_numbers() -> Any:
    """In one dimension a scalar product is a product; registered for these tests alone."""
    for kind in (Fraction, float, Algebraic):
        dot.register(kind, lambda left, right: left * right)
    yield
    for kind in (Fraction, float, Algebraic):
        dot.register(kind, dot.dispatch(object))


def agrees(found: Scheme, state: tuple[Any, ...], noises: list[Any], h: Any, D: Any, T: Any) -> None:
    again = read_back(found)
    assert one_step(again, state, noises, h=h, D=D, T=T) == one_step(found, state, noises, h=h, D=D, T=T)
    assert again.census == found.census
    assert again.declaration == found.declaration


RATIONAL = [item for item in NAMED.values() if not item.memory]
"""Roots of a memory are no fractions, and none at all where it is drawn negative."""


@pytest.mark.by_default("sgnht-aboba", "sgrhmc-aboba", "heun", "numbers", "nose_hoover", "stale")
@pytest.mark.parametrize("found", [*RATIONAL, *OWN], ids=lambda found: found.name)
@given(st.lists(FRACTIONS, min_size=11, max_size=11), POSITIVE, POSITIVE, POSITIVE)
@settings(max_examples=examples(5))
def test_the_text_computes_what_the_scheme_computes_on_fractions(
    found: Scheme, drawn: list[Fraction], h: Fraction, D: Fraction, T: Fraction
) -> None:
    agrees(found, tuple(drawn[: len(found.state)]), drawn[3:], h, D, T)


@pytest.mark.power  # 0.6 s
@given(WORDS, st.lists(FRACTIONS, min_size=10, max_size=10), POSITIVE, POSITIVE, POSITIVE)
@settings(max_examples=examples(20))
def test_the_text_of_any_word_computes_what_the_word_computes(
    word: str, drawn: list[Fraction], h: Fraction, D: Fraction, T: Fraction
) -> None:
    agrees(find_scheme(word), tuple(drawn[:2]), drawn[2:], h, D, T)


@pytest.mark.by_default(
    "sgld-euler",
    "sghmc-euler",
    "sghmc-aboba",
    "sghmc-baoab",
    "sghmc-ubu",
    "sgnht-euler",
    "sgnht-aboba",
    "sgrld-euler",
    "sgrhmc-euler",
    "sgrhmc-aboba",
    "heun",
    "nose_hoover",
    "stale",
)
@pytest.mark.parametrize("found", [*RATIONAL, heun, nose_hoover, stale], ids=lambda found: found.name)
@given(st.lists(st.floats(-2, 2), min_size=8, max_size=8), st.floats(1e-3, 1))
@settings(max_examples=examples(4))
def test_the_text_computes_the_same_bits_on_floats(found: Scheme, drawn: list[float], h: float) -> None:
    # Shares of these schemes are halves: h/2 and 1/2*h are the same float.
    agrees(found, tuple(drawn[: len(found.state)]), drawn[3:], h, 0.7, 1.3)


@given(WORDS)
@settings(max_examples=examples(25))
def test_printing_what_was_read_back_changes_nothing(word: str) -> None:
    # Letters have lines of their own; without the word behind it, the text settles at once.
    once = read_back(find_scheme(word))
    assert formula(read_back(once)) == formula(once)


def body(source: str) -> list[str]:
    return source.splitlines()[1:]


def test_the_formula_is_written_as_people_write_it() -> None:
    assert formula(find_scheme("sghmc-aboba")).splitlines() == [
        "def sghmc_aboba(theta, p, *, h, grad, noise, D, T):",
        "    theta1 = theta + h/2*p",
        "    p1 = exp(-D*(h/2))*p",
        "    z1 = noise()",
        "    p2 = p1 - h*grad(theta1) + sqrt(2*D*T*h)*z1",
        "    p3 = exp(-D*(h/2))*p2",
        "    theta2 = theta1 + h/2*p3",
        "    return theta2, p3",
    ]
    assert formula(heun).splitlines() == [
        "def heun(theta, *, h, grad, noise, T):",
        "    z1 = noise()",
        "    x1 = sqrt(2*T*h)*z1",
        "    grad1 = grad.fresh()",
        "    return theta - h/2*(grad(theta) + grad1(theta - h*grad(theta) + x1)) + x1",
    ]


def test_names_do_not_hide_the_state_or_the_ingredients() -> None:
    @scheme(langevin, memory={"theta1": lambda theta: theta, "z1": lambda theta: theta})
    def crowded(theta, theta1, z1, *, h, grad, noise, T):
        moved = theta - h * grad(theta1) + sqrt(T * h) * noise() * z1
        return moved, moved + z1, theta1

    lines = formula(crowded).splitlines()
    assert lines[1:] == [
        "    z2 = noise()",
        "    theta2 = theta - h*grad(theta1) + sqrt(T*h)*z2*z1",
        "    return theta2, theta2 + z1, theta1",
    ]


def arithmetic() -> st.SearchStrategy[Callable[[dict[str, Any]], Any]]:
    """Random arithmetic as functions of x and y, over numbers of every kind."""
    leaves = st.one_of(
        st.sampled_from(["x", "y"]).map(lambda letter: lambda values: values[letter]),
        st.one_of(
            st.integers(-3, 3),
            st.fractions(-2, 2, max_denominator=3),
            st.just(sqrt(2)),
            st.just(1 - sqrt(3) / 2),
        )
        .filter(bool)
        .map(lambda value: lambda values: value),
    )

    def grown(below: Any) -> Any:
        signs = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}
        pairs = st.builds(
            lambda sign, a, b: lambda values: signs[sign](a(values), b(values)),
            st.sampled_from("+-*"),
            below,
            below,
        )
        ratios = st.builds(
            lambda a, c: lambda values: a(values) / c, below, st.sampled_from([2, 3, Fraction(-2, 3)])
        )
        powers = st.builds(lambda a, n: lambda values: a(values) ** n, below, st.integers(0, 3))
        return st.one_of(pairs, ratios, powers, st.builds(lambda a: lambda values: -a(values), below))

    return st.recursive(leaves, grown, max_leaves=12)


@given(arithmetic(), FRACTIONS, FRACTIONS)
@settings(max_examples=examples(60))
@example(lambda values: values["x"] - (values["y"] - values["x"]), Fraction(1), Fraction(2))
@example(lambda values: -(values["x"] ** 2) * (-values["y"]), Fraction(3), Fraction(2))
def test_brackets_stand_where_they_must(
    function: Callable[[dict[str, Any]], Any], x: Fraction, y: Fraction
) -> None:
    found = function({"x": name("x"), "y": name("y")})
    if isinstance(found, Expression):
        printed = text(found, {})[0]
        assert "--" not in printed
        assert define(f"def f(x, y):\n    return {printed}", "f")(x, y) == function({"x": x, "y": y})


PLANTS = [
    ("sghmc-aboba", "sqrt(2*D*T*h)", "sqrt(D*T*h)"),
    ("sghmc-aboba", "h*grad(theta1)", "h*grad(theta)"),
    ("sghmc-aboba", "theta2 = theta1 + h/2*p3", "theta2 = theta1"),
    ("sghmc-baoab", "-2*D*h", "2*D*h*0 - 2*D*h/3"),
    ("sgld-euler", "2*T*h", "2*h/T"),
]


@pytest.mark.parametrize(("scheme_name", "was", "now"), PLANTS)
def test_a_planted_bug_changes_what_it_says_and_nothing_else(scheme_name: str, was: str, now: str) -> None:
    original = find_scheme(scheme_name)
    planted = plant(original, was, now)
    assert planted.dynamics is original.dynamics
    assert planted.order == original.order
    assert planted.word is None
    assert planted.name not in NAMED
    assert planted.census == original.census
    state = (Fraction(1, 2), Fraction(-3, 4))[: len(original.state)]
    given_ = {"h": Fraction(1, 3), "D": Fraction(3, 2), "T": Fraction(5, 7)}
    before, _ = one_step(original, state, [Fraction(1)], **given_)
    after, _ = one_step(planted, state, [Fraction(1)], **given_)
    assert before != after
    edited = formula(original).replace(was, now)
    by_hand = define(edited, edited[4 : edited.index("(")])
    ingredients = {key: value for key, value in given_.items() if key in ("h", *original.parameters)}
    found = by_hand(*state, grad=Gradient([]), noise=lambda: Fraction(1), **ingredients)
    assert after == (found if isinstance(found, tuple) else (found,))


def test_planting_back_gives_the_original() -> None:
    original = find_scheme("sghmc-euler")
    planted = plant(original, "sqrt(2*D*T*h)", "sqrt(D*T*h)", name="weak")
    assert planted.name == "weak"
    assert body(formula(plant(planted, "sqrt(D*T*h)", "sqrt(2*D*T*h)"))) == body(formula(original))


def test_a_stale_gradient_can_be_planted_where_there_is_memory() -> None:
    planted = plant(stale, "h*old", "2*h*old")
    assert planted.state == ("theta", "old")
    assert planted.start_memory((2,), grad=lambda x: 5 * x) == (2, 10)


@each_row(
    ("was", "now", "message"),
    [
        ("h/2*p", "h*p", "occurs 2 times in the formula of sghmc-aboba; expected exactly one"),
        ("3*D", "D", "occurs 0 times"),
        ("", "D", "occurs 0 times"),
        ("2*D*T*h", "2*D*T*h", "changes nothing"),
        ("2*D*T*h", "2*D*T*h)", "SyntaxError"),
        ("2*D*T*h", "2*E*T*h", "raised NameError"),
        ("z1 = noise()", "z1 = 0", "draws no noise"),
        ("2*D*T*h", "open('x')", "raised NameError"),
        ("h*grad(theta1)", "1/0*grad(theta1)", "raised ZeroDivisionError"),
        ("def sghmc_aboba(", "def other(", "defines no function"),
        ("return theta2, p3", "return p3", "returned 1 value"),
    ],
)
def test_a_bug_that_cannot_be_planted_is_refused(was: str, now: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        plant(find_scheme("sghmc-aboba"), was, now)


def test_a_quotient_of_whole_literals_is_exact() -> None:
    function = define("def f(x):\n    return 1/3*x + -2/6 + 1/x/3", "f")
    assert function(Fraction(1, 2)) == Fraction(1, 6) - Fraction(1, 3) + Fraction(2, 3)


def test_the_factor_of_a_power_is_one_number() -> None:
    h, x = name("h"), name("x")
    assert text(3 * (2 * h / 3) ** 3 / 32 * x, {})[0] == "h**3/36*x"
    assert text(Fraction(3, 2) * (-h / 2) ** 2, {})[0] == "3*h**2/8"
    assert text(1 / (h / 2) ** 2, {})[0] == "1/(h**2/4)" and text(3 * (2 * h / 3), {})[0] == "3*(2*h/3)"
