"""Mean and covariance of a step over its draws, against closed forms; where two rules differ the bound says so."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import special, stats

from sgverify import torch_step
from sgverify.errors import Unreached
from sgverify.exact.numbers.quadrature import cubature
from sgverify.law.step_rows import OverDraws
from sgverify.samplers.intercepted.black_box import BlackBox
from sgverify.schemes import langevin

H, T = 0.25, 2.0
X = np.array([0.5, -1.0])


def over_draws(noise) -> OverDraws:
    def step(theta, *, h, grad, T):
        return theta - h * grad(theta) + math.sqrt(2 * T * h) * noise(theta)

    return OverDraws(BlackBox(torch_step(langevin)(step), lambda theta, k: 3 * theta, 2, {"T": T}), X, H)


WITHIN = 1 - 2 * (5 * stats.norm.pdf(5) + special.ndtr(-5))
NOISES = {
    "normal": (torch.randn_like, 0.0, 1.0),
    "uniform": (torch.rand_like, 1 / 2, 1 / 12),
    "a sign": (lambda t: torch.where(torch.randn_like(t) > 0.3, 1.0, -1.0), -2 * special.ndtr(0.3) + 1, None),
    "thrown away beyond 5": (lambda t: (z := torch.randn_like(t)) * (z.abs() < 5), 0.0, WITHIN),
    "Box and Muller": (
        lambda t: (
            (-2 * torch.log1p(-torch.rand_like(t))).sqrt() * torch.cos(2 * math.pi * torch.rand_like(t))
        ),
        0.0,
        1.0,
    ),
    "eleven of twelve uniform draws": (
        lambda t: sum(torch.rand_like(t) for _ in range(11)) - 6,
        -1 / 2,
        11 / 12,
    ),
    "a cube": (lambda t: torch.randn_like(t) ** 3, 0.0, 15.0),
    "two coins": (lambda t: torch.bernoulli(t * 0 + 0.25), 1 / 4, 3 / 16),
    "one of a thousand": (lambda t: torch.randint(1000, t.shape).to(t), 499.5, (1e6 - 1) / 12),
}


@pytest.mark.by_default(
    "normal", "uniform", "a sign", "thrown away beyond 5", "eleven of twelve uniform draws", "a cube"
)
@pytest.mark.parametrize("name", NOISES)
def test_mean_and_covariance_are_those_of_closed_forms(name):
    noise, mean, variance = NOISES[name]
    variance = 1 - mean**2 if variance is None else variance
    found = over_draws(noise)
    centre, spread = found.mean(), found.covariance()
    assert (np.abs(centre.value - ((1 - 3 * H) * X + math.sqrt(2 * T * H) * mean)) <= centre.bound).all()
    assert (np.abs(spread.value - 2 * T * H * variance * np.eye(2)) <= spread.bound).all()
    assert centre.bound.max() < 1e-10 * (1 + abs(mean)) and spread.bound.max() < 1e-10 * (
        1 + variance + mean**2
    )


def test_what_two_rules_do_not_agree_on_is_in_the_bound():
    # A function that neither rule is exact for: E cos(3 x) for normal x.
    found = over_draws(torch.randn_like).expectation(lambda x: np.cos(3 * x))
    true = np.cos(3 * (1 - 3 * H) * X) * math.exp(-9 * T * H)
    assert (np.abs(found.value - true) <= found.bound).all() and found.bound.max() > 1e-3


def test_draws_that_say_together_where_a_step_jumps_are_refused():
    with pytest.raises(Unreached, match="depends on its other draws|several of its draws together"):
        over_draws(lambda t: (z := torch.randn_like(t)) * (z[..., :1] > z[..., 1:]))


def test_a_step_of_many_draws_is_refused_before_its_nodes_are_written_down(monkeypatch):
    written = []
    monkeypatch.setattr(
        "sgverify.law.draw_rules.cubature",
        lambda kinds, degree: written.append(degree) or cubature(kinds, degree),
    )
    with pytest.raises(Unreached, match="a step makes 300 draws: .* nodes would be needed"):
        over_draws(lambda theta: torch.randn(150, 2, dtype=theta.dtype).sum(0) / 150)
    assert written == [3]


def test_a_chain_that_depends_on_its_batch_is_refused_by_name():
    @torch_step(langevin, chains=True)
    def apart(theta, *, h, grad, T):
        return (
            theta
            - h * grad(theta)
            + math.sqrt(2 * T * h) * (torch.randn_like(theta) - 0.1 * (len(theta) > 1))
        )

    with pytest.raises(Unreached, match="depends on the others in its batch"):
        OverDraws(BlackBox(apart, lambda theta, k: 3 * theta, 2, {"T": T}), X, H)
