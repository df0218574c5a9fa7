"""Bounds of exact values hold at the float with which a program runs, not only at the decimal that it prints as."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from sgverify.checks import rate
from sgverify.configuration import load_configuration
from sgverify.exact.affine.model import as_run, fixed_step
from sgverify.exact.answers import answers_for
from sgverify.subject.binding import make_subject

STEPS = [0.3, 0.1, 0.07, 0.013, 0.00391]
SMALL: dict[str, Any] = {"target": {"name": "gaussian"}, "sweep": {"steps": STEPS}}


def reached(evidence: Any) -> list[bool]:
    """Of every point, whether its bound reaches the value at the double."""
    answers = answers_for(make_subject(evidence.scheme, load_configuration(evidence.configuration)).model)
    held = []
    for point in evidence.points:
        step = fixed_step(Fraction(point.step))
        if evidence.check == "stationary-bias":
            run = answers.stationary_bias(step)
        else:
            ask = answers.mean_square_error if evidence.check == "mse" else answers.bias
            run = ask(step, point.length)
        held.append(abs(run.value - point.value) + run.error_bound <= point.error_bound * (1 + 1e-9))
    return held


@pytest.mark.parametrize(
    ("scheme", "quantity", "settings"),
    [
        ("sghmc-aboba", "stationary-bias", {}),
        ("sgld-euler", "stationary-bias", {"test_function": "theta**4", "temperature": 0.7}),
        ("sghmc-baoab", "stationary-bias", {"test_function": "p**2", "friction": 3.3}),
        (
            "sghmc-aboba",
            "stationary-bias",
            {"target": {"size": 20}, "gradient": {"kind": "iid"}, "sweep": {}},
        ),
        ("sghmc-aboba", "bias", {"sweep": {"lengths": [100, 1000, 10**6]}}),
        ("sgld-euler", "mse", {"sweep": {"lengths": [100, 1000, 10**6]}}),
    ],
)
def test_every_bound_holds_at_the_double(scheme: str, quantity: Any, settings: dict[str, Any]) -> None:
    found = rate(scheme, quantity=quantity, **{**SMALL, **settings})
    assert found.points and all(reached(found))


def test_the_bound_of_the_decimal_alone_does_not() -> None:
    answers = answers_for(make_subject("sghmc-aboba", load_configuration(SMALL)).model)
    missed = 0
    for step in STEPS:
        decimal, run = (answers.stationary_bias(fixed_step(h)) for h in (step, Fraction(step)))
        missed += abs(run.value - decimal.value) > decimal.error_bound
        both = as_run(answers.stationary_bias, step)
        assert (
            both.value == decimal.value and both.error_bound >= abs(run.value - both.value) + run.error_bound
        )
    assert missed
    # A step that is a float itself is computed once, and keeps its bound.
    asked = []

    def count(size: Any) -> Any:
        asked.append(size)
        return answers.stationary_bias(size)

    assert as_run(count, 0.25).value == answers.stationary_bias(fixed_step(0.25)).value
    assert len(asked) == 1
