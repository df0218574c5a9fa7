"""One binding serves every interpreter: what a definition is handed, and when."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from sgverify.schemes import Scheme, find_scheme, kinetic, langevin, scheme, sqrt
from sgverify.schemes.definition.binding import (
    Carrier,
    FullGradientIngredient,
    GradientIngredient,
    bind,
    in_order,
)


def _square() -> FullGradientIngredient:
    """U = theta^2/2 with the prior theta^2/8."""
    return FullGradientIngredient(lambda place: place, prior=lambda place: place / 4)


def test_a_step_is_the_definition_on_the_values_of_the_carrier() -> None:
    carrier = Carrier(Fraction, Fraction, float)
    euler = find_scheme("sghmc-euler-explicit")
    bound = bind(euler, carrier, {"T": "1/2", "D": 2, "unasked": 3}, dim=1)
    theta, p = bound.step(("1/2", "1"), h="1/4", grad=_square(), draw=in_order(["1/2"]))
    # By hand: theta + h p, p - h theta - h D p + sqrt(2 D T h) z.
    assert (theta, p) == (0.75, pytest.approx(1 - 0.125 - 0.5 + (2 * 2 * 0.5 * 0.25) ** 0.5 / 2))
    assert isinstance(theta, float)


def test_parameters_are_made_once_and_the_time_at_every_step() -> None:
    made: list[Any] = []

    def number(value: Any) -> float:
        made.append(value)
        return float(value)

    bound = bind(find_scheme("sgld-euler"), Carrier(number=number), {"T": 0.5}, dim=1)
    for h in (0.1, 0.2):
        bound.step((1.0,), h=h, grad=_square(), draw=in_order([0.0]))
    assert made == [0.5, 0.1, 0.2]


def test_draws_are_asked_for_by_their_law_in_the_order_of_the_definition() -> None:
    @scheme(langevin)
    def drawn(theta, *, h, grad, noise, T):
        first = noise()
        return theta - h * grad(theta) + sqrt(2 * T * h) * (first + noise.three_point()) / sqrt(2)

    asked: list[str] = []

    def draw(law: Any) -> float:
        asked.append(law.name)
        return 0.0

    bind(drawn, Carrier(number=float), {"T": 1}, dim=1).step((1.0,), h=1, grad=_square(), draw=draw)
    assert asked == ["normal", "three_point"]


def test_memory_starts_from_the_state_and_its_own_ingredients() -> None:
    @scheme(langevin, memory={"m": lambda theta, *, grad: grad(theta) * 3})
    def kept(theta, m, *, h, grad, noise, T):
        return theta - h * m + sqrt(2 * T * h) * noise(), grad(theta)

    bound = bind(kept, Carrier(number=float), {"T": 1}, dim=1)
    assert bound.start((2.0,), h=1, grad=_square(), draw=in_order([])) == (2.0, 6.0)


def test_a_letter_of_a_word_runs_for_its_own_time() -> None:
    word: Scheme = find_scheme("sghmc-chen-ABOBA")
    assert word.word is not None and word.dynamics is kinetic
    letter, time = next(iter(word.word.flows(0.5)))
    bound = bind(word, Carrier(), {"T": 1.0, "D": 2.0}, dim=1)
    assert bound.run(letter.flow, (1.0, 3.0), grad=_square(), draw=in_order([]), t=time) == (1.75, 3.0)


def test_all_data_are_one_minibatch_and_the_likelihood_is_what_the_prior_leaves() -> None:
    slope = _square()
    assert slope.fresh() is slope
    assert slope.likelihood(4.0) == 3.0
    with pytest.raises(NotImplementedError):
        slope.hessian(1.0, 1.0)


class _Numbers(GradientIngredient):
    def evaluate(self, place: Any, minibatch: int) -> Any:
        return minibatch, self.asked.evaluations - 1

    def hessian(self, place: Any, vector: Any) -> Any:
        return self.minibatch()


def test_minibatches_are_numbered_when_they_are_first_used() -> None:
    grad = _Numbers()
    never, later = grad.fresh(), grad.fresh()
    assert later(0.0) == (0, 0) and grad.hessian(0.0, 1.0) == 1
    assert grad(0.0) == (1, 1) and later(1.0) == (0, 2)
    assert later.fresh()(2.0) == (2, 3)
    assert grad.asked.minibatches == never.asked.minibatches == 3


def test_with_noise_of_each_evaluation_every_one_has_a_minibatch_of_its_own() -> None:
    grad = _Numbers()
    grad.each_evaluation = True
    assert [grad(0.0), grad.fresh()(0.0), grad(1.0)] == [(0, 0), (1, 1), (2, 2)]
