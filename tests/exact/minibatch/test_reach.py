"""What the engine of multiplicative noise does not reach, and that it says so."""

from __future__ import annotations

from typing import Any

import pytest

from sgverify import scheme
from sgverify.configuration import load_configuration
from sgverify.errors import unreached
from sgverify.exact.answers import answers_for
from sgverify.schemes import langevin, sqrt
from sgverify.subject.binding import make_subject
from tests.zoo.regressions import draw, subject


@pytest.mark.parametrize(
    ("name", "data", "kind", "phi", "words"),
    [
        ("sgld-euler", draw(5, 3, seed=1), "iid", "theta[0]**3", "degree 3"),
        ("sgld-euler", draw(4, 1, seed=1), "iid", "theta**4", "degree 4"),
    ],
)
def test_what_is_out_of_reach_is_named(name: str, data: Any, kind: str, phi: str, words: str) -> None:
    why = unreached(lambda: answers_for(subject(name, data, kind, 2, phi).model))
    assert why is not None and words in why and "minibatch changes the Hessian" in why


def test_beyond_three_dimensions_nothing_is_reached() -> None:
    settings = {
        "target": {"name": "linear-regression", "dim": 4, "size": 8},
        "gradient": {"kind": "iid", "batch": 2},
    }
    model = make_subject("sgld-euler", load_configuration(settings)).model
    assert "dimension 4" in str(unreached(lambda: answers_for(model)))


@pytest.mark.power  # 1.2 s
def test_steps_of_many_gradients_are_refused_by_the_moments_that_they_need() -> None:
    def repeated(evaluations: int) -> Any:
        @scheme(langevin)
        def many(theta, *, h, grad, noise, T):
            point = theta
            for _ in range(evaluations):
                point = theta - h * grad(point)
            return point + sqrt(2 * T * h) * noise()

        settings = {
            "target": {"name": "linear-regression", "dim": 3, "size": 8},
            "gradient": {"kind": "iid", "batch": 2},
        }
        return make_subject(many, load_configuration(settings))

    two, three, five = (repeated(count) for count in (2, 3, 5))
    assert not answers_for(two.model).why_not("mean square error")
    assert answers_for(three.model).why_not("mean square error")
    assert three.step > 0
    assert "joint moments" in str(unreached(lambda: answers_for(five.model))) and five.step > 0
