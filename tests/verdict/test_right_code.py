"""Right code of random form: optimizers and torch steps, written in the ways that samplers are written, and none fails."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import sgverify
from sgverify.schemes import kinetic, langevin
from sgverify.schemes.torch_step import torch_step

Maker = Callable[[np.random.Generator], tuple[Any, dict[str, Any]]]


def _noise(random: np.random.Generator) -> Callable[[torch.Tensor], torch.Tensor]:
    """One of the ways to draw normal numbers of a tensor's shape."""
    source = torch.Generator().manual_seed(int(random.integers(1, 10**6)))
    ways: list[Callable[[torch.Tensor], torch.Tensor]] = [
        torch.randn_like,
        lambda x: torch.randn(x.shape, dtype=x.dtype),
        lambda x: torch.empty_like(x).normal_(),
        lambda x: torch.normal(torch.zeros_like(x), torch.ones_like(x)),
        lambda x: torch.normal(0.0, 1.0, x.shape, dtype=x.dtype),
        lambda x: torch.randn(x.shape, dtype=x.dtype, generator=source),
        lambda x: torch.distributions.Normal(torch.zeros_like(x), 1.0).sample(),
    ]
    return ways[random.integers(len(ways))]


def optimizer(random: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """SGLD as an optimizer: with a step of lr or lr/2, with or without a temperature, a counter, a closure and a decay of 0."""
    noise, half = _noise(random), bool(random.random() < 0.3)
    lr = ("lr", "alpha", "step_size", "epsilon", "eta")[random.integers(5)]
    temperature = ("temperature", "T", "")[random.integers(3)]
    counted, decayed, in_parts = random.random(3) < 0.4
    share = float(random.uniform(0.2, 0.8))

    class SGLD(torch.optim.Optimizer):
        @torch.no_grad()
        def step(self, closure: Any = None) -> Any:
            loss = None
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                h = group[lr] * (0.5 if half else 1.0)
                kT = group[temperature] if temperature else 1.0
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    slope = p.grad.add(p, alpha=group["decay"]) if decayed else p.grad
                    if counted:
                        self.state[p]["step"] = self.state[p].get("step", 0) + 1
                    if in_parts:
                        p.add_(noise(p), alpha=math.sqrt(2 * share * h * kT))
                        p.add_(slope, alpha=-h).add_(noise(p), alpha=math.sqrt(2 * (1 - share) * h * kT))
                    else:
                        p.add_(slope, alpha=-h).add_(noise(p) * math.sqrt(2 * h * kT))
            return loss

    defaults = {
        lr: 1e-3,
        **({temperature: 1.0} if temperature else {}),
        **({"decay": 0.0} if decayed else {}),
    }
    # A constructor names its options, as users' do.
    text = ", ".join(f"{name}={value!r}" for name, value in defaults.items())
    named = ", ".join(f"{name}={name}" for name in defaults)
    space: dict[str, Any] = {"base": torch.optim.Optimizer}
    exec(f"def __init__(self, params, {text}):\n    base.__init__(self, params, dict({named}))", space)
    SGLD.__init__ = space["__init__"]  # type: ignore[method-assign]
    return SGLD, {} if lr in ("lr", "step_size") else {"adapter": {"map": {lr: "h"}}}


def plain(random: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """A step of the overdamped dynamics of order 1, whose draws are one normal number or a sum of two."""
    noise, share, drifted = _noise(random), float(random.uniform(0.1, 0.9)), bool(random.random() < 0.5)

    def step(theta: Any, *, h: float, grad: Any, T: float) -> Any:
        size = math.sqrt(2 * T * h)
        if drifted:
            middle = theta - share * h * grad(theta)
            return middle - (1 - share) * h * grad(middle) + size * noise(theta)
        return (
            theta
            - h * grad(theta)
            + size * (math.sqrt(share) * noise(theta) + math.sqrt(1 - share) * noise(theta))
        )

    return torch_step(langevin)(step), {}


WORDS = ("BAOAB", "ABOBA", "OBABO", "OABAO", "BAO", "ABO", "OBA", "AOB", "OAB", "BOA", "BAOA", "BABO")


def split(random: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """A splitting of the underdamped dynamics; each letter takes random shares of the step that add up to all of it."""
    noise, word = _noise(random), WORDS[random.integers(len(WORDS))]
    shares: dict[int, float] = {}
    for letter in set(word):
        places = [k for k, other in enumerate(word) if other == letter]
        parts = (
            random.dirichlet(np.full(len(places), 4.0))
            if random.random() < 0.5
            else np.full(len(places), 1 / len(places))
        )
        shares.update(zip(places, map(float, parts), strict=True))

    def step(theta: Any, p: Any, *, h: float, grad: Any, D: float, T: float) -> Any:
        for k, letter in enumerate(word):
            t = shares[k] * h
            if letter == "A":
                theta = theta + t * p
            elif letter == "B":
                p = p - t * grad(theta)
            else:
                p = math.exp(-D * t) * p + math.sqrt(-T * math.expm1(-2 * D * t)) * noise(p)
        return theta, p

    return torch_step(kinetic)(step), {}


MAKERS: tuple[Maker, ...] = (optimizer, plain, split)


def outcome(seed: int) -> sgverify.Results:
    random = np.random.default_rng([seed, 37])
    code, settings = MAKERS[seed % len(MAKERS)](random)
    return sgverify.verify(code, **settings)


@pytest.mark.power
@pytest.mark.parametrize("block", range(20))
def test_right_code_never_fails(block: int) -> None:
    for seed in range(15 * block, 15 * (block + 1)):
        results = outcome(seed)
        assert results.outcome != "fail", f"{seed}: {results.verdict.text()}"
