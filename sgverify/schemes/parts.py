"""Prior and likelihood apart, where the prior's gradient is itself an expression of the face.

A reading that knows one gradient and one Hessian, such as the affine one, has no room for the prior's. On a target whose prior
is simple it needs none: with grad prior(theta) = a theta + b, or without data, the step is one of `grad` alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sgverify.schemes.scheme import Scheme

Prior = Callable[[Any, Any], Any]
"""(grad, theta) -> the prior's gradient at theta."""


def with_prior(scheme: Scheme, prior: Prior) -> Scheme:
    """The same step where `grad.prior(theta)` is `prior(grad, theta)`, and `grad.likelihood(theta)` what is left of grad."""

    def parted(function: Callable[..., Any]) -> Callable[..., Any]:
        def apart(*state: Any, **given: Any) -> Any:
            if "grad" in given:
                given["grad"] = _Parted(given["grad"], prior)
            return function(*state, **given)

        # What is declared is read off the signature.
        apart.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return apart

    return replace(
        scheme,
        function=parted(scheme.function),
        memory={name: parted(start) for name, start in scheme.memory.items()},
        census=replace(scheme.census, parts=False),
        starts=replace(scheme.starts, parts=False),
    )


class _Parted:
    """The gradient ingredient of any reading, with the parts put in."""

    def __init__(self, grad: Any, prior: Prior) -> None:
        self._grad, self._prior = grad, prior

    def __call__(self, theta: Any) -> Any:
        return self._grad(theta)

    def prior(self, theta: Any) -> Any:
        return self._prior(self._grad, theta)

    def likelihood(self, theta: Any) -> Any:
        return self._grad(theta) - self.prior(theta)

    def hessian(self, theta: Any, vector: Any) -> Any:
        return self._grad.hessian(theta, vector)

    def fresh(self) -> _Parted:
        return _Parted(self._grad.fresh(), self._prior)
