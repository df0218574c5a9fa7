"""Catalogue schemes as torch code in other conventions: learning rates, scaled momenta, masses, other draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from random import Random
from typing import Any

import numpy as np
import torch

from sgverify.advice.identification.model import Identification
from sgverify.samplers.reading.carrier import Chains
from sgverify.schemes import Scheme, find_scheme, torch_step
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.definition.binding import Carrier, FullGradientIngredient, bind, in_order
from sgverify.schemes.torch_step import TorchStep

TENSORS = Carrier(Chains, float, attrgetter("tensor"))

Numbers = Callable[[float, float, float], tuple[float, float, float]]


@dataclass(frozen=True)
class Spelling:
    """How torch code spells a scheme: the numbers (h, D, T) of the scheme as functions of the handed ones, and its units.

    With the gradient times `gradient` and the mass `mass`; `scale` of the scheme's numbers is the unit of the momentum,
    `offset` the number that is added to a thermostat's xi. `turn` mixes the draws by a rotation.
    """

    text: str
    numbers: Numbers = field(default=lambda h, D, T: (h, D, T), repr=False)
    gradient: float = 1.0
    mass: float = 1.0
    scale: Callable[[float], float] = field(default=lambda h: 1.0, repr=False)
    offset: float = 0.0
    turn: bool = False

    def expected(self, scheme: Scheme, h: float, D: float, T: float) -> dict[str, float]:
        """The scheme's numbers that the law has, with the gradient's factor 1 and the mass 1."""
        h, D, T = self.numbers(h, D, T)
        g, m = self.gradient, self.mass
        if scheme.memory:
            return {"h": h, "T": T / g}
        if "D" not in scheme.parameters:
            return {"h": h * g, "T": T / g}
        return {"h": h * (g / m) ** 0.5, "D": D * (m / g) ** 0.5, "T": T / g}


def spelled(
    name: str, spelling: Spelling, *, declared: tuple[str, ...] = ("D", "T"), **fixed: float
) -> TorchStep:
    """The catalogue's scheme as torch code; parameters that are not declared are `fixed`."""
    scheme = find_scheme(name)
    vectors = [shape == VECTOR for shape in scheme.shapes.values()]

    def run(state: tuple[torch.Tensor, ...], h: float, grad: Any, given: Mapping[str, float]) -> Any:
        known = {"D": 1.0, "T": 1.0, **fixed, **given}
        h, D, T = spelling.numbers(h, known["D"], known["T"])
        root, mass = spelling.gradient, spelling.mass
        h, D = h / mass**0.5, D * mass**0.5
        # A second moment is positive.
        unit = abs(spelling.scale(h)) if scheme.memory else spelling.scale(h) * mass**0.5
        units = [1.0, *(unit if vector else 1.0 for vector in vectors[1:])]
        moved = [0.0 if vector else spelling.offset for vector in vectors]
        inner = [(part - o) / u for part, u, o in zip(state, units, moved, strict=True)]
        dim = state[0].shape[-1]
        draws = [torch.randn_like(state[0]) for _ in range(scheme.draws + spelling.turn)]
        if spelling.turn:
            q = np.linalg.qr(np.random.default_rng(5).standard_normal((len(draws), len(draws))))[0]
            draws = [torch.stack([float(c) * z for c, z in zip(row, draws, strict=True)]).sum(0) for row in q]
        numbers = {n: {"D": D, "T": T}[n] for n in scheme.parameters}
        bound = bind(scheme, TENSORS, numbers, dim=dim)
        gradient = FullGradientIngredient(lambda place: Chains(root * grad(place.tensor)))
        after = bound.step(inner, h=h, grad=gradient, draw=in_order(draws))
        return tuple(u * part + o for part, u, o in zip(after, units, moved, strict=True))

    names = [*scheme.state]
    taken = [n for n in scheme.parameters if n in declared]
    source = (
        f"def step({', '.join(names)}, *, h, grad{''.join(f', {n}' for n in taken)}):\n"
        f"    return run(({', '.join(names)},), h, grad, {{{', '.join(f'{n!r}: {n}' for n in taken)}}})\n"
    )
    space: dict[str, Any] = {"run": run}
    exec(source, space)
    made = torch_step(scheme.dynamics, chains=True, memory=[*scheme.memory])(space["step"])
    return made.named(f"{name}, {spelling.text}")


CONVENTIONS: dict[str, tuple[Numbers, Callable[[float], float]]] = {
    "h": (lambda h, D, T: (h, D, T), lambda step: step),
    "sqrt(h)": (lambda h, D, T: (math.sqrt(h), D, T), lambda step: step**2),
    "h/2": (lambda h, D, T: (h / 2, D, T), lambda step: 2 * step),
}
"""The step size of the scheme as a function of the handed h, and back: itself, the root of a learning rate, half of epsilon."""

STEPS = (0.01, 0.5)
"""The step sizes of a scheme with the gradient's factor 1; the potentials have curvatures of about 1."""

DATA: dict[str, Any] = {"target": {"size": 1000}, "gradient": {"batch": 10}}
"""The data and minibatches that are configured, in which the drawn factors of the gradient are N/n and n/N."""

UNITS: dict[str, Callable[[float], float]] = {"p": lambda h: 1.0, "h p": lambda h: h, "-3 p": lambda h: -3.0}


def drawn(name: str, random: Random) -> tuple[Spelling, tuple[float, float, float]]:
    """A random convention of a scheme, and the numbers h, D, T that are handed."""
    kinetic = "D" in find_scheme(name).parameters
    step = random.choice([*CONVENTIONS])
    numbers, back = CONVENTIONS[step]
    mass = round(random.uniform(0.2, 4.0), 3) if kinetic and step == "h" else 1.0
    size, batch = DATA["target"]["size"], DATA["gradient"]["batch"]
    factor = random.choice((1.0, 1.0, size / batch, batch / size))
    unit = random.choice([*UNITS])
    offset = random.choice((0.0, -0.7))
    spelling = Spelling(
        f"step size {step}, mass {mass}, gradient times {factor}, momentum {unit}, xi moved by {offset}",
        numbers,
        factor,
        mass,
        UNITS[unit],
        offset,
        random.random() < 0.5,
    )
    # Drawn is the step size with the gradient's factor 1, on a scale of its logarithm.
    effective = STEPS[0] * (STEPS[1] / STEPS[0]) ** random.random()
    power = 0.0 if find_scheme(name).memory else 0.5 if kinetic else 1.0
    h = float(f"{back(effective / factor**power):.4g}")
    return spelling, (h, round(random.uniform(0.3, 2.0), 4), round(random.uniform(0.2, 3.0), 4))


def recovered(found: Identification, name: str, spelling: Spelling, at: tuple[float, float, float]) -> bool:
    """Is it this scheme, by a named convention and at the numbers that the spelling has?"""
    due = spelling.expected(find_scheme(name), *at)
    got = {item.name: float(item.value) for item in found.numbers}
    same = {found.scheme, *(item.scheme for item in found.equivalents)}
    return (
        found.identified
        and name in same
        and all(abs(got[key] / value - 1) <= EXACT for key, value in due.items())
    )


EXACT = 1e-7
"""The largest relative error of a recovered number that counts as recovered."""


__all__ = ["DATA", "Spelling", "drawn", "recovered", "spelled"]
