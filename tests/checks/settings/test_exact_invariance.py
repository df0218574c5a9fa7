"""Metropolis steps in torch: judged by their invariance on the configured target, and by nothing else."""

from __future__ import annotations

import pytest
import torch

from sgverify import verify
from sgverify.checks.settings.other_settings import accepts_and_rejects
from sgverify.configuration import load_configuration
from sgverify.schemes import langevin
from sgverify.schemes.torch_step import torch_step
from sgverify.subject.binding import make_subject


def mala(sign, *, frozen=False):
    """The Metropolis-adjusted Langevin step on N(0, 1), its ratio to the power `sign`."""

    def energy(x):
        return (x * x).sum(-1, keepdim=True) / 2

    def log_proposal(to, at, slope, h, T):
        return -((to - at + h * slope) ** 2).sum(-1, keepdim=True) / (4 * T * h)

    @torch_step(langevin, chains=True)
    def step(theta, *, h, grad, T):
        g = grad(theta)
        new = theta - h * g + (2 * T * h) ** 0.5 * torch.randn_like(theta)
        log_ratio = (energy(theta) - energy(new)) / T
        log_ratio = log_ratio + log_proposal(theta, new, grad(new), h, T) - log_proposal(new, theta, g, h, T)
        uniform = torch.special.ndtr(torch.randn_like(theta[..., :1]))
        return torch.where(uniform < torch.exp(sign * log_ratio), theta if frozen else new, theta)

    return step


def settings(step):
    (found,) = verify(step, checks=["settings"], target={"name": "gaussian"})
    return found


@pytest.mark.power
def test_the_right_ratio_leaves_its_law() -> None:
    found = settings(mala(1))
    assert found.verdict == "conforms"
    assert "accepts and rejects" in found.reason


@pytest.mark.power
@pytest.mark.parametrize("sign", [-1, 0.5, 2])
def test_a_wrong_ratio_does_not(sign: float) -> None:
    """As h falls all are accepted and the bias is no more than Euler's, of order h: it is at large h that they differ."""
    assert settings(mala(sign)).verdict == "violates"


def test_no_local_order_is_asked_of_it() -> None:
    (found,) = verify(mala(1), checks=["sgverify/stated-order"], target={"name": "gaussian"})
    assert found.verdict == "not-applicable" and "accepts and rejects" in found.reason


def test_who_is_lazy_on_purpose_has_no_ratio() -> None:
    """A half of the steps does nothing, at every h: Euler of the step size h/2, which is no Metropolis step."""

    @torch_step(langevin, chains=True)
    def lazy(theta, *, h, grad, T):
        new = theta - h * grad(theta) + (2 * T * h) ** 0.5 * torch.randn_like(theta)
        return torch.where(torch.randn_like(theta[..., :1]) > 0, new, theta)

    subject = make_subject(lazy, load_configuration(target={"name": "gaussian"}))
    assert not accepts_and_rejects(subject)
    assert accepts_and_rejects(make_subject(mala(1), load_configuration(target={"name": "gaussian"})))
