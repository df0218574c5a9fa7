"""A momentum of variance 1 at every T: the law of theta is right, and the step is read in the dynamics' own unit."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from sgverify import exp, scheme, sqrt
from sgverify.configuration import load_configuration
from sgverify.exact.series.local_order import local_order
from sgverify.schemes import kinetic
from sgverify.schemes.torch_step import torch_step
from sgverify.subject.binding import make_subject
from sgverify.subject.momentum_unit import TOLD, in_own_unit


@scheme(kinetic, order=2)
def of_variance_one(theta: Any, p: Any, *, h: Any, grad: Any, noise: Any, T: Any, D: Any) -> Any:
    p = p - h / 2 * grad(theta) / T
    theta = theta + h / 2 * p
    p = exp(-h * D) * p + sqrt(1 - exp(-2 * h * D)) * noise()
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta) / T


@scheme(kinetic, order=2)
def without_temperature(theta: Any, p: Any, *, h: Any, grad: Any, noise: Any, D: Any) -> Any:
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = exp(-h * D) * p + sqrt(1 - exp(-2 * h * D)) * noise()
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


def code(heat: float = 0.0, cold: float = 1.0) -> Any:
    @torch_step(kinetic, order=1)
    def step(theta: Any, p: Any, *, h: Any, grad: Any, T: Any, D: Any) -> Any:
        p = p - h * grad(theta) / T**cold - h * D * p + math.sqrt(2 * D * h * T**heat) * torch.randn_like(p)
        return theta + h * p, p

    return step


def test_a_definition_is_read_in_the_unit_of_its_dynamics() -> None:
    read = make_subject(of_variance_one, load_configuration({"temperature": 0.731294578123})).scheme
    assert TOLD in read.summary
    found = local_order(read, 1)
    assert found.given_minibatch is None or found.given_minibatch.order >= 2


def test_a_step_without_a_temperature_keeps_all_moments_of_its_noise() -> None:
    # p/sqrt(T) sqrt(T) is p by a relation of symbols: a step that counts as one that does not tend to the identity has two moments.
    found = local_order(without_temperature, 1)
    assert found.given_minibatch is None or found.given_minibatch.order >= 2


def test_torch_code_is_read_so() -> None:
    assert TOLD in in_own_unit(code()).conventions


@pytest.mark.parametrize(("heat", "cold"), [(1.0, 1.0), (0.0, 0.0), (1.0, 0.0), (0.0, 0.5), (1e-3, 1.0)])
def test_another_noise_or_force_is_left_as_it_is(heat: float, cold: float) -> None:
    step = code(heat, cold)
    assert in_own_unit(step) is step
