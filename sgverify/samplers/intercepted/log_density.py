"""The ingredient `log_density` of torch code: a log density of the target whose gradient is -grad, from gradients alone.

    log pi(theta) = -int_0^1 grad(c + t (theta - c)) . (theta - c) dt,

which is -U(theta) up to the constant U(c), at c = 0 or, for theta > 0, c = (1, ..., 1). So one gradient, of whatever potential and
minibatch a check runs the code on, gives the density as well. The integral is a Gauss-Legendre sum, exact for
polynomials U of degree 4 at two nodes, of degree 128 at 64; two sums have to agree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import DefinitionError, Unreached

NODES = (2, 4, 8, 16, 32, 64)
"""The numbers of nodes that are tried in turn, until two sums agree."""

AGREE = 1e-11
"""The largest difference of two sums, relative to the sum of sizes: 64 products round by less than 1e-14 of it, and a sum of smooth
gradients that has converged this far is off by rounding alone at twice as many nodes."""


class LogDensityOf:
    """log_density(theta), shape (), or (chains,) of many chains: differentiable once by torch, with the gradient -grad(theta).

    `gradient(theta)` is the gradient of U at theta, on one minibatch; `fresh` gives that on another one of the same step.
    """

    def __init__(
        self,
        gradient: Any,
        place: str,
        *,
        positive: bool,
        potential: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        """`potential`: U itself where it is known, of every minibatch; it takes the place of the integral."""
        self._gradient, self._place, self._positive = gradient, place, positive
        self._potential = potential

    def __call__(self, theta: Tensor) -> Tensor:
        """The log density at theta up to a constant, in theta's dtype."""
        if not isinstance(theta, Tensor):
            raise DefinitionError(
                f"{self._place}: log_density() of a {type(theta).__name__}; expected the position, a tensor"
            )
        found: Tensor = _Differentiable.apply(theta, self)
        return found

    def fresh(self) -> LogDensityOf:
        """The log density of another minibatch of the same step."""
        return LogDensityOf(
            self._gradient.fresh(), self._place, positive=self._positive, potential=self._potential
        )

    def gradient(self, theta: Tensor) -> Tensor:
        """The gradient of the log density."""
        return -self._gradient(theta)

    def value(self, theta: Tensor) -> Tensor:
        """The log density, without a graph."""
        if self._potential is not None:
            return -self._potential(theta.detach()).to(theta.dtype)
        return -along_line(self._gradient, theta.detach(), positive=self._positive)


def along_line(gradient: Callable[[Tensor], Tensor], theta: Tensor, *, positive: bool) -> Tensor:
    """U(theta) - U(c) from gradients between c and theta. Raises `Unreached` if sums over more and more nodes do not agree."""
    start = torch.ones_like(theta) if positive else torch.zeros_like(theta)
    way = theta - start
    before: Tensor | None = None
    for count in NODES:
        terms = [
            weight * (gradient(start + node * way) * way).sum(-1)
            for node, weight in zip(*_rule(count), strict=True)
        ]
        total = torch.stack(terms)
        found, size = total.sum(0), total.abs().sum(0)
        # Rounding of gradients in float32 hides smaller differences.
        close = max(AGREE, 64 * torch.finfo(theta.dtype).eps)
        if before is not None and bool(
            ((found - before).abs() <= close * (size + torch.finfo(theta.dtype).tiny)).all()
        ):
            return found
        before = found
    raise Unreached(
        f"its log density is not read: gradients at {NODES[-1]} places of a line do not integrate to one number, as those of one "
        "smooth function do"
    )


@cache
def _rule(count: int) -> tuple[list[float], list[float]]:
    """Nodes and weights of Gauss and Legendre on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return ((nodes + 1) / 2).tolist(), (weights / 2).tolist()


class _Differentiable(torch.autograd.Function):
    """The value by the line, the derivative by the gradient; a second derivative is an error of torch."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, of: LogDensityOf) -> Tensor:
        ctx.of = of
        ctx.save_for_backward(theta)
        return of.value(theta)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, weight: Tensor) -> tuple[Tensor, None]:
        (theta,) = ctx.saved_tensors
        return weight[..., None] * ctx.of.gradient(theta), None
