"""What reshuffling changes where the minibatch moves the Hessian, and how far its orders are enumerated."""

from __future__ import annotations

from sgverify.errors import unreached
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import answers_for
from sgverify.exact.recursion.hessians import count_products, is_enumerable
from tests.zoo.regressions import draw, subject


def test_independent_subsets_are_another_law() -> None:
    data = draw(4, 1, seed=7)
    one, other = (
        answers_for(subject("sgld-euler", data, kind, 2, "theta**2").model)
        for kind in ("reshuffle", "without-replacement")
    )
    step = fixed_step(0.0625)
    assert abs(one.stationary_bias(step).value / other.stationary_bias(step).value - 1) > 1e-3


def test_order_two_returns_under_reshuffling() -> None:
    values = {
        name: answers_for(
            subject(name, draw(6, 1, seed=7), "reshuffle", 3, "theta**2").model
        ).expansion.values
        for name in ("sgld-euler", "sghmc-aboba")
    }
    assert values["sgld-euler"][1] != 0.0
    assert values["sghmc-aboba"][:2] == (0.0, 0.0) and values["sghmc-aboba"][2] != 0.0


def test_products_are_counted_and_too_many_are_refused() -> None:
    # 4 data in blocks of 2: six first blocks, each followed by the one that is left.
    assert count_products(4, 2) == 12
    why = unreached(
        lambda: answers_for(subject("sgld-euler", draw(20, 1, seed=1), "reshuffle", 2, "theta**2").model)
    )
    assert why is not None and "too many orders to enumerate" in why
    assert is_enumerable(10, 2) and not is_enumerable(12, 6) and not is_enumerable(10**6, 10)
    why = unreached(
        lambda: answers_for(subject("fresh-heun", draw(4, 1, seed=1), "reshuffle", 1, "theta**2").model)
    )
    assert why is not None and "2 minibatches" in why
