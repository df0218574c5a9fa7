"""The derivatives of a module's U in float64, by reverse passes alone, and a mode of exp(-U/T) near the module's parameters.

A mode is searched by Adam, on minibatches where data are many, and then by L-BFGS on all data. Every part of the search has a fixed
number of steps, whatever the clock says, so that it ends at one point wherever it is repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy import optimize
from torch import Tensor

from sgverify.errors import DefinitionError
from sgverify.samplers.own.module_parts import ModuleLikelihood
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.run.settings import one_thread
from sgverify.targets.target import Target

Progress = Callable[[str, int, int], None]

_ROWS = 4096
"""Data whose losses are held at once."""

_HISTORY = 30
"""The pairs that L-BFGS remembers."""

_ADAM, _BATCH, _RATE = 400, 1024, 0.01
"""The steps of Adam, the most data of its minibatches, and its first rate, which falls to 0 along a cosine."""

_LBFGS, _WORK, _FLAT = 3000, 3e11, 1e-6
"""The most gradients of L-BFGS, and their most products of a datum and a parameter: minutes on one core. It ends where an iteration
lowers U by less than this share."""

_TOLD = 25
"""The gradients between two tellings of progress."""


class ModuleDerivatives:
    """U = prior + sum_i loss_i of a module, its gradient and its products at one theta of shape (d,), all in float64."""

    def __init__(self, target: Target) -> None:
        likelihood: Any = target.likelihood
        assert isinstance(likelihood, ModuleLikelihood)
        assert target.data is not None
        self._likelihood, self._prior = likelihood, target.prior
        self.data, self.name, self.dim = torch.tensor(target.data), target.name, target.dim

    @property
    def size(self) -> int:
        """N."""
        return len(self.data)

    def gradient(self, theta: Tensor, rows: Tensor | None = None) -> tuple[float, Tensor]:
        """U and its gradient; with `rows`, a minibatch, their estimates."""
        at = theta.detach().requires_grad_()
        data = self.data if rows is None else rows
        with torch.enable_grad():
            value = self._value_of_prior(at)
            energy, gradient = value.item(), _gradient(value, at)
            for piece in data.split(_ROWS):
                value = self._likelihood.of_rows(at, piece) * (self.size / len(data))
                gradient = gradient + _gradient(value, at)
                energy += value.item()
        return energy, gradient

    def prior_product(self, theta: Tensor, vector: Tensor) -> Tensor:
        """The Hessian of the prior times a vector."""
        return self._times(torch.func.grad(self._value_of_prior), theta, vector)

    def likelihood_product(self, theta: Tensor, vector: Tensor) -> Tensor:
        """The Hessian of sum_i loss_i times a vector."""
        slope, total = torch.func.grad(self._likelihood.of_rows), torch.zeros_like(vector)
        for piece in self.data.split(_ROWS):
            total = total + self._times(partial(slope, rows=piece), theta, vector)
        return total

    def slopes(self, theta: Tensor, vector: Tensor) -> Tensor:
        """The gradient of each loss along a vector. Shape (N,).

        A product with the transposed Jacobian is linear in its argument, and its own derivative is the product with the Jacobian.
        """
        found = []
        for piece in self.data.split(_ROWS):
            back = torch.func.vjp(partial(self._likelihood.of_each, rows=piece), theta)[1]
            nothing = torch.zeros(len(piece), dtype=theta.dtype)
            found.append(torch.func.vjp(back, nothing)[1]((vector,))[0])
        return torch.cat(found)

    def _value_of_prior(self, at: Tensor) -> Tensor:
        found: Tensor = self._prior(Chains(at[None])).tensor
        return found.sum()

    def _times(self, slope: Callable[[Tensor], Tensor], theta: Tensor, vector: Tensor) -> Tensor:
        """The derivative of a gradient along a vector: a Hessian is symmetric."""
        try:
            found: Tensor = torch.func.vjp(slope, theta)[1](vector)[0]
        except Exception as error:  # torch raises errors of many types for code that it cannot differentiate
            raise DefinitionError(
                f"target.name={self.name!r}: the gradient of the module's loss has no derivative ({str(error).splitlines()[0]}); "
                "expected a loss that torch differentiates twice; write it without operations that cut the graph"
            ) from None
        return found


def _gradient(value: Tensor, at: Tensor) -> Tensor:
    """The gradient of a value; 0 where it does not depend on theta."""
    return torch.autograd.grad(value, at)[0] if value.requires_grad else torch.zeros_like(at)


@dataclass(frozen=True)
class ModuleMode:
    """The search of a mode: U at the module's own parameters and at its end, |grad U| and the mean curvature of the prior there.

    `evaluations` counts the gradients of L-BFGS; `converged` says whether it ended by itself.
    """

    started: float
    energy: float
    gradient_norm: float
    prior: float
    evaluations: int
    converged: bool


def mode_of(target: Target, progress: Progress | None = None) -> tuple[np.ndarray, ModuleMode]:
    """The mode near the module's parameters, shape (d,), and its search; found once for a target.

    Raises `DefinitionError` where U or its gradient is not finite at the start, or the loss has no derivative.
    """
    assert target.stated_location is not None
    memory: dict[Any, tuple[np.ndarray, ModuleMode]] = vars(target.likelihood).setdefault("_modes", {})
    key = (target.prior, target.stated_location.tobytes())
    if key not in memory:
        with one_thread():
            memory[key] = _search(target, target.stated_location, progress)
    return memory[key]


def _search(target: Target, begun: np.ndarray, progress: Progress | None) -> tuple[np.ndarray, ModuleMode]:
    derivatives, start = ModuleDerivatives(target), torch.tensor(begun, dtype=torch.float64)
    started, slope = derivatives.gradient(start)
    signs = torch.randn(start.shape, generator=torch.Generator().manual_seed(0), dtype=start.dtype).sign()
    if not math.isfinite(started) or not bool(slope.isfinite().all()):
        raise DefinitionError(
            f"target.name={target.name!r}: U or its gradient is not finite at the module's own parameters; expected finite ones; "
            "mend the loss, the data or the parameters"
        )
    if not bool(derivatives.slopes(start, signs).any()):
        raise DefinitionError(
            f"target.name={target.name!r}: the loss has the derivative 0 for all data at the module's own parameters; expected one "
            "that depends on them; write it without operations that cut the graph, such as argmax or detach"
        )
    most = int(min(_LBFGS, max(100, _WORK / (derivatives.size * derivatives.dim))))
    count = 0

    def told(text: str) -> None:
        nonlocal count
        if progress is not None and count % _TOLD == 0:
            progress(f"mode: {text}", count, _ADAM + most)
        count += 1

    def energy(theta: np.ndarray) -> tuple[float, np.ndarray]:
        told("L-BFGS")
        value, slope = derivatives.gradient(torch.tensor(theta))
        return (value, slope.numpy()) if math.isfinite(value) else (1e300, np.zeros_like(theta))

    from_adam = _adam(derivatives, start, told)
    options = {"maxcor": _HISTORY, "maxfun": most, "maxiter": most, "ftol": _FLAT, "gtol": 0.0}
    found = optimize.minimize(energy, from_adam.numpy(), jac=True, method="L-BFGS-B", options=options)
    prior = float(signs @ derivatives.prior_product(torch.tensor(found.x), signs)) / len(signs)
    norm = float(np.linalg.norm(found.jac))
    return found.x, ModuleMode(started, float(found.fun), norm, prior, int(found.nfev), found.status == 0)


def _adam(derivatives: ModuleDerivatives, start: Tensor, told: Callable[[str], None]) -> Tensor:
    """Where Adam ends, or has come before a gradient that is not finite; the start if U is no lower there."""
    theta = torch.nn.Parameter(start.clone())
    optimizer = torch.optim.Adam([theta], lr=_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, _ADAM)
    generator = torch.Generator().manual_seed(0)
    for _ in range(_ADAM):
        told("Adam")
        rows = None
        if derivatives.size > _BATCH:
            rows = derivatives.data[torch.randint(derivatives.size, (_BATCH,), generator=generator)]
        theta.grad = derivatives.gradient(theta.detach(), rows)[1]
        if not bool(theta.grad.isfinite().all()):
            break
        optimizer.step()
        schedule.step()
    at = theta.detach()
    return at if derivatives.gradient(at)[0] < derivatives.gradient(start)[0] else start
