"""A library like posteriors, in a few lines: a kinetic sampler whose noise, starts and steps in place can be got wrong."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

SOURCE = '''
from collections import namedtuple
from dataclasses import dataclass, field
from functools import partial

import torch
from torch.func import grad_and_value

Transform = namedtuple("Transform", ["init", "update"])


@dataclass
class State:
    params: object
    momenta: object
    step: object = SHARED


def build(log_posterior, lr, alpha=0.01, sigma=1.0, temperature=1.0, momenta=None):
    """Stochastic gradient Hamiltonian Monte Carlo, by Euler's method."""
    settings = dict(log_posterior=log_posterior, lr=lr, alpha=alpha, sigma=sigma, temperature=temperature)
    return Transform(partial(init, momenta=momenta), partial(update, **settings))


def init(params, momenta=None):
    random = {name: torch.randn_like(value) for name, value in params.items()}
    given = {name: torch.full_like(value, momenta or 0) for name, value in params.items()}
    return State(params, random if START else given, torch.tensor(0))


def update(state, batch, log_posterior, lr, alpha=0.01, sigma=1.0, temperature=1.0, inplace=False):
    grads, _ = grad_and_value(log_posterior, has_aux=True)(state.params, batch)
    params = {k: v + lr * state.momenta[k] / sigma**2 for k, v in state.params.items()}
    momenta = {
        k: m + lr * grads[k] - lr * alpha / sigma**2 * m
        + (SHARE * alpha * temperature * lr) ** 0.5 * torch.randn_like(m)
        for k, m in state.momenta.items()
    }
    if not inplace:
        return State(params, momenta, state.step + 1), None
    state.params, state.momenta = params, momenta
    state.step = COUNTED
    return state, None
'''


def library(monkeypatch: pytest.MonkeyPatch, **changes: str) -> ModuleType:
    """The library, with its noise, start or shared counter by other texts than the right ones."""
    text = SOURCE
    right = {
        "SHARED": "field(default_factory=lambda: torch.tensor(0))",
        "START": "momenta is None",
        "SHARE": "2",
        "COUNTED": "state.step + 1",
    }
    for name, expression in {**right, **changes}.items():
        text = text.replace(name, expression)
    made = ModuleType("posteriors.sgmcmc.stand_in")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    exec(compile(text, made.__name__, "exec"), vars(made))
    return made
