"""Annealed importance sampling is unbiased for p(v), which enumeration gives; a wrong weight is not."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch

from reports.applications.sbn import annealing
from reports.applications.sbn.annealing import AnnealedSampling, estimated, log_likelihood, log_weights
from sgverify.errors import ConfigurationError
from tests.applications.sbn.networks import SMALL, binary, drawn
from tests.applications.sbn.planting import planted

IMAGES = binary(4, SMALL.visible)
BOUND = 4.0
"""Standard errors: a mean of 4 images beyond it has the probability 3e-4, and the seeds are fixed."""


def deviation(subject: ModuleType, temperatures: int = 4) -> float:
    """The mean weight over p(v) less 1, for 4000 chains, in standard errors; the largest of the images."""
    weights = subject.log_weights(SMALL, drawn(), IMAGES, AnnealedSampling(temperatures, 4000), seed=3)
    ratio = (weights - SMALL.log_likelihood(drawn(), IMAGES)).exp()
    return float(((ratio.mean(0) - 1) / (ratio.std(0) / 4000**0.5)).abs().max())


@pytest.mark.parametrize("temperatures", [1, 2, 8])
def test_weights_are_unbiased(temperatures: int) -> None:
    assert deviation(annealing, temperatures) < BOUND


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("total += (beta - before) *", "total += beta / 2.5 *"),
        ("total += (beta - before) *", "total += (beta - before) * 0.9 *"),
        ("uniforms, beta=beta)", "uniforms, beta=1.0)"),
        ("uniforms, beta=beta)", "uniforms, beta=before)"),
    ],
    ids=[
        "weight of an intermediate law",
        "weights too small",
        "sweeps at beta = 1",
        "sweeps at the law before",
    ],
)
def test_a_wrong_weight_or_law_is_seen(was: str, now: str) -> None:
    assert deviation(planted(annealing, was, now)) > 2 * BOUND


def test_sweeps_lower_the_variance_of_the_weights() -> None:
    still = planted(annealing, "if beta < 1:", "if beta > 1:")
    spread = [
        float(subject.log_weights(SMALL, drawn(), IMAGES, AnnealedSampling(30, 200), seed=3).var(0).mean())
        for subject in (annealing, still)
    ]
    assert deviation(still) < BOUND and spread[1] > 3 * spread[0]


def test_many_temperatures_find_the_likelihood() -> None:
    exact = SMALL.log_likelihood(drawn(), IMAGES)
    found = log_likelihood(SMALL, drawn(), IMAGES, AnnealedSampling(400, 20), seed=1)
    assert found.spread is not None and found.standard_error is not None
    assert ((found.log_likelihood - exact).abs() < BOUND * found.spread.sqrt()).all()
    assert found.standard_error < 0.02
    # With few temperatures log p(v) is too small on average: the logarithm is concave.
    few = log_likelihood(SMALL, drawn(), IMAGES.repeat(200, 1), AnnealedSampling(1, 1), seed=1)
    gap = few.log_likelihood - exact.repeat(200)
    assert float(gap.mean()) < -BOUND * float(gap.std()) / 800**0.5 and few.standard_error is None


def test_calls_of_other_parts_and_seeds_draw_anew() -> None:
    def found(**given: int) -> torch.Tensor:
        return log_weights(SMALL, drawn(), IMAGES, AnnealedSampling(3, 2), **{"seed": 0, **given})

    assert torch.equal(found(), found())
    assert not torch.equal(found(), found(part=1)) and not torch.equal(found(), found(seed=1))


def test_the_ladder_and_the_estimate() -> None:
    assert AnnealedSampling(4, power=2.0).betas() == [0, 1 / 16, 1 / 4, 9 / 16, 1]
    found = estimated(torch.tensor([[0.0], [float(torch.tensor(3.0).log())]]))
    # Weights 1 and 3: mean 2, relative variance (2 / 4) / 2.
    assert float(found.log_likelihood) == pytest.approx(0.6931472, abs=1e-6)
    assert found.spread is not None and float(found.spread) == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize("given", [(0, 1), (1, 0), (1, 1, 0.0), (1, 1, float("nan"))])
def test_no_ladder_is_refused(given: tuple) -> None:
    with pytest.raises(ConfigurationError, match="at least one"):
        AnnealedSampling(*given)
