"""The grammar of test functions: what it reads, what it refuses, and that it never runs anything."""

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sgverify.errors import ConfigurationError, UserError
from sgverify.targets import parse_observable
from sgverify.targets.observable import parse_polynomial
from tests.tables import each_row


def read(text: str, dim: int = 1, state: tuple[str, ...] = ("theta", "p")) -> dict[tuple[int, ...], Fraction]:
    return parse_polynomial(text, dim, state, state)


@each_row(
    ("text", "terms"),
    [
        ("theta**2", {(2, 0): 1}),
        ("-theta**2", {(2, 0): -1}),
        ("(-theta)**2", {(2, 0): 1}),
        ("2*theta*p - p/4 + 0.1", {(1, 1): 2, (0, 1): Fraction(-1, 4), (0, 0): Fraction(1, 10)}),
        ("(theta + p)**3", {(3, 0): 1, (2, 1): 3, (1, 2): 3, (0, 3): 1}),
        ("theta[0] - +theta", {}),
        ("theta**0", {(0, 0): 1}),
        ("theta/(2*3)/0.5", {(1, 0): Fraction(1, 3)}),
        (" theta ", {(1, 0): 1}),
        ("3", {(0, 0): 3}),
        ("1e-3*p", {(0, 1): Fraction(1, 1000)}),
    ],
)
def test_polynomials_are_read_exactly(text: str, terms: dict[tuple[int, ...], Fraction]) -> None:
    assert read(text) == terms


def test_coordinates_are_theta_first_then_p() -> None:
    assert read("theta[1]*p[0]**2", dim=2) == {(0, 1, 2, 0): 1}


@each_row(
    ("text", "message"),
    [
        ("", "is empty; expected a polynomial in theta and p such as 'theta\\*\\*2'"),
        ("   ", "is empty"),
        ("theta +", "not a complete expression"),
        ("theta theta", "not a complete expression"),
        ("2theta", "not a complete expression"),
        ("((theta)", "not a complete expression"),
        ("theta^2", "the character '\\^', where powers are written \\*\\*"),
        ("__import__('os').system('true')", 'the character "\'"'),
        ("exit()", "a function call"),
        ("theta.real", "an attribute"),
        ("theta if p else 1", "IfExp"),
        ("theta @ p", "the character '@'"),
        ("theta // 2", "the operator //"),
        ("theta and p", "BoolOp"),
        ("[1]", "List"),
        ("(theta)[0][0]", "an index on something other"),
        ("x**2", "names 'x'"),
        ("xi", "names 'xi'"),
        ("theta**9", "has the exponent 9; expected a degree of at most 8"),
        ("theta**5*p**4", "too high a degree; expected a degree of at most 8"),
        ("(theta**3)**3", "too high a degree"),
        ("theta**-1", "exponent that is not a whole number"),
        ("theta**0.5", "exponent that is not a whole number"),
        ("theta**p", "exponent that is not a whole number"),
        ("theta**True", "exponent that is not a whole number"),
        ("theta/p", "divides by something other than a non-zero number"),
        ("theta/0", "divides by something other"),
        ("theta[1]", "wrong index after theta; expected theta\\[0\\], because the target has dim=1"),
        ("theta[-1]", "wrong index"),
        ("theta[0.5]", "wrong index"),
        ("theta[True]", "wrong index"),
        ("theta[p]", "wrong index"),
        ("1j*theta", "not a real number"),
        ("True", "not a real number"),
        ("1e999", "too large"),
        ("1e300*theta", "too large or too fine"),
        ("theta/1e300", "too large or too fine"),
        ("9" * 5000, "too long|not a complete"),
        ("((10**8)**8)**8", "too large or too fine"),
        ("(" * 500 + "theta" + ")" * 500, "nested too deeply|not a complete"),
        ("-" * 15000 + "theta", "nested too deeply"),
        ("p+" * 9000 + "p", "nested too deeply"),
        ("theta" * 5000, "has 25000 characters"),
    ],
)
def test_the_rest_is_refused_with_one_clear_message(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        read(text)
    assert str(caught.value).startswith("test_function=")
    assert len(str(caught.value)) < 300


def test_theta_alone_in_more_dimensions_says_what_to_write() -> None:
    with pytest.raises(ConfigurationError, match="write theta\\[0\\] to theta\\[2\\]"):
        read("theta**2", dim=3)
    with pytest.raises(ConfigurationError, match="expected theta\\[0\\] to theta\\[2\\]"):
        read("theta[3]", dim=3)


def test_a_momentum_that_the_scheme_has_not_is_named_with_its_state() -> None:
    with pytest.raises(ConfigurationError, match="this scheme's state is \\(theta\\); .*leave p out"):
        parse_observable("theta*p", 1, ("theta",))


def test_too_many_terms_are_refused_before_they_are_made() -> None:
    total = "+".join(f"theta[{i}]" for i in range(100))
    with pytest.raises(ConfigurationError, match="too many terms"):
        read(f"({total})**8", dim=100)


def test_text_that_is_no_text_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="test_function=3 is not text"):
        read(3)  # type: ignore[arg-type]


@given(st.text("theap0123456789.+-*/()[] e\0\n\t'\"\\\x85\u2028\u0661\u00b2\u00aa\U0001d711", max_size=40))
@example("\x00")
@example("theta\n+1")
@example("1if 1else p")
@example("ªtheta")
def test_no_text_does_worse_than_a_users_error(text: str) -> None:
    try:
        terms = read(text, dim=2)
    except UserError:
        return
    assert all(len(exponents) == 4 and value for exponents, value in terms.items())


WORDS = [
    "exec",
    "eval",
    "open",
    "__import__",
    "theta",
    "p",
    "(",
    ")",
    ".",
    "[",
    "]",
    "*",
    "+",
    "1",
    "lambda",
    ":",
    "=",
]


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_code_is_never_run(words: list[str]) -> None:
    ran = []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("exec", "eval", "open", "__import__"):
            patch.setattr(f"builtins.{name}", lambda *_, **__: ran.append(1))
        try:
            read(" ".join(words))
        except UserError as error:
            assert isinstance(error, ConfigurationError)
    assert ran == []
