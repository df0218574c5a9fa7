"""What a signature may declare."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgverify import Alphabet, exp, sqrt
from sgverify.errors import DefinitionError
from sgverify.schemes import dynamics, kinetic, langevin, scheme
from sgverify.schemes.definition.declaration import read_signature
from tests.tables import each_row

FILE = Path(__file__).name


def euler(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise()


def test_the_signature_is_the_declaration() -> None:
    declaration = read_signature(euler, "scheme")
    assert declaration.state == ("theta",)
    assert declaration.ingredients == ("h", "grad", "noise", "T")
    assert declaration.parameters == ("T",)
    assert declaration.select({"T": 1, "h": 2, "D": 3, "grad": 4, "noise": 5}) == {
        "h": 2,
        "grad": 4,
        "noise": 5,
        "T": 1,
    }


def unknown_ingredient(theta, *, h, grad, nose, T):
    return theta


def without_step_size(theta, *, grad, noise, T):
    return theta


def default_value(theta, *, h, grad, noise, T=1.0):
    return theta


def any_state(*state, h):
    return state


def any_ingredient(theta, *, h, **rest):
    return theta


def no_state(*, h, grad, noise, T):
    return 0


def other_state(x, *, h, grad, noise, T):
    return x


def ingredient_by_position(theta, h, *, grad, noise, T):
    return theta


def letter_clock_in_a_scheme(theta, *, t, grad, noise, T):
    return theta


def parameter_of_other_dynamics(theta, *, h, grad, noise, D, T):
    return theta


@each_row(
    ("function", "message"),
    [
        (unknown_ingredient, "asks for the ingredient `nose`; known here: .*; did you mean `noise`?"),
        (without_step_size, "does not take `h`.*the step size"),
        (default_value, "gives `T` a default.*remove the default"),
        (any_state, r"takes \*state"),
        (any_ingredient, r"takes \*rest"),
        (no_state, "has no positional state"),
        (other_state, r"takes the state \(x\); `langevin` has \(theta\)"),
        (ingredient_by_position, r"takes the state \(theta, h\)"),
        (letter_clock_in_a_scheme, "asks for the ingredient `t`"),
        (parameter_of_other_dynamics, "asks for the ingredient `D`; known here: T, dim, grad, h, noise"),
    ],
)
def test_a_wrong_signature_is_refused_in_its_place(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message) as caught:
        scheme(langevin)(function)
    assert str(caught.value).startswith(f"{FILE}:{function.__code__.co_firstlineno}: `{function.__name__}`")


@pytest.mark.parametrize("thing", [3, "euler", functools.partial(euler, h=1), type("Step", (), {})])
def test_what_is_no_function_is_refused(thing: Any) -> None:
    with pytest.raises(DefinitionError, match="is not a function"):
        scheme(langevin)(thing)


@each_row("order", [0, -1, 1.5, "2", True])
def test_a_claimed_order_is_a_positive_whole_number(order: Any) -> None:
    with pytest.raises(DefinitionError, match=rf"order={order!r}: expected a whole number"):
        scheme(langevin, order=order)


def test_a_scheme_needs_a_dynamics() -> None:
    with pytest.raises(DefinitionError, match="expected a dynamics such as langevin or kinetic"):
        scheme(euler)
    with pytest.raises(DefinitionError, match="expected a dynamics such as kinetic, second"):
        Alphabet("mine", "kinetic", A=euler)
    with pytest.raises(DefinitionError, match="no letters"):
        Alphabet("mine", kinetic)


def test_memory_is_declared_state_with_a_start() -> None:
    def stale(theta, old, *, h, grad, noise, T):
        now = grad(theta)
        return theta - h * old + sqrt(2 * T * h) * noise(), now

    def start(theta, *, grad):
        return grad(theta)

    found = scheme(langevin, memory={"old": start})(stale)
    assert found.state == ("theta", "old")
    assert found.shapes == {"theta": "vector", "old": "vector"}
    assert found.start_memory((3,), grad=lambda x: 2 * x, T=1) == (3, 6)
    with pytest.raises(DefinitionError, match=r"takes the state \(theta, old\); `langevin` has \(theta\)"):
        scheme(langevin)(stale)
    with pytest.raises(DefinitionError, match=r"declared as @scheme\(langevin, memory=\{'old': start\}\)"):
        scheme(langevin)(stale)


@each_row(
    ("start", "message"),
    [
        (3, "memory old=3 is not a function"),
        (lambda p, *, grad: grad(p), r"takes the state \(p\)"),
        (lambda theta, *, gard: theta, "did you mean `grad`"),
        (lambda theta: (theta, theta), "returned 2 values"),
        (lambda theta: 0, "expected a vector"),
    ],
)
def test_a_wrong_start_of_a_memory_is_refused(start: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        scheme(langevin, memory={"old": start})(
            lambda theta, old, *, h, grad, noise, T: (theta - h * old + sqrt(h * T) * noise(), grad(theta))
        )


def test_memory_does_not_hide_the_state() -> None:
    with pytest.raises(DefinitionError, match="has a state of this name"):
        scheme(langevin, memory={"theta": lambda theta: theta})(euler)


@pytest.mark.parametrize("given", [["v"], ("v", "m"), "v", []])
def test_memory_without_first_values_is_refused_with_the_form_that_has_them(given: object) -> None:
    with pytest.raises(
        DefinitionError, match=r"memory=.*expected each name with a function .* memory=\{\"v\": lambda"
    ):
        scheme(langevin, memory=given)(euler)  # type: ignore[arg-type]


def test_dynamics_declare_shapes_and_return_a_pair() -> None:
    @dynamics(theta="vector", xi="scalar")
    def mixed(theta, xi, *, grad, T):
        return (-grad(theta), 0), (T, 0)

    assert mixed.state == ("theta", "xi")
    assert mixed.parameters == ("T",)
    assert mixed.coefficients((2, 5), grad=lambda x: 3 * x, T=7, D=0) == ((-6, 0), (7, 0))


def drift_alone(theta, *, grad):
    return -grad(theta)


def wrong_shape(theta, xi, *, grad):
    return (-grad(theta), theta), (1, 0)


@each_row(
    ("shapes", "function", "message"),
    [
        ({"theta": "matrix"}, drift_alone, "theta='matrix'.*expected 'vector' or 'scalar'"),
        ({"x": "vector"}, drift_alone, r"takes \(theta\); the decorator declares \(x\)"),
        ({"theta": "vector"}, drift_alone, r"must return the pair \(drift, diffusion\)"),
        ({"theta": "vector", "xi": "scalar"}, wrong_shape, "returned a vector for `xi`; expected a scalar"),
        ({"theta": "vector"}, euler, "may not ask for `h`"),
    ],
)
def test_wrong_dynamics_are_refused(
    shapes: dict[str, str], function: Callable[..., Any], message: str
) -> None:
    with pytest.raises(DefinitionError, match=message):
        dynamics(**shapes)(function)


def test_a_letter_takes_its_own_time() -> None:
    def with_step(theta, p, *, h):
        return theta + h * p, p

    def with_time(theta, p, *, t, D):
        return theta, exp(-D * t) * p

    with pytest.raises(DefinitionError, match="asks for the ingredient `h`"):
        Alphabet("mine", kinetic, A=with_step)
    with pytest.raises(DefinitionError, match="does not take `t`.*the time that the letter flows"):
        Alphabet("mine", kinetic, A=lambda theta, p: (theta, p))
    assert Alphabet("mine", kinetic, B=with_time).letters["B"].flow((1, 2), t=0, D=3, T=1) == (1, 2)
