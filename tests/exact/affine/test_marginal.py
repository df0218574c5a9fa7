"""The coordinates that matter to a test function: their model gives the answers of the whole."""

from __future__ import annotations

from typing import Any

import pytest

from sgverify.configuration import load_configuration
from sgverify.exact.affine import marginal as room
from sgverify.exact.affine.marginal import marginal
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import answers_for
from tests.zoo.affine_models import model_of

BLOCKS = {
    "name": "gaussian",
    "dim": 3,
    "precision": [[2, 0.5, 0], [0.5, 1, 0], [0, 0, 3]],
    "mean": [1, 0, -1],
}
SAMPLES = {"name": "gaussian-mean", "dim": 3, "size": 12}
COUPLED = {"kind": "additive", "covariance": [[1.0, 0.2, 0.3], [0.2, 1.0, 0.4], [0.3, 0.4, 1.0]]}
CASES: list[tuple[dict[str, Any], int]] = [
    ({"target": SAMPLES, "gradient": {"kind": "iid", "batch": 3}}, 1),
    ({"target": SAMPLES, "gradient": {"kind": "without-replacement", "batch": 3}}, 1),
    ({"target": BLOCKS, "gradient": COUPLED, "test_function": "theta[0]**2 + p[0]"}, 2),
    ({"target": BLOCKS, "gradient": {"kind": "additive", "covariance": [1.0, 2.0, 3.0]}}, 2),
    ({"target": BLOCKS, "test_function": "theta[2]*p[2]"}, 1),
    ({"target": BLOCKS, "test_function": "theta[0]*theta[2]"}, 3),
]


@pytest.mark.parametrize(("settings", "dim"), CASES)
def test_the_coordinates_that_matter_have_the_answers_of_all(settings: dict[str, Any], dim: int) -> None:
    """Bias, mean square error with cumulants to order four, and expansion; enclosures of one number meet."""
    model, table = model_of("sghmc-aboba", **settings), load_configuration(settings).gradient
    few = marginal(model, table)
    assert few.target.dim == dim
    one, whole, step = (
        answers_for(few),
        answers_for(model),
        fixed_step(0.2 / float(model.target.precision[0][0])),
    )
    assert one.stationary_bias(step).ball.overlaps(whole.stationary_bias(step).ball)
    assert one.bias(step, 7).ball.overlaps(whole.bias(step, 7).ball)
    square = one.mean_square_error(step, 7)
    assert square.ball.overlaps(whole.mean_square_error(step, 7).ball)
    assert square.error_bound < 1e-12 * square.value
    assert one.expansion == whole.expansion


def test_a_coordinate_that_matters_and_is_left_out_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    model, table = model_of("sghmc-aboba", target=BLOCKS), load_configuration(target=BLOCKS).gradient
    monkeypatch.setattr(room, "_needed", lambda model: [0])
    one, whole = answers_for(marginal(model, table)), answers_for(model)
    assert not one.stationary_bias(fixed_step(0.3)).ball.overlaps(whole.stationary_bias(fixed_step(0.3)).ball)
