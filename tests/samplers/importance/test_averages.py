"""Averages by importance sampling against known ones, the honesty of their errors, and where none may be given."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import sgverify
from sgverify.errors import Unreached
from sgverify.samplers.importance import averages
from sgverify.samplers.importance.averages import SCRAMBLES, WeightedDraws, draw_weighted
from sgverify.samplers.importance.fitting import fit_student
from sgverify.targets import Target, build_target

BEND, TWIST = 0.05, 0.05


def config(**keys: Any) -> SimpleNamespace:
    return SimpleNamespace(**keys)


@sgverify.log_density(dim=3)
def bent(theta: torch.Tensor) -> torch.Tensor:
    """x ~ N(0, 1), y ~ N(BEND x^2, 1/2), z ~ N(TWIST x y, 1/2) of each other."""
    x, y, z = theta.unbind(-1)
    return -(x**2) / 2 - (y - BEND * x**2) ** 2 - (z - TWIST * x * y) ** 2


XXYY = 15 * BEND**2 + 0.5
BENT = {
    (2, 0, 0): 1.0,
    (0, 1, 0): BEND,
    (0, 2, 0): 3 * BEND**2 + 0.5,
    (0, 0, 2): TWIST**2 * XXYY + 0.5,
    (1, 1, 1): TWIST * XXYY,
}
"""Powers of the coordinates and their averages."""


def one(*exponents: int) -> dict[tuple[int, ...], Fraction]:
    return {exponents: Fraction(1)}


@cache
def drawn() -> WeightedDraws:
    return draw_weighted(bent.target(), 1.0)


def test_averages_of_a_target_that_is_nearly_gaussian() -> None:
    draws = drawn()
    for exponents, due in BENT.items():
        found = draws.average(one(*exponents))
        assert abs(found.value - due) < 5 * found.standard_error < 0.05 * found.spread
    square = draws.average(one(2, 0, 0))
    # Independent draws would have an error of 0.012 standard deviations.
    assert square.standard_error < 2e-3 * square.spread
    assert 0.8 < draws.share < 1 and draws.provenance["effective"] == draws.share
    assert draws.provenance["control_variates"] == 3 + 6 and draws.provenance["scrambles"] == SCRAMBLES


def test_what_is_gaussian_is_left_to_rounding_and_the_temperature_counts() -> None:
    @sgverify.log_density(dim=2)
    def gaussian(theta: torch.Tensor) -> torch.Tensor:
        x, y = theta.unbind(-1)
        return -(x**2 + x * y + y**2)

    draws = draw_weighted(gaussian.target(), 3.0)
    # The Hessian is [[2, 1], [1, 2]], and its inverse [[2, -1], [-1, 2]] / 3.
    for exponents, due in (((2, 0), 2.0), ((1, 1), -1.0), ((0, 1), 0.0)):
        found = draws.average(one(*exponents))
        assert abs(found.value - due) < 1e-9 and found.standard_error < 1e-9


def test_the_catalogue_needs_no_code_of_ones_own() -> None:
    rows = [[0.5, -1.0, 1.0], [-1.5, 0.3, 0.0], [2.0, 0.7, 1.0], [3.0, -2.0, 0.0], [0.25, 1.0, 0.0]]
    target = build_target(config(name="logistic-regression", dim=2, data=rows))
    found = draw_weighted(target, 1.0).average(one(1, 1))
    xs = np.linspace(-9, 9, 401)
    grid = np.stack(np.meshgrid(xs, xs, indexing="ij"), axis=-1)
    weights = np.exp(-target.energy_float64(grid))
    due = float((weights * grid[..., 0] * grid[..., 1]).sum() / weights.sum())
    assert abs(found.value - due) < 5 * found.standard_error < 0.01 * found.spread


@pytest.mark.power  # 1.2 s
def test_standard_errors_are_those_of_repetitions(monkeypatch: pytest.MonkeyPatch) -> None:
    fit, scores = drawn().fit, []
    for seed in range(24):
        monkeypatch.setattr(averages, "_SEED", 10_000 + 100 * seed)
        monkeypatch.setattr(averages, "fit_student", lambda *_: fit)
        draws = draw_weighted(bent.target(), 1.0)
        for exponents, due in BENT.items():
            found = draws.average(one(*exponents))
            scores.append((found.value - due) / found.standard_error)
    squares = np.square(scores).reshape(24, -1).mean(0)
    # A mean of 24 squares of t with 31 degrees of freedom: 1.07 +- 0.33.
    assert (squares > 0.2).all() and (squares < 2.4).all()


@sgverify.log_density(dim=5)
def funnel(theta: torch.Tensor) -> torch.Tensor:
    """v ~ N(0, 9), x_i ~ N(0, e^v) (Neal 2003)."""
    v, x = theta[..., 0], theta[..., 1:]
    return -(v**2) / 18 - (x**2 * torch.exp(-v)[..., None]).sum(-1) / 2 - 2 * v


@sgverify.log_density(dim=2)
def heavy(theta: torch.Tensor) -> torch.Tensor:
    """A Student law with 3 degrees of freedom: the variance of theta**2 is infinite."""
    return -2.5 * torch.log1p((theta**2).sum(-1) / 3)


@sgverify.log_density(dim=2, location=[3.0, 0.0])
def apart(theta: torch.Tensor) -> torch.Tensor:
    """Two modes, of which the search finds the smaller one first."""
    away = theta - torch.tensor([3.0, 0.0], dtype=theta.dtype)
    other = theta + torch.tensor([30.0, 0.0], dtype=theta.dtype)
    return torch.logaddexp(-(away**2).sum(-1) / 2, 1 - (other**2).sum(-1) / 2)


@sgverify.log_density(dim=2, location=[2.0, 0.0])
def near(theta: torch.Tensor) -> torch.Tensor:
    """Two modes of equal weight that one Student law reaches."""
    shift = torch.tensor([2.0, 0.0], dtype=theta.dtype)
    return torch.logaddexp(-((theta - shift) ** 2).sum(-1) / 2, -((theta + shift) ** 2).sum(-1) / 2)


def test_two_modes_near_one_another_are_one_law() -> None:
    draws = draw_weighted(near.target(), 1.0)
    found = draws.average(one(2, 0))
    assert abs(found.value - 5.0) < 5 * found.standard_error < 0.01 * found.spread
    assert draws.share > 0.2


@sgverify.log_density(dim=2)
def saddle(theta: torch.Tensor) -> torch.Tensor:
    """Two modes with the start of the search between them."""
    shift = torch.tensor([2.0, 2.0], dtype=theta.dtype)
    return torch.logaddexp(-((theta - shift) ** 2).sum(-1) / 2, -((theta + shift) ** 2).sum(-1) / 2)


@pytest.mark.by_default("griewank-", "saddle-", "apart-")
@pytest.mark.parametrize(
    ("target", "why"),
    [
        (funnel.target(), "."),
        (heavy.target(), "carry the variance"),
        (apart.target(), r"another minimum, at theta=\[-30"),
        (saddle.target(), "not positive definite"),
        (build_target(config(name="griewank", dim=2)), "many modes"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_no_average_where_no_law_fits(target: Target, why: str) -> None:
    with pytest.raises(Unreached, match=why):
        draw_weighted(target, 1.0).average({(2, *[0] * (target.dim - 1)): Fraction(1)})


class _Careless(torch.autograd.Function):
    """x^2 with the derivative x."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx: Any, *given: Any) -> torch.Tensor:
        return given[0] * ctx.saved_tensors[0]


