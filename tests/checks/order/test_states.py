"""An order that is measured at one state is one of all states: features as narrow as h, and what is far from the mean, are seen."""

import math

import pytest
import torch

from sgverify import exp, scheme, sqrt, torch_step
from sgverify.checks.order.definition_as_code import as_torch_subject
from sgverify.checks.settings.other_settings import try_states
from sgverify.configuration import Configuration
from sgverify.schemes import kinetic, langevin
from sgverify.schemes.torch_step import TorchStep
from sgverify.subject.composite import TorchSubject
from sgverify.subject.subject import Subject


def with_extra(extra, order: int, *, hot=None) -> TorchStep:
    """Heun's step, of order 2, or Euler's, with an extra displacement, and with noise that is larger by the factor `hot`."""

    @torch_step(langevin, order=order)
    def step(theta, *, h, grad, T):
        kick = math.sqrt(2 * T * h) * torch.randn_like(theta) * (1.0 if hot is None else hot(theta, h))
        g = grad(theta)
        if order == 2:
            g = (g + grad(theta - h * g + kick)) / 2
        return theta - h * g + kick + extra(theta, h)

    return step


def judged(step: TorchStep):
    return try_states(TorchSubject(step, Configuration(), "step"), step.order)


def none(theta, h):
    return 0 * theta


def within(theta, low, high):
    return ((theta > low) & (theta < high)).to(theta.dtype)


WRONG = {
    "a bump of width h at 0": (lambda x, h: h**3 / (x * x + h * h), 2),
    "one at another place": (lambda x, h: h**3 / ((x - 0.831) ** 2 + h * h), 2),
    "a bump of width sqrt(h)": (lambda x, h: h**3 / (x * x + h), 2),
    "a threshold at h": (lambda x, h: h * within(x, -h, h), 2),
    "a threshold at h, of a size that does not fall": (lambda x, h: within(x, -0.7 * h, 0.7 * h), 1),
    "a pole": (lambda x, h: h**3 / (x * x), 2),
    "a window": (lambda x, h: -3 * h * x * within(x.abs(), 2.0, 2.2), 1),
    "the other side": (lambda x, h: h * x * (x < 0), 1),
    "a kink at 3": (lambda x, h: -(h**2) * (x.abs() - 3).clamp(min=0) * x.sign(), 2),
    "beyond 4": (lambda x, h: 2 * h * x * (x.abs() > 4), 1),
}

RIGHT = {
    "plain": (none, 2),
    "a soft bump": (lambda x, h: h**3 / (1 + x * x), 2),
    "a soft bump of another width": (lambda x, h: h**3 / (0.37 + x * x) ** 0.5, 2),
    "a kink of the next power": (lambda x, h: h**3 * x.abs(), 2),
    "a bump that order 1 allows": (lambda x, h: h * within(x, -h, h), 1),
    "a curved drift": (lambda x, h: h**2 * torch.sin(1.3 * x), 1),
}


@pytest.mark.by_default("a bump of width h at 0", "a window")
@pytest.mark.parametrize("name", WRONG)
def test_a_feature_that_moves_the_law_is_seen_wherever_it_is(name: str) -> None:
    found = judged(with_extra(*WRONG[name]))
    assert found.verdict == "violates" and "not affine" in found.finding, found.finding


@pytest.mark.by_default("a soft bump", "a kink of the next power")
@pytest.mark.parametrize("name", RIGHT)
def test_a_step_with_soft_terms_of_a_higher_power_conforms(name: str) -> None:
    found = judged(with_extra(*RIGHT[name]))
    assert found.verdict == "conforms", found.finding


@pytest.mark.by_default("<lambda>0")
@pytest.mark.parametrize(
    "hot", [lambda x, h: (x.abs() > 0.13) + 0.0, lambda x, h: 1 + 0.5 * within(x.abs(), 2.0, 2.2)]
)
def test_noise_that_differs_on_a_few_states_is_seen(hot) -> None:
    assert judged(with_extra(none, 1, hot=hot)).verdict == "violates"


def test_a_drift_that_is_tamed_softly_conforms() -> None:
    @torch_step(langevin, order=1)
    def tamed(theta, *, h, grad, T):
        return theta - torch.tanh(h * grad(theta)) + math.sqrt(2 * T * h) * torch.randn_like(theta)

    assert judged(tamed).verdict == "conforms"


def test_a_feature_in_the_momentum_is_seen() -> None:
    @torch_step(kinetic, order=1)
    def step(theta, p, *, h, grad, D, T):
        p = p - h * grad(theta) - h * D * p + math.sqrt(2 * D * T * h) * torch.randn_like(p)
        p = torch.where(p.abs() < h**0.5, p + h**0.5, p)
        return theta + h * p, p

    assert judged(step).verdict == "violates"


def heun(theta, h, grad, noise, T):
    kick = sqrt(2 * T * h) * noise()
    return theta - h / 2 * (grad(theta) + grad(theta - h * grad(theta) + kick)) + kick


@scheme(langevin, order=2)
def bump(theta, *, h, grad, noise, T):
    return heun(theta, h, grad, noise, T) + h * h * h / (theta * theta + h * h)


@scheme(langevin, order=2)
def flat_bump(theta, *, h, grad, noise, T):
    return heun(theta, h, grad, noise, T) + h * h * exp(-theta * theta / (h * h))


@scheme(langevin, order=2)
def quotient(theta, *, h, grad, noise, T):
    return heun(theta, h, grad, noise, T) + h * h * h / (1 + theta + theta * theta)


@pytest.mark.parametrize(
    "step, verdict", [(bump, "violates"), (flat_bump, "conforms"), (quotient, "conforms")]
)
def test_a_definition_without_a_power_series_is_looked_at_over_its_states(step, verdict) -> None:
    subject = as_torch_subject(Subject(step, Configuration(), step.name))
    assert try_states(subject, 2).verdict == verdict
