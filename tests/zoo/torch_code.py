"""Schemes of the catalogue as torch code: a function of tensors that draws its own noise."""

from __future__ import annotations

import numpy as np
import torch

from sgverify import torch_step
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.reading.constants import Clock, Constant
from sgverify.schemes import Scheme, TorchStep
from sgverify.schemes.definition.mathematics import Noise


def as_torch(scheme: Scheme) -> TorchStep:
    """The scheme's own definition behind the face of a black box, all chains at once."""

    def run(state, dim, grad, numbers):
        clock = Clock()
        given = {name: Constant(np.array([[value]]), clock) for name, value in numbers.items()}

        class GradientOfChains:
            def __init__(self, source):
                self._source = source

            def __call__(self, theta):
                return Chains(self._source(theta.tensor))

            def fresh(self):
                return GradientOfChains(self._source.fresh())

        values = scheme.step(
            tuple(map(Chains, state)),
            grad=GradientOfChains(grad),
            noise=Noise(lambda law: Chains(torch.randn_like(state[0]))),
            dim=dim,
            **given,
        )
        return tuple(value.tensor for value in values)

    state, names = ", ".join(scheme.state), ["h", *scheme.dynamics.parameters]
    text = (
        f"def step({state}, *, dim, grad, {', '.join(names)}):\n"
        f"    return run(({state},), dim, grad, dict({', '.join(f'{n}={n}' for n in names)}))"
    )
    space = {"run": run}
    exec(text, space)
    return torch_step(scheme.dynamics, order=scheme.order, chains=True)(space["step"]).named(scheme.name)
