"""Averages over finite lengths of chains of many coordinates: against recursions step by step, in floats and in balls."""

from __future__ import annotations

from dataclasses import replace
from itertools import repeat

import flint
import numpy as np
import pytest
from flint import arb_mat

from benchmarks import moment_recursion as recursion
from benchmarks.dimensions import dense_target
from sgverify.exact.affine.model import Model, fixed_step, varying_problem
from sgverify.exact.answers import answers_for
from sgverify.exact.chain import varying_steps
from sgverify.exact.chain.varying_steps import StepArrays, power_steps, varying_bias
from sgverify.exact.numbers.ball import inner, number
from tests.zoo.affine_models import model_of

LENGTH = 60
STEPS = power_steps(0.3, 1 / 3, LENGTH)


@pytest.fixture(name="model", scope="module")
def _model() -> Model:
    """Twelve coordinates whose precision has entries of both signs, so that terms of its powers cancel."""
    target = dense_target(6)
    signs = [1, -1, 1, 1, -1, -1]
    rows = [
        [entry * signs[i] * signs[j] for j, entry in enumerate(row)]
        for i, row in enumerate(target["precision"])
    ]
    return model_of("sghmc-ubu", target={**target, "precision": rows, "mean": [0.2] * 6})


def test_the_mean_square_error_is_that_of_a_recursion(model: Model) -> None:
    found = answers_for(model).mean_square_error(fixed_step(0.1), LENGTH)
    recursed = recursion.mean_square_error(
        repeat(recursion.step_of(model, 0.1), LENGTH),
        recursion.start_of(model),
        recursion.test_function_of(model),
    )
    assert found.value == pytest.approx(recursed, rel=1e-9)


def test_the_mean_square_error_along_a_schedule_is_that_of_a_recursion(model: Model) -> None:
    answers = answers_for(model)
    assert answers.why_not("weighted average") is None
    found = answers.weighted_mean_square_error(STEPS)
    steps = [replace(recursion.step_of(model, float(h)), weight=float(h)) for h in STEPS]
    recursed = recursion.mean_square_error(
        steps, recursion.start_of(model), recursion.test_function_of(model)
    )
    assert found.value == pytest.approx(recursed, rel=1e-9)
    assert found.error_bound < 1e-9 * found.value


def in_balls(model: Model) -> flint.arb:
    """The weighted bias by mean and covariance step by step, every rounding enclosed."""
    with flint.ctx.workprec(160):
        phi, total, weight = model.problem_at(fixed_step(0.1))(160).observable, number(0), number(0)
        mean, spread = model.start_law()
        spread = arb_mat(model.size, model.size) if spread is None else spread
        for step in STEPS:
            h = number(float(step))
            parts = model.parts(h)
            mean = parts.map * mean + parts.shift
            spread = parts.map * spread * parts.map.transpose() + parts.drawn_covariance
            value = (
                phi.constant + inner(phi.linear + phi.quadratic * mean, mean) + inner(phi.quadratic, spread)
            )
            total, weight = total + h * (value - number(model.truth)), weight + h
        return total / weight


def test_a_schedule_is_within_its_bound_and_a_perturbation_beyond_it_is_seen(model: Model) -> None:
    """Floats with a bound against balls; maps that are off by 1e-9 of themselves leave it."""
    true, problem = in_balls(model), varying_problem(model)
    found = varying_bias(problem, STEPS)
    assert found.ball.overlaps(true)
    assert found.error_bound < 1e-11

    def moved(steps: varying_steps.Array) -> StepArrays:
        arrays = problem.arrays(steps)
        return replace(arrays, map=arrays.map * (1 + 1e-9))

    assert not varying_bias(replace(problem, arrays=moved), STEPS).ball.overlaps(true)


def test_sizes_bound_entries_whose_terms_cancel(model: Model) -> None:
    """The size of an entry is that of its terms: at least the entry, and far more where they cancel."""
    arrays = varying_problem(model).arrays(np.linspace(0.05, 1.5, 300))
    assert arrays.sizes is not None
    for entry, size in zip(
        (arrays.map, arrays.shift, arrays.covariance),
        (arrays.sizes.map, arrays.sizes.shift, arrays.sizes.covariance),
        strict=True,
    ):
        assert (size * (1 + 1e-12) >= np.abs(entry)).all()
    with np.errstate(divide="ignore", invalid="ignore"):
        assert np.nanmax(arrays.sizes.map / np.abs(arrays.map)) > 3


def test_cumulants_that_are_not_computed_refuse_the_mean_square_error() -> None:
    """Minibatches in eight dimensions whose coordinates all matter: no Gaussian stands in for their law."""
    text = " + ".join(f"theta[{i}]" for i in range(8))
    target = {"name": "gaussian-mean", "dim": 8, "size": 20}
    model = model_of("sgld-euler", target=target, gradient={"kind": "iid"}, test_function=text)
    assert "cumulants" in str(answers_for(model).why_not("mean square error"))
