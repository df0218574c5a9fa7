"""Exact irrational numbers against mpmath at 60 digits, and against the laws of a field."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sgverify.errors import DefinitionError
from sgverify.schemes import sqrt
from sgverify.schemes.numbers.algebraic import (
    Algebraic,
    basis_of,
    coordinates,
    multiplication,
    radical,
)
from sgverify.schemes.numbers.rounded import Rounded
from sgverify.schemes.numbers.text import read_number, split_numbers
from tests.tables import each_row

unhurried = settings(deadline=None, max_examples=25)

YOSHIDA = "1/(2-2^(1/3))"
SUZUKI = "1/(4-4^(1/3))"
OMELYAN = "root(48x^3-72x^2+38x-5, 0.19)"

rationals = st.fractions(min_value=-3, max_value=3, max_denominator=8)


@st.composite
def numbers(draw: st.DrawFn) -> tuple[Any, str]:
    """A number made of radicals, and the text for mpmath that makes it."""
    parts = draw(
        st.lists(
            st.tuples(rationals, st.sampled_from([2, 3, 6, 12]), st.sampled_from([2, 3])),
            min_size=1,
            max_size=2,
        )
    )
    value: Any = sum((radical(Fraction(b), Fraction(1, n)) * r for r, b, n in parts), Fraction(0))
    return value, " + ".join(
        f"mpf({r.numerator})/{r.denominator}*mpf({b})**(mpf(1)/{n})" for r, b, n in parts
    )


def by_mpmath(text: str) -> Any:
    with mpmath.workdps(60):
        return eval(text, {"mpf": mpmath.mpf})


def close(value: Any, reference: Any) -> bool:
    with mpmath.workdps(60):
        low, high = value.enclosure(180) if isinstance(value, Algebraic) else (value, value)
        slack = mpmath.mpf(10) ** -50 * (1 + abs(reference))
        ends = [mpmath.mpf(end.numerator) / end.denominator for end in (low, high)]
        return bool(ends[0] - slack <= reference <= ends[1] + slack)


@unhurried
@given(numbers(), numbers())
def test_sums_products_and_quotients(left: tuple[Any, str], right: tuple[Any, str]) -> None:
    (x, shown_x), (y, shown_y) = left, right
    assert close(x + y, by_mpmath(f"({shown_x}) + ({shown_y})"))
    assert close(x - y, by_mpmath(f"({shown_x}) - ({shown_y})"))
    product = by_mpmath(f"({shown_x}) * ({shown_y})")
    assert close(x * y, product)
    if x * y:
        assert not close(x * y * (1 + Fraction(1, 10**12)), product)  # the comparison can fail
    assume(y != 0)
    assert (x / y) * y == x
    assert y * (1 / y) == 1


@unhurried
@given(numbers(), numbers())
def test_comparison_is_that_of_the_numbers(left: tuple[Any, str], right: tuple[Any, str]) -> None:
    x, y = left[0], right[0]
    difference = by_mpmath(f"({left[1]}) - ({right[1]})")
    equal = abs(difference) < mpmath.mpf(10) ** -45
    assert (x == y) is equal
    if not equal:
        assert (x < y) is bool(difference < 0) and (x > y) is bool(difference > 0)
        assert float(x - y) == pytest.approx(float(difference), rel=1e-15)
    else:
        assert hash(x) == hash(y)


def test_radicals_are_equal_however_they_are_written() -> None:
    assert (
        read_number("4^(1/3)")
        == read_number("(2^(1/3))^2")
        == read_number("cbrt(4)")
        == read_number("2*2^(-1/3)")
    )
    assert read_number("sqrt(8)") == sqrt(8) == read_number("2*sqrt(2)")
    assert read_number("sqrt(2)*sqrt(2)") == 2 and isinstance(read_number("sqrt(2)^2"), Fraction)
    assert read_number("(2^(1/6))^3") == read_number("sqrt(2)") != read_number("2^(1/3)")
    assert read_number("8^(1/3)") == 2 and read_number("(4/9)^(1/2)") == Fraction(2, 3)


@pytest.mark.parametrize(
    ("text", "polynomial"),
    [
        (YOSHIDA, "6*x**3 - 12*x**2 + 6*x - 1"),
        (SUZUKI, "60*x**3-48*x**2+12*x-1"),
        (OMELYAN, "48*x**3-72*x**2+38*x-5"),
    ],
)
def test_known_numbers_satisfy_their_polynomial(text: str, polynomial: str) -> None:
    """For Yoshida's w: 2 w^3 + (1 - 2w)^3 = 0; Suzuki's s: 4 s^3 + (1 - 4s)^3 = 0."""
    value = read_number(text)
    assert isinstance(value, Algebraic)
    x = sympy.Symbol("x")
    coefficients = [Fraction(int(c)) for c in sympy.Poly(polynomial, x).all_coeffs()]
    total: Any = Fraction(0)
    for c in coefficients:
        total = total * value + c
    assert total == 0
    assert total + Fraction(1, 10**9) != 0
    roots = [r for r in sympy.Poly(polynomial, x).nroots(n=30) if abs(sympy.im(r)) < 1e-25]
    assert min(abs(float(sympy.re(r)) - float(value)) for r in roots) < 1e-15
    assert value.enclosure(100)[0] < value.enclosure(100)[1]


def test_the_root_next_to_the_decimal_is_meant() -> None:
    near = {guess: read_number(f"root(x^3-3x+1, {guess})") for guess in ("-1.9", "0.3", "1.5")}
    found = sorted(float(value) for value in near.values())
    assert found == pytest.approx([-1.8793852415718169, 0.34729635533386066, 1.532088886237956], rel=1e-15)
    x = near["0.3"]
    assert isinstance(x, Algebraic)
    assert x**3 - 3 * x + 1 == 0 and (1 / x) * x == 1
    assert read_number(f"{x!r}") == x


@each_row("text", [YOSHIDA, SUZUKI, OMELYAN, "1/(sqrt(2)+3^(1/3))", "-2/3*5^(2/5)", "3-sqrt(2)*sqrt(3)"])
def test_what_is_printed_reads_back(text: str) -> None:
    value = read_number(text)
    assert read_number(repr(value)) == value and float(read_number(repr(value))) == float(value)


def test_multiplication_matrices_multiply() -> None:
    x, y = read_number("1+2^(1/3)"), read_number("sqrt(3)-2^(2/3)")
    basis = basis_of([x, y])  # type: ignore[list-item]
    assert len(basis) == 6 and basis[0] == ()
    matrix = multiplication(y, basis)  # type: ignore[arg-type]
    row = coordinates(x, basis)  # type: ignore[arg-type]
    product = [sum(a * matrix[i][j] for i, a in enumerate(row)) for j in range(6)]
    assert product == coordinates(x * y, basis)  # type: ignore[arg-type, operator]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "1 to 400 characters"),
        ("9" * 500, "1 to 400 characters"),
        ("two", "not known here"),
        ("1/0", "divides by 0"),
        ("(1", "not closed"),
        ("1)", "was not expected"),
        ("2^sqrt(2)", "exponent is not rational"),
        ("2^999", "above 64"),
        ("((2^64)^64)^64", "binary digits"),
        ("(1+sqrt(2))^(1/2)", "not rational; write it as root"),
        ("(-8)^(1/3)", "positive base"),
        ("root(x^3-8, 2)", "irreducible"),
        ("root(x^4-2, 1)", "irreducible polynomial of degree 2 or 3"),
        ("root(x^2+1, 1)", "no real root"),
        ("root(x^2-2, 5)", "the nearest real root is 1.41421"),
        ("root(x^2-2, 1.40)", "the nearest real root is 1.41421"),
        ("root(x^3-2, 1)+sqrt(2)", "beside another irrational number"),
        ("root(x*y, 1)", "no polynomial"),
        ("root(2)", "expected root("),
        ("~1", "marks a printed decimal"),
        ("~", "marks a printed decimal"),
        ("(" * 60 + "1" + ")" * 60, "brackets"),
        ("__import__('os').getcwd()", "no number"),
        ("import(os)", "not known here"),
    ],
)
def test_a_text_that_is_no_number(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says.replace("(", r"\(")):
        read_number(text)


def test_a_field_that_is_too_large_is_refused() -> None:
    with pytest.raises(DefinitionError, match="210 dimensions"):
        basis_of([read_number(f"2^(1/{n})") for n in (2, 3, 5, 7)])  # type: ignore[misc]


def test_a_printed_decimal_is_every_number_that_rounds_to_it() -> None:
    value = read_number("~0.2146")
    assert isinstance(value, Rounded)
    assert (value.low, value.high) == (Fraction(21455, 100000), Fraction(21465, 100000))
    assert read_number("~-1.5e-3") == Rounded(Fraction(-155, 10**5), Fraction(-145, 10**5))
    assert read_number("0.5", rounded=True) == read_number("~0.5") and read_number("5", rounded=True) == 5
    assert "0.2146 +/- 5.0e-05" == str(value)


@unhurried
@given(st.lists(st.fractions(0, 1, max_denominator=50), min_size=2, max_size=2))
def test_intervals_hold_what_their_members_give(where: list[Fraction]) -> None:
    x, y = read_number("~0.3"), read_number("~-1.25")
    assert isinstance(x, Rounded) and isinstance(y, Rounded)
    a, b = (i.low + t * (i.high - i.low) for i, t in zip((x, y), where, strict=True))
    root = read_number("sqrt(2)")
    for interval, member in [
        (x + y, a + b), (x - y, a - b), (x * y, a * b), (x / y, a / b), (1 / y, 1 / b), (2 - x, 2 - a), (y**3, b**3),
        (y**-2, b**-2), (-x, -a),
    ]:  # fmt: skip
        assert interval.low <= member <= interval.high
    assert (x * root).low <= a * root <= (x * root).high  # type: ignore[operator]
    with pytest.raises(ZeroDivisionError):
        1 / (x - x)


def test_commas_inside_brackets_do_not_separate() -> None:
    assert split_numbers(f"1/2,{OMELYAN},1") == ["1/2", OMELYAN, "1"]
