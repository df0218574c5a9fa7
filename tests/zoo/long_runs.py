"""Optimizers that do otherwise in some step, shape, group or dtype than in the step that one looks at, and right ones."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Optimizer


class Langevin(Optimizer):
    """Right: Euler's step, with a count of the steps, and the noise by `noise`."""

    def __init__(self, params: Any, lr: float = 1e-3, temperature: float = 1.0) -> None:
        super().__init__(params, {"lr": lr, "temperature": temperature})
        self.steps = 0

    def noise(self, p: Tensor, place: int) -> Tensor:
        return torch.randn_like(p)

    def temper(self, p: Tensor, group: int) -> float:
        return 1.0

    def begin(self) -> None:
        """Before the parameters are moved."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        self.steps += 1
        self.begin()
        place = 0
        for number, group in enumerate(self.param_groups):
            for p in group["params"]:
                size = 2 * group["lr"] * group["temperature"] * self.temper(p, number)
                p.add_(p.grad, alpha=-group["lr"]).add_(self.noise(p, place), alpha=math.sqrt(size))
                place += 1


class EverySeventh(Langevin):
    """Wrong: every seventh step has seven times the noise, and the others none."""

    def temper(self, p: Tensor, group: int) -> float:
        return 7.0 * (self.steps % 7 == 3)


class RareKick(Langevin):
    """Wrong by little: every 311th step has no noise."""

    def temper(self, p: Tensor, group: int) -> float:
        return float(self.steps % 311 != 0)


class Ramp(Langevin):
    """Wrong: its temperature rises from step 1,000 on."""

    def temper(self, p: Tensor, group: int) -> float:
        return 1 + 0.0003 * max(0, self.steps - 1000)


class Doubled(Langevin):
    """Wrong: each draw is used in two steps."""

    def noise(self, p: Tensor, place: int) -> Tensor:
        state = self.state[p]
        if self.steps % 2 == 1:
            state["z"] = torch.randn_like(p)
        return state["z"]


class OneForAll(Langevin):
    """Wrong: one number for all entries of a tensor."""

    def noise(self, p: Tensor, place: int) -> Tensor:
        return torch.randn(1, dtype=p.dtype).expand(p.shape) if p.ndim else torch.randn_like(p)


class OneForColumns(Langevin):
    """Wrong for matrices: one number for each column."""

    def noise(self, p: Tensor, place: int) -> Tensor:
        return torch.randn(p.shape[-1:], dtype=p.dtype).expand(p.shape)


class Pool(Langevin):
    """Wrong: a hundred draws are made once and used again and again."""

    def noise(self, p: Tensor, place: int) -> Tensor:
        state = self.state[p]
        if "pool" not in state:
            state["pool"] = torch.randn((100, *p.shape), dtype=p.dtype)
        return state["pool"][self.steps % 100]


class SeedOfPlace(Langevin):
    """Wrong: the seed is step + place, so that a parameter's noise is that of the next one a step before."""

    def noise(self, p: Tensor, place: int) -> Tensor:
        random = torch.Generator().manual_seed(17 + self.steps + place)
        return torch.randn(p.shape, generator=random, dtype=p.dtype)


class ColdScalars(Langevin):
    """Wrong: scalars have no noise."""

    def temper(self, p: Tensor, group: int) -> float:
        return float(p.ndim > 0)


class ColdMatrices(Langevin):
    """Wrong: matrices have half of the noise."""

    def temper(self, p: Tensor, group: int) -> float:
        return 0.5 if p.ndim > 1 else 1.0


class HotLargeTensors(Langevin):
    """Wrong: large tensors have more noise."""

    def temper(self, p: Tensor, group: int) -> float:
        return 1.3 if p.numel() > 2048 else 1.0


class ColdFloats(Langevin):
    """Wrong: noise is halved in float32."""

    def temper(self, p: Tensor, group: int) -> float:
        return 1.0 if p.dtype == torch.float64 else 0.5


class SecondGroupCold(Langevin):
    """Wrong: the second group has no noise."""

    def temper(self, p: Tensor, group: int) -> float:
        return float(group == 0)


