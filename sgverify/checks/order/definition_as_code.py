"""A definition as torch code, so that what is measured of code is measured of a definition that cannot be proved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sgverify.samplers.reading.binding import TENSORS
from sgverify.samplers.reading.carrier import Chains
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import bind
from sgverify.schemes.definition.declaration import Declaration
from sgverify.schemes.torch_step import TorchStep
from sgverify.subject.composite import TorchSubject
from sgverify.subject.subject import Subject


def measurable(scheme: Scheme) -> bool:
    """Can the scheme be written as plain torch code: no memory, no metric, normal noise, all of R^d, gradients of U only?"""
    dynamics = scheme.dynamics
    asked = scheme.census
    apart = asked.hessians or asked.parts
    return not (scheme.memory or dynamics.riemannian or dynamics.positive or apart) and all(
        law.normal for law in scheme.laws
    )


def as_torch_step(scheme: Scheme) -> TorchStep:
    """A torch step that calls the definition itself on tensors of shape (chains, dim), with draws from torch."""
    ingredients = tuple(name for name in scheme.declaration.ingredients if name != "noise")

    def run(*state: Tensor, grad: Callable[..., Tensor] | None = None, **given: Any) -> tuple[Tensor, ...]:
        h, dim = given.pop("h"), given.pop("dim", None)
        return bind(scheme, TENSORS, given, dim=dim).step(
            state,
            h=h,
            grad=None if grad is None else _Gradient(grad),
            draw=lambda law: torch.randn_like(state[0]),
        )

    declaration = Declaration(scheme.state, ingredients)
    return TorchStep(scheme.name, scheme.dynamics, run, declaration, scheme.order, chains=True)


def as_torch_subject(subject: Subject) -> TorchSubject:
    """The subject with its scheme as torch code."""
    return TorchSubject(as_torch_step(subject.scheme), subject.configuration, subject.reference)


class _Gradient:
    def __init__(self, source: Any) -> None:
        self._source = source

    def __call__(self, theta: Chains) -> Chains:
        return Chains(self._source(theta.tensor))

    def fresh(self) -> _Gradient:
        return _Gradient(self._source.fresh())
