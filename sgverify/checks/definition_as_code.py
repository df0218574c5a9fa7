"""A definition behind the face of torch code: how its order is measured where it has no power series to prove it with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sgverify.checks.subject import Subject
from sgverify.checks.torch_subject import TorchSubject
from sgverify.samplers.binding import TENSORS
from sgverify.samplers.carrier import Chains
from sgverify.schemes import Scheme
from sgverify.schemes.binding import bind
from sgverify.schemes.declaration import Declaration
from sgverify.schemes.torch_step import TorchStep


def measurable(scheme: Scheme) -> bool:
    """Whether plain torch code can say what it does: no memory, no metric, normal noise, all of R^d, and whole gradients."""
    dynamics = scheme.dynamics
    asked = scheme.census
    apart = asked.hessians or asked.parts
    return not (scheme.memory or dynamics.riemannian or dynamics.positive or apart) and all(
        law.normal for law in scheme.laws
    )


def as_torch_step(scheme: Scheme) -> TorchStep:
    """The definition itself, run on tensors (chains, dim) with draws from torch; nothing of it is restated."""
    ingredients = tuple(name for name in scheme.declaration.ingredients if name != "noise")

    def run(*state: Tensor, grad: Callable[..., Tensor] | None = None, **given: Any) -> tuple[Tensor, ...]:
        h, dim = given.pop("h"), given.pop("dim", None)
        return bind(scheme, TENSORS, given, dim=dim).step(
            state,
            h=h,
            grad=None if grad is None else _Slope(grad),
            draw=lambda law: torch.randn_like(state[0]),
        )

    declaration = Declaration(scheme.state, ingredients)
    return TorchStep(scheme.name, scheme.dynamics, run, declaration, scheme.order, chains=True)


def as_torch_subject(subject: Subject) -> TorchSubject:
    """The subject with its scheme as torch code."""
    return TorchSubject(as_torch_step(subject.scheme), subject.configuration, subject.reference)


class _Slope:
    def __init__(self, source: Any) -> None:
        self._source = source

    def __call__(self, theta: Chains) -> Chains:
        return Chains(self._source(theta.tensor))

    def fresh(self) -> _Slope:
        return _Slope(self._source.fresh())
