"""Test functions as exact polynomials, on numbers and on arrays."""

import math
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgverify.errors import ConfigurationError
from sgverify.targets import Observable, parse_observable

coefficients = st.fractions(-20, 20, max_denominator=30).filter(bool)


@st.composite
def observables(draw: st.DrawFn, highest: int = 4) -> Observable:
    dim, state = draw(st.integers(1, 3)), draw(st.sampled_from([("theta",), ("theta", "p")]))
    places = st.integers(0, dim * len(state) - 1)
    terms = {}
    for picked in draw(st.lists(st.lists(places, max_size=highest), max_size=5)):
        terms[tuple(picked.count(k) for k in range(dim * len(state)))] = draw(coefficients)
    return Observable(dim, state, terms)


@given(observables())
def test_the_canonical_text_parses_back(observable: Observable) -> None:
    again = parse_observable(str(observable), observable.dim, observable.state)
    assert again == observable
    assert str(again) == str(parse_observable(str(again), observable.dim, observable.state))
    assert hash(again) == hash(observable)


def test_the_canonical_text_does_not_depend_on_how_it_was_written() -> None:
    texts = {str(parse_observable(text, 1)) for text in ("p+theta**2", "theta*theta + 1*p", "p - -theta**2")}
    assert texts == {"theta**2 + p"}
    assert str(parse_observable("theta - theta", 1)) == "0"
    assert str(parse_observable("-theta[1]/3 - 2", 2)) == "-1/3*theta[1] - 2"


@given(observables(), st.lists(st.fractions(-3, 3, max_denominator=8), min_size=6, max_size=6))
def test_python_itself_agrees_on_the_value_of_the_text(
    observable: Observable, numbers: list[Fraction]
) -> None:
    dim = observable.dim
    theta, p = numbers[:dim], numbers[dim : 2 * dim]
    names = {"theta": theta[0] if dim == 1 else theta, "p": p[0] if dim == 1 else p}
    # Python divides integers to floats; a Fraction in their place keeps its answer exact.
    text = re.sub(r"(\d+)/(\d+)", r"F(\1, \2)", str(observable))
    expected = eval(text, {"F": Fraction, **names})
    assert observable.evaluate((theta + p)[: dim * len(observable.state)]) == expected


@given(observables())
def test_arrays_are_read_along_their_last_axis(observable: Observable) -> None:
    generator = np.random.default_rng(1)
    theta, p = generator.normal(size=(2, 5, 3, observable.dim))
    found = observable(theta, p)
    assert found.shape == (5, 3)
    flat = [*map(Fraction, theta[4, 1].tolist()), *map(Fraction, p[4, 1].tolist())]
    exact = observable.evaluate(flat[: observable.dim * len(observable.state)])
    # At most 5 terms of degree 4, each product and sum off by 2^-53 relative to the absolute sum.
    size = sum(
        abs(float(c)) * math.prod(abs(float(x)) ** k for x, k in zip(flat, e, strict=False))
        for e, c in observable.terms.items()
    )
    assert abs(found[4, 1] - float(exact)) <= 16 * 2**-53 * (size + abs(float(exact)))


def test_single_precision_stays_single() -> None:
    observable = parse_observable("theta**2/3 + 0.1*p + 1", 1)
    ones = np.ones((4, 1), dtype=np.float32)
    assert observable(ones, ones).dtype == np.float32


def test_torch_tensors_are_read_too() -> None:
    torch = pytest.importorskip("torch")
    observable = parse_observable("theta[0]*p[1] - 1/2*theta[1]**3 + 1", 2)
    theta = torch.tensor([[1.0, 2.0], [0.5, -1.0]], dtype=torch.float32)
    found = observable(theta, 2 * theta)
    assert found.dtype == torch.float32
    assert found.tolist() == [1.0 * 4.0 - 4.0 + 1.0, 0.5 * -2.0 + 0.5 + 1.0]


def test_constants_take_the_shape_of_the_state() -> None:
    assert parse_observable("3", 2)(np.zeros((7, 2))).tolist() == [3.0] * 7
    assert parse_observable("theta - theta", 1)(np.ones((7, 1))).tolist() == [0.0] * 7
    assert parse_observable("3", 1).evaluate([Fraction(1), Fraction(1)]) == 3


def test_a_momentum_that_is_read_must_be_given() -> None:
    with pytest.raises(ConfigurationError, match="reads the momentum p"):
        parse_observable("p", 1)(np.zeros((3, 1)))
    assert not parse_observable("theta", 1).uses_momentum


def test_the_state_keeps_what_a_polynomial_can_name() -> None:
    assert parse_observable("theta", 1, ("theta", "p", "xi")).state == ("theta", "p")
    assert parse_observable("theta", 1, ("theta",)).terms == {(1,): 1}


@pytest.mark.power  # 0.5 s
@given(observables(highest=2), st.lists(st.fractions(-3, 3, max_denominator=8), min_size=6, max_size=6))
def test_the_quadratic_form_is_the_polynomial(observable: Observable, numbers: list[Fraction]) -> None:
    point = numbers[: observable.dim * len(observable.state)]
    offset, slope, curve = observable.quadratic_form()
    assert [list(row) for row in curve] == [list(column) for column in zip(*curve, strict=True)]
    value = offset + sum(b * x for b, x in zip(slope, point, strict=True))
    value += sum(
        a * x * y for row, x in zip(curve, point, strict=True) for a, y in zip(row, point, strict=True)
    )
    assert value == observable.evaluate(point)


def test_a_cubic_has_no_quadratic_form() -> None:
    with pytest.raises(ConfigurationError, match="'theta\\*\\*3' has degree 3; expected at most 2"):
        parse_observable("theta**3", 1).quadratic_form()


def test_the_degree_is_the_total_one() -> None:
    assert parse_observable("theta**2*p + theta", 1).degree == 3
    assert parse_observable("theta - theta", 1).degree == 0


def test_observables_travel_between_processes() -> None:
    observable = parse_observable("theta**2 + 0.1*p", 1)
    assert pickle.loads(pickle.dumps(observable)) == observable
