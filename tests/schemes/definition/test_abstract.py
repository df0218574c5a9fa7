"""What the abstract run refuses, by name and place, and what it counts.

Every step below differs from a good one in the line marked `# here`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sgverify import Alphabet, cos, dot, exp, expm1, logistic, sin, softplus, sqrt
from sgverify.errors import DefinitionError
from sgverify.exact.readings.formula import formula
from sgverify.schemes import kinetic, langevin, scheme, thermostat
from tests.tables import each_row

FILE = Path(__file__).name


def line_of(function: Callable[..., Any]) -> int:
    """The line of `function` that is marked `# here`."""
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    start = function.__code__.co_firstlineno
    return next(number for number, text in enumerate(source[start - 1 :], start) if "# here" in text)


def in_place_sum(theta, *, h, grad, noise, T):
    theta -= h * grad(theta)  # here
    return theta + sqrt(2 * T * h) * noise()


def in_place_product(theta, *, h, grad, noise, T):
    kick = noise()
    kick *= sqrt(2 * T * h)  # here
    return theta - h * grad(theta) + kick


def item_written(theta, *, h, grad, noise, T):
    theta[0] = 0  # here
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise()


def indexing(theta, *, h, grad, noise, T):
    return theta[0] - h * grad(theta) + sqrt(2 * T * h) * noise()  # here


def numpy_of_number(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + np.sign(T * h) * noise()  # here


def numpy_function(theta, *, h, grad, noise, T):
    return theta - h * grad(np.concatenate([theta, theta])) + noise()  # here


def numpy_constant_left(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + np.float64(2.0) * sqrt(T * h) * noise()  # here


def numpy_constant_right(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + sqrt(T * h) * noise() * np.float64(2.0)  # here


def mathematics_module(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + math.gamma(2 * T * h) * noise()  # here


def whole_number(theta, *, h, grad, noise, T):
    return theta - int(h) * grad(theta) + sqrt(2 * T * h) * noise()  # here


def method_of_a_tensor(theta, *, h, grad, noise, T):
    return theta.clone() - h * grad(theta) + sqrt(2 * T * h) * noise()  # here


def branch(theta, *, h, grad, noise, T):
    if theta > 0:  # here
        return theta
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise()


def branch_on_equality(theta, *, h, grad, noise, T):
    step = h if T == 1 else h / T  # here
    return theta - step * grad(theta) + sqrt(2 * T * h) * noise()


def truth_value(theta, *, h, grad, noise, T):
    step = h or 1  # here
    return theta - step * grad(theta) + sqrt(2 * T * h) * noise()


def absolute_value(theta, *, h, grad, noise, T):
    return theta - h * grad(abs(theta)) + sqrt(2 * T * h) * noise()  # here


def loop(theta, *, h, grad, noise, T):
    return sum(theta) - h * grad(theta) + sqrt(2 * T * h) * noise()  # here


def length(theta, *, h, grad, noise, T):
    return theta - h / len(theta) * grad(theta) + sqrt(2 * T * h) * noise()  # here


def matrix_product(theta, *, h, grad, noise, T):
    return theta - h * (theta @ theta) * grad(theta) + sqrt(2 * T * h) * noise()  # here


def broken_power(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + (2 * T * h) ** T * noise()  # here


def unknown_exponent(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + 2**h * noise()  # here


def gradient_of_a_number(theta, *, h, grad, noise, T):
    return theta - h * grad(0) + sqrt(2 * T * h) * noise()  # here


def scalar_product_of_numbers(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + dot(h, T) * noise()  # here


def foreign_value(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + exp("h") * noise()  # here


def truth_as_number(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + True * noise()  # here


def missing_name(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + kick * noise()  # noqa: F821  # here


REFUSALS = [
    (in_place_sum, "an in-place write"),
    (in_place_product, "an in-place write"),
    (item_written, "an in-place write"),
    (indexing, r"an index \[0\]"),
    (numpy_of_number, "numpy.sign; use sgverify's exp"),
    (numpy_function, "numpy.concatenate"),
    (numpy_constant_left, "numpy.multiply"),
    (numpy_constant_right, "numpy.multiply"),
    (mathematics_module, "wants a plain number"),
    (whole_number, "wants a plain number"),
    (method_of_a_tensor, r"the attribute \.clone"),
    (branch, "a branch on"),
    (branch_on_equality, "a branch on"),
    (truth_value, "a branch on"),
    (absolute_value, r"abs\(\)"),
    (loop, "a loop over"),
    (length, "declare the keyword `dim`"),
    (matrix_product, "a matrix product"),
    (broken_power, r"only numbers are exponents; write exp\(a\*log\(x\)\)"),
    (unknown_exponent, r"write exp\(c\*x\)"),
    (gradient_of_a_number, r"grad\(theta\)"),
    (scalar_product_of_numbers, r"dot\(\) of something that is not a vector"),
    (foreign_value, r"exp\(str\) was called"),
    (truth_as_number, "raised TypeError"),
    (missing_name, "raised NameError"),
]


@each_row(("function", "message"), REFUSALS)
def test_what_leaves_the_face_is_refused_in_its_place(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message) as caught:
        scheme(langevin)(function)
    assert str(caught.value).startswith(f"{FILE}:{line_of(function)}: `{function.__name__}`")


def test_torch_functions_are_refused_by_name() -> None:
    torch = pytest.importorskip("torch")

    def of_a_number(theta, *, h, grad, noise, T):
        return theta - h * grad(theta) + torch.sign(T * h) * noise()

    def drawing(theta, *, h, grad, noise, T):
        return theta - h * grad(theta) + sqrt(2 * T * h) * torch.randn_like(theta)

    def tensor_constant(theta, *, h, grad, noise, T):
        return theta - h * grad(theta) + sqrt(h) * noise() * torch.tensor(2.0)

    for function, name in ((of_a_number, "sign"), (drawing, "randn_like"), (tensor_constant, "r?mul")):
        with pytest.raises(DefinitionError, match=rf"foreign function torch\.(_*){name}"):
            scheme(langevin)(function)


def rooted(x):
    return np.sqrt(x)


def test_functions_of_libraries_are_those_of_definitions() -> None:
    torch = pytest.importorskip("torch")

    def foreign(theta, *, h, grad, noise, T):
        import numpy

        turned = torch.nn.functional.softplus(numpy.cos(theta)) + torch.sigmoid(theta)
        return theta - h * grad(theta) + h * h * turned + rooted(2 * T * math.sin(h)) * noise()

    def own(theta, *, h, grad, noise, T):
        turned = softplus(cos(theta)) + logistic(theta)
        return theta - h * grad(theta) + h * h * turned + sqrt(2 * T * sin(h)) * noise()

    read, meant = (scheme(langevin)(step) for step in (foreign, own))
    assert formula(read).split(":", 1)[1] == formula(meant).split(":", 1)[1]
    assert scheme(langevin)(own).function is own


def returns_too_little(theta, p, *, h, grad, noise, D, T):
    return theta + h * (p + noise())


def returns_too_much(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise(), theta


def returns_nothing(theta, *, h, grad, noise, T):
    theta - h * grad(theta) + noise()


def returns_a_scalar(theta, *, h, grad, noise, T):
    return dot(theta, noise())


def returns_a_number(theta, *, h, grad, noise, T):
    return 0


def returns_a_vector_for_a_scalar(theta, p, xi, *, h, grad, noise, D, T):
    return theta + h * p, p - h * grad(theta) + sqrt(2 * D * T * h) * noise(), xi + h * p


@each_row(
    ("dynamics", "function", "message"),
    [
        (kinetic, returns_too_little, r"returned 1 value; expected 2: \(theta, p\)"),
        (langevin, returns_too_much, r"returned 2 values; expected 1: \(theta\)"),
        (langevin, returns_nothing, "returned a NoneType for `theta`; expected a vector"),
        (langevin, returns_a_scalar, "returned a scalar for `theta`; expected a vector"),
        (langevin, returns_a_number, "returned a int for `theta`; expected a vector"),
        (thermostat, returns_a_vector_for_a_scalar, "returned a vector for `xi`; expected a scalar"),
    ],
)
def test_a_wrong_shape_or_number_of_values_is_refused(
    dynamics: Any, function: Callable[..., Any], message: str
) -> None:
    with pytest.raises(DefinitionError, match=message) as caught:
        scheme(dynamics)(function)
    assert str(caught.value).startswith(f"{FILE}:{function.__code__.co_firstlineno}: ")


def test_a_step_without_noise_is_refused() -> None:
    def none_asked_for(theta, *, h, grad):
        return theta - h * grad(theta)

    def drawn_and_unused(theta, *, h, grad, noise):
        noise()
        return theta - h * grad(theta)

    for function in (none_asked_for, drawn_and_unused):
        with pytest.raises(DefinitionError, match="draws no noise, or none reaches the state"):
            scheme(langevin)(function)


def test_noise_may_reach_the_state_through_a_gradient_or_a_scalar_product() -> None:
    @scheme(langevin)
    def inside(theta, *, h, grad, noise, T):
        return theta - h * grad(theta + sqrt(2 * T * h) * noise())

    @scheme(langevin)
    def multiplied(theta, *, h, grad, noise):
        return theta - h * dot(theta, noise()) * grad(theta)

    assert inside.draws == multiplied.draws == 1


def test_the_census_counts_calls() -> None:
    @scheme(langevin)
    def two_of_each(theta, *, h, grad, noise, T):
        other = grad.fresh()
        kick = sqrt(T * h) * (noise() + noise())
        guess = theta - h * grad(theta) + kick
        return theta - h / 2 * (grad(theta) + other(guess)) + kick

    assert (two_of_each.draws, two_of_each.gradients, two_of_each.minibatches) == (2, 3, 2)

    @scheme(langevin)
    def another_minibatch_that_nobody_asks(theta, *, h, grad, noise, T):
        grad.fresh()
        return theta - h * grad.fresh()(theta) + expm1(h * T) * noise()

    found = another_minibatch_that_nobody_asks
    assert (found.draws, found.gradients, found.minibatches) == (1, 1, 1)


TOSSED = random.Random(1)


def random_constant(theta, *, h, grad, noise, T):
    return theta - h * TOSSED.random() * grad(theta) + sqrt(2 * T * h) * noise()


def random_sign(theta, *, h, grad, noise, T):
    return theta - h * TOSSED.choice([-1, -2]) * grad(theta) + sqrt(2 * T * h) * noise()


def random_branch(theta, *, h, grad, noise, T):
    moved = theta - h * grad(theta) if TOSSED.random() < 0.5 else theta - exp(h) * grad(theta)
    return moved + sqrt(2 * T * h) * noise()


def random_root(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + sqrt(TOSSED.randint(2, 10**9)) * sqrt(T * h) * noise()


def random_operation(theta, *, h, grad, noise, T):
    kick = sqrt(2 * T * h) * noise()
    return theta - h * grad(theta) + (kick if TOSSED.random() < 0.5 else -kick)


def random_draws(theta, *, h, grad, noise, T):
    kept, _ = (noise(), noise()) if TOSSED.random() < 0.5 else (noise(), None)
    return theta - h * grad(theta) + sqrt(2 * T * h) * kept


@each_row(
    "function", [random_constant, random_sign, random_branch, random_root, random_operation, random_draws]
)
def test_a_definition_that_changes_from_run_to_run(function: Callable[..., Any]) -> None:
    TOSSED.seed(1)
    line = function.__code__.co_firstlineno
    with pytest.raises(
        DefinitionError, match=f"{FILE}:{line}: `{function.__name__}` is not the same formula"
    ):
        scheme(langevin)(function)


def test_the_start_of_a_memory_and_a_letter_that_change() -> None:
    def start(theta):
        return TOSSED.random() * theta

    def letter(theta, *, t, grad, noise, T):
        return theta - TOSSED.random() * t * grad(theta) + sqrt(2 * T * t) * noise()

    with pytest.raises(DefinitionError, match="`start` is not the same formula"):

        @scheme(langevin, memory={"z": start})
        def remembering(theta, z, *, h, grad, noise, T):
            return theta - h * grad(theta) + sqrt(2 * T * h) * noise(), z

    with pytest.raises(DefinitionError, match="`letter` is not the same formula"):
        Alphabet("tossed", langevin, A=letter)


def test_a_definition_with_every_kind_of_constant_is_the_same_at_every_run() -> None:
    @scheme(langevin)
    def constants(theta, *, h, grad, noise, T):
        kick = (1 / 3) * sqrt(2) * sqrt(Fraction(18) * T * h) * noise()
        return 3 - (3 - theta) - exp(0.0) * h * grad(-(-theta)) / 1.0 + kick / 2 * h**0 + 0 * expm1(h) * theta

    assert (constants.draws, constants.gradients) == (1, 1)
