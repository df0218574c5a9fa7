"""The scalars of a dynamics, such as a thermostat's friction, along the paths that the sampler takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from sgverify.checks.sampled_rung import run_seed
from sgverify.checks.subject import Subject
from sgverify.checks.transcripts import Runs
from sgverify.samplers.binding import TENSORS
from sgverify.samplers.carrier import Chains
from sgverify.schemes.binding import bind
from sgverify.schemes.slope import FullSlope

POINTS = 8
"""Random steps on which an identity of the definition is shown."""

SIZE = 0.125
"""Their step size: a power of two, with which products are exact."""

RESOLVED = 2.0**-8
"""What rounding may explain, over what the drifts before and after differ by: beyond it nothing is shown."""


@dataclass(frozen=True)
class Identity:
    """X' - X = h ((1 - share) f(X) + share f(X')) of a scalar state variable, f its drift."""

    name: str
    place: int
    share: float


def wrong_path(subject: Subject, runs: Runs, certificate: dict[str, Any], shown: list[str]) -> str:
    """Where a scalar does not move by its drift, in words; "" where it does."""
    c = subject.configuration
    for identity in _identities(subject):
        unit = float(np.finfo(subject.configuration.dtype).eps)
        worst = 0.0
        for batch in runs.batches:
            states = tuple(batch.states[name] for name in subject.scheme.dynamics.state)
            off, bound = _residual(
                subject, identity, states, batch.steps[:, :, None], unit, c.friction, c.temperature
            )
            worst = max(worst, float((np.abs(off) / bound).max()))
            beyond = np.argwhere(np.abs(off) > bound)
            if len(beyond):
                step, row, chain = (int(i) for i in beyond[0])
                path = states[identity.place][:, row, chain, 0]
                h = batch.steps[:, row]
                path_states = tuple(state[:, row, chain] for state in states)
                drift = _drift(subject, identity.place, path_states, c.friction, c.temperature)
                mean = float(
                    (h * ((1 - identity.share) * drift[:-1] + identity.share * drift[1:])).sum() / h.sum()
                )
                return (
                    f"{identity.name} does not move by its drift: so from step {step + 1} of chain {batch.chains[chain]} on, along "
                    f"whose {batch.length} steps the drift averages {mean:.6g}, and ({identity.name}_L - {identity.name}_0)/(hL) "
                    f"is {float((path[-1] - path[0]) / h.sum()):.6g}"
                )
        certificate[f"drift_of_{identity.name}"] = {
            "share_of_the_new_state": identity.share,
            "error_over_bound": worst,
        }
        shown.append(
            f"{identity.name} moves by its drift, so that this averages to ({identity.name}_L - {identity.name}_0)/(hL)"
        )
    return ""


def _identities(subject: Subject) -> Iterator[Identity]:
    """The scalars whose change in one step of the definition is h times a mean of the drifts before and after.

    Shown on random states, draws and steps, up to rounding: the share of the later drift is found on them, and then holds.
    """
    scheme = subject.scheme
    generator = np.random.default_rng(run_seed(subject, "scalar-drift"))
    shape = (1, POINTS)
    for place, (name, kind) in enumerate(scheme.dynamics.shapes.items()):
        if kind != "scalar" or scheme.memory:
            continue
        widths = [1 if other == "scalar" else subject.target.dim for other in scheme.dynamics.shapes.values()]
        before = [generator.standard_normal((*shape, width)) for width in widths]
        # An identity holds for all T and D or for none but a few. Where all is of one size, roundings cover nothing.
        friction, temperature = (float(number) for number in generator.uniform(0.5, 2.0, 2))
        dim = subject.target.dim
        values = bind(scheme, TENSORS, {"D": friction, "T": temperature}, dim=dim).step(
            [torch.from_numpy(state) for state in before],
            h=SIZE,
            grad=_Slope(),
            draw=lambda law: torch.from_numpy(generator.standard_normal((*shape, dim))),  # noqa: B023
        )
        states = tuple(
            np.stack([old, value.expand(old.shape).numpy()])
            for old, value in zip(before, values, strict=True)
        )
        first, second = _drift(subject, place, states, friction, temperature)
        change = (states[place][1] - states[place][0])[..., 0] / SIZE - first
        turn = second - first
        if not np.all(np.isfinite(turn)) or not np.any(turn) or not np.all(np.isfinite(change)):
            continue
        share = float((change * turn).sum() / (turn**2).sum())
        identity = Identity(name, place, round(64 * share) / 64)
        unit = float(np.finfo(np.float64).eps)
        off, bound = _residual(
            subject, identity, states, np.full((1, 1, 1), SIZE), unit, friction, temperature
        )
        if bound.max() <= RESOLVED * SIZE * np.abs(turn).max() and np.all(np.abs(off) <= bound):
            yield identity


class _Slope(FullSlope):
    """Some gradient: a scalar's drift asks for none, and the identity is to hold whatever moves the rest."""

    def __call__(self, theta: Any) -> Any:
        return theta * 0.75


def _drift(
    subject: Subject, place: int, states: tuple[np.ndarray, ...], friction: float, temperature: float
) -> np.ndarray:
    """The drift of the scalar at `place` along states of shape (..., width). Shape (...)."""
    drift, _ = subject.scheme.dynamics.coefficients(
        tuple(Chains(torch.from_numpy(np.ascontiguousarray(state))) for state in states),
        grad=_Slope(),
        dim=subject.target.dim,
        D=friction,
        T=temperature,
    )
    return np.asarray(drift[place].tensor.numpy()[..., 0])


def _residual(
    subject: Subject,
    identity: Identity,
    states: tuple[np.ndarray, ...],
    h: np.ndarray,
    unit: float,
    friction: float,
    temperature: float,
) -> tuple[np.ndarray, np.ndarray]:
    """X' - X - h (mean of the drifts), and what rounding may make of it. Shapes (L + 1, ...) of states -> (L, ...).

    A drift sums dim products and a few terms of size T or less than its own; the scalar is rounded where it is added to, once
    or twice a step. 2 dim + 16 roundings of the sum of all sizes are more than enough for both.
    """
    drift = _drift(subject, identity.place, states, friction, temperature)
    path = states[identity.place][..., 0]
    off = path[1:] - path[:-1] - h * ((1 - identity.share) * drift[:-1] + identity.share * drift[1:])
    size = np.abs(path) + np.max(h) * (np.abs(drift) + 2 * temperature)
    return off, (2 * subject.target.dim + 16) * unit * (size[1:] + size[:-1])