@sgverify.log_density(dim=2, batched=True)
def careless(theta: torch.Tensor) -> torch.Tensor:
    """A standard normal law whose gradient is a half of what it should be."""
    return -_Careless.apply(theta).sum(-1) / 2


@sgverify.log_density(dim=2)
def walled(theta: torch.Tensor) -> torch.Tensor:
    """Two standard normal coordinates, the first one above -1 alone."""
    inside = theta[..., 0] > -1
    return torch.where(inside, -(theta**2).sum(-1) / 2, -torch.inf)


@pytest.mark.parametrize(("density", "due"), [(careless, 1.0), (walled, 0.7124)], ids=["careless", "walled"])
def test_no_control_variates_where_gradients_do_not_tell_the_energy(density: Any, due: float) -> None:
    """Their averages are not 0 there, and an average that used them would be off."""
    draws = draw_weighted(density.target(), 1.0)
    found = draws.average(one(2, 0))
    assert draws.variates is None and draws.provenance["control_variates"] == 0
    assert abs(found.value - due) < 6 * found.standard_error + 1e-4


def test_too_many_data_are_refused_before_they_are_visited() -> None:
    class Many:
        dim, data, rugged, peaks = 2, object(), False, ()
        weighted = (range(10**6), None)

    with pytest.raises(Unreached, match="1000000 data each"):
        draw_weighted(Many(), 1.0)  # type: ignore[arg-type]


def test_a_mode_needs_a_positive_definite_hessian() -> None:
    with pytest.raises(Unreached, match="not positive definite"):
        fit_student(saddle.target(), 1.0)
