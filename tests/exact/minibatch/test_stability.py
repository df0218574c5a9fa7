"""Spectral radii of averaged moments against Kronecker powers summed over all minibatches."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from sgverify import rate, verify
from sgverify.errors import InstabilityError, MomentsDivergeError
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.affine.stability import FOURTH, SECOND
from sgverify.exact.answers import answers_for
from sgverify.exact.recursion.average import MomentStability
from sgverify.exact.recursion.hessians import FreshHessians
from sgverify.schemes import Scheme
from tests.self_checks.registry import self_check
from tests.zoo.regressions import FRICTION, TEMPERATURE, draw, find, regression, subject, table


def stability(name: str, data: Any, kind: str = "iid") -> MomentStability:
    found = subject(name, data, kind, 2, "1")
    assert found.noise.minibatch is not None
    return MomentStability(FreshHessians(found.model))


def matrices(scheme: Scheme, data: list[list[float]], kind: str, batch: int, step: float) -> list[Any]:
    """(M, c, Q) of every minibatch of a scheme with one of them, probed by finite differences of the definition."""
    oracle, dim = regression(data), len(data[0]) - 1
    n = dim * len(scheme.state)
    found = []
    for hessian, gradient in zip(*oracle.minibatches(kind, batch), strict=True):

        def run(x: Any, draws: Any, hessian: Any = hessian, gradient: Any = gradient) -> Any:
            state = tuple(x[k * dim : (k + 1) * dim] for k in range(len(scheme.state)))
            noises = iter(draws)

            class Drawn:
                def __init__(self, value: Any) -> None:
                    self.value = value

                def __mul__(self, factor: Any) -> Any:
                    return float(factor) * self.value

                __rmul__ = __mul__

            values = scheme.step(
                state,
                h=step,
                T=TEMPERATURE,
                D=FRICTION,
                grad=lambda theta: hessian @ theta + gradient,
                noise=lambda: Drawn(next(noises)),
            )
            return np.concatenate(values)

        still = np.zeros((scheme.draws, dim))
        shift = run(np.zeros(n), still)
        columns = [run(unit, still) - shift for unit in np.eye(n)]
        noise = [run(np.zeros(n), unit.reshape(still.shape)) - shift for unit in np.eye(still.size)]
        b = np.column_stack(noise)
        found.append((np.column_stack(columns), shift, b @ b.T))
    return found


@pytest.mark.parametrize("degree", [SECOND, FOURTH])
@pytest.mark.parametrize(
    ("name", "dim", "kind"),
    [
        ("sgld-euler", 2, "iid"),
        ("heun", 1, "without-replacement"),
        ("sghmc-aboba", 1, "iid"),
        ("sghmc-baoab", 1, "iid"),
    ],
)
def test_the_radius_is_that_of_the_kronecker_power(name: str, dim: int, kind: str, degree: int) -> None:
    data = draw(4, dim, seed=6)
    steps = [0.01, 0.1, 0.5]
    for step, radius in zip(steps, stability(name, data, kind).radii(steps, degree), strict=True):
        parts = [m for m, _, _ in matrices(find(name), data, kind, 2, step)]
        whole = sum(functools.reduce(np.kron, [m] * degree) for m in parts) / len(parts)
        assert radius == pytest.approx(np.abs(np.linalg.eigvals(whole)).max(), rel=1e-10)


def test_moments_of_higher_degree_settle_at_smaller_steps() -> None:
    data = draw(6, 1, seed=2)
    found = subject("sghmc-aboba", data, "iid", 2, "theta**2")
    moments, mean = stability("sghmc-aboba", data), found.step_sizes
    second, fourth = mean.limit, stability("sghmc-aboba", data).limit(mean.limit, FOURTH)
    assert fourth < second
    for limit, degree in ((second, SECOND), (fourth, FOURTH)):
        assert moments.radii([limit], degree)[0] == pytest.approx(1, abs=1e-6)
        assert moments.contracts(limit * (1 - 1e-5), degree)
        assert not moments.contracts(limit * (1 + 1e-5), degree)
    assert moments.contracts(1e-12, FOURTH)
    assert moments.contracts(found.step, FOURTH) and found.step <= second / 2


def test_a_step_that_expands_second_moments_is_refused_by_name() -> None:
    data = draw(6, 1, seed=2)
    found = subject("sghmc-aboba", data, "iid", 2, "theta**2")
    limit = found.step_sizes.limit
    full = subject("sghmc-aboba", data, "full", 2, "theta**2")
    step = 1.01 * limit
    full.check_stable([step], "schedule.step")
    with pytest.raises(InstabilityError, match=r"step=.*unstable in mean square.*spectral radius 1\.0"):
        found.check_stable([step], "schedule.step")
    with pytest.raises(InstabilityError, match="mean square"):
        rate(
            find("sghmc-aboba"),
            quantity="stationary-bias",
            target=table(data),
            gradient={"kind": "iid", "batch": 2},
            temperature=TEMPERATURE,
            friction=FRICTION,
            schedule={"step": step},
        )
    with pytest.raises(InstabilityError, match="spectral radius=1.0"):
        answers_for(found.model).stationary_bias(fixed_step(step))


def test_a_step_that_expands_fourth_moments_has_no_mean_square_error() -> None:
    data = draw(6, 1, seed=2)
    found = subject("sghmc-aboba", data, "iid", 2, "theta**2")
    fourth = stability("sghmc-aboba", data).limit(found.step_sizes.limit, FOURTH)
    answers = answers_for(found.model)
    assert answers.mean_square_error(fixed_step(0.99 * fourth), 10).value > 0
    with pytest.raises(MomentsDivergeError, match="moments of degree 4"):
        answers.mean_square_error(fixed_step(1.01 * fourth), 10)
    assert answers.bias(fixed_step(1.01 * fourth), 10).relative_error <= 1e-6


def test_checks_say_that_fourth_moments_diverge_and_go_on() -> None:
    data = draw(6, 1, seed=2)
    found = subject("sghmc-aboba", data, "iid", 2, "theta**2")
    fourth = stability("sghmc-aboba", data).limit(found.step_sizes.limit, FOURTH)
    settings: Any = {
        "target": table(data),
        "gradient": {"kind": "iid", "batch": 2},
        "temperature": TEMPERATURE,
        "friction": FRICTION,
        "schedule": {"kind": "fixed", "step": 1.01 * fourth},
    }
    evidence = verify(find("sghmc-aboba"), checks=["mse", "stationary-bias"], **settings)
    average = self_check("agreement", find("sghmc-aboba"), **settings)
    assert average.verdict == "inconclusive" and "moments of degree 4" in average.reason
    assert {item.verdict for item in evidence if item.check == "stationary-bias"} == {"violates", "conforms"}


def test_a_step_that_is_not_affine_has_no_moments_to_be_stable() -> None:
    found = subject("sgnht-euler", draw(6, 1, seed=2), "iid", 2, "theta**2")
    assert found.step_sizes.moments is None and not found.affine