class StdOfTheStart(SGD):
    """Wrong with a scheduler: the scale of the noise is fixed by the first lr of each group."""

    def __init__(self, params: Any, lr: float = 1e-3, temperature: float = 1.0) -> None:
        super().__init__(params, lr=lr)
        self.scales = [math.sqrt(2 * group["lr"] * temperature) for group in self.param_groups]

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        super().step()
        for scale, group in zip(self.scales, self.param_groups, strict=True):
            for p in group["params"]:
                p.add_(torch.randn_like(p), alpha=scale)


class Momentum(Langevin):
    """Right: a momentum with its own noise; with `forget` its buffer is emptied every so many steps, which is wrong by little."""

    forget = 0

    def __init__(
        self, params: Any, lr: float = 1e-3, momentum_decay: float = 0.1, temperature: float = 1.0
    ) -> None:
        Optimizer.__init__(
            self, params, {"lr": lr, "momentum_decay": momentum_decay, "temperature": temperature}
        )
        self.steps = 0

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        self.steps += 1
        for group in self.param_groups:
            lr, a, T = group["lr"], group["momentum_decay"], group["temperature"]
            for p in group["params"]:
                v = self.state[p].setdefault("v", torch.zeros_like(p))
                if self.forget and self.steps % self.forget == 0:
                    v.zero_()
                v.mul_(1 - a).add_(p.grad, alpha=-lr).add_(torch.randn_like(p), alpha=(2 * a * lr * T) ** 0.5)
                p.add_(v)


class Forgets(Momentum):
    """Wrong by little: its momentum is emptied every 300 steps."""

    forget = 300


class SeedOfStep(Langevin):
    """Right: one generator for each step, seeded by it."""

    def begin(self) -> None:
        self.random = torch.Generator().manual_seed(1_000_003 * self.steps)

    def noise(self, p: Tensor, place: int) -> Tensor:
        return torch.randn(p.shape, generator=self.random, dtype=p.dtype)


class Prefetched(Langevin):
    """Right: draws are made for fifty steps at once, and made anew then."""

    def noise(self, p: Tensor, place: int) -> Tensor:
        state = self.state[p]
        if (self.steps - 1) % 50 == 0:
            state["pool"] = torch.randn((50, *p.shape), dtype=p.dtype)
        return state["pool"][(self.steps - 1) % 50]


class ForEach(Langevin):
    """Right: the operations of torch that take lists of tensors."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            drawn = [torch.randn_like(p) for p in group["params"]]
            torch._foreach_mul_(drawn, math.sqrt(2 * group["lr"] * group["temperature"]))
            torch._foreach_add_(group["params"], [p.grad for p in group["params"]], alpha=-group["lr"])
            torch._foreach_add_(group["params"], drawn)


class Fused(Langevin):
    """Right: the draws of all parameters of a group in one flat tensor."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            flat = torch.randn(sum(p.numel() for p in group["params"]), dtype=group["params"][0].dtype)
            start = 0
            for p in group["params"]:
                z = flat[start : start + p.numel()].reshape(p.shape)
                start += p.numel()
                p.add_(p.grad, alpha=-group["lr"]).add_(
                    z, alpha=math.sqrt(2 * group["lr"] * group["temperature"])
                )


class WarmUp(Langevin):
    """Right from the end of its burn-in on."""

    def __init__(self, params: Any, lr: float = 1e-3, burn_in: int = 60, temperature: float = 1.0) -> None:
        Optimizer.__init__(self, params, {"lr": lr, "burn_in": burn_in, "temperature": temperature})
        self.steps, self.burn_in = 0, burn_in

    def temper(self, p: Tensor, group: int) -> float:
        return float(self.steps > self.burn_in)


class FallingLr(Langevin):
    """A schedule: its lr falls, and the noise with it."""

    def __init__(
        self, params: Any, lr: float = 1e-3, gamma: float = 0.9995, temperature: float = 1.0
    ) -> None:
        Optimizer.__init__(self, params, {"lr": lr, "gamma": gamma, "temperature": temperature})
        self.steps = 0

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            lr = group["lr"] * group["gamma"] ** self.steps
            for p in group["params"]:
                p.add_(p.grad, alpha=-lr).add_(
                    torch.randn_like(p), alpha=math.sqrt(2 * lr * group["temperature"])
                )
        self.steps += 1


class UniformNoise(Langevin):
    """Right: uniform draws of variance 1."""

    def noise(self, p: Tensor, place: int) -> Tensor:
        return math.sqrt(12) * (torch.rand_like(p) - 0.5)
