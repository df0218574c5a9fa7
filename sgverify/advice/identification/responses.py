"""What is observed of a step: its motion without draws on a quartic potential, and the effect of each draw on quadratic ones.

On a quadratic potential an explicit step is affine in state and draws, X_1 = M X + c + L z, and the rows of L are what the law
has of the draws: with another orthonormal set of draws it is L Q, and L L^T stays. On the quartic potential the motion at z = 0
tells where a step evaluates its gradients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sgverify.advice.identification.candidates import Shapes
from sgverify.advice.identification.observed import HandedNumbers, Observed
from sgverify.advice.identification.probes import Probe, bent_probes, quadratic_probes
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.schemes.definition.abstract_value import VECTOR

STATES, NOISE_STATES = 6, 2
"""The states at which the motion, and those at which the effect of draws is observed."""

TOUCH = 0.25
"""The change of a variable by which its influence is observed."""


@dataclass(frozen=True)
class Stencil:
    """Draws at which a step is run, shape (rows, draws), and the weights by which its images give the effect of each draw.

    Where a step is affine in its draws the differences from no draw are exact. Thermostats square their draws: for them, central
    differences of two widths, whose error is of the fourth power of the width.
    """

    draws: np.ndarray
    weights: np.ndarray

    @staticmethod
    def of(m: int, affine: bool) -> Stencil:
        """The stencil of a step with m draws."""
        unit = np.eye(m)
        if affine:
            return Stencil(np.vstack([np.zeros((1, m)), unit]), np.hstack([-np.ones((m, 1)), unit]))
        draws = np.vstack([sign * WIDTH * unit for sign in (1, -1, 2, -2)])
        return Stencil(draws, np.hstack([part / (12 * WIDTH) * unit for part in (8, -8, -1, 1)]))

    def columns(self, after: np.ndarray) -> np.ndarray:
        """L from images, shape (..., rows, coordinates) -> (..., coordinates, draws)."""
        return np.asarray(np.swapaxes(self.weights.astype(EXTENDED) @ after, -1, -2))


WIDTH = 2.0**-6
"""The width of central differences: rounding is 1e-14 there, and the error of the differences below 1e-9 of a draw's effect."""


@dataclass(frozen=True)
class Responses:
    """Observations at one setting. `columns` of L, shape (probes, states, coordinates, draws); see the module."""

    at: HandedNumbers
    bent: Probe
    quadratics: tuple[Probe, ...]
    states: np.ndarray
    moved: np.ndarray
    noise_states: np.ndarray
    columns: np.ndarray
    movement: np.ndarray
    affine: bool

    @property
    def noiseless(self) -> bool:
        """Does no draw reach the state?"""
        return not self.columns.size or not np.abs(self.columns).max() > 0

    @property
    def covariance(self) -> np.ndarray:
        """L L^T on the first quadratic potential, shape (states, coordinates, coordinates)."""
        first = self.columns[0]
        return np.asarray(first @ first.transpose(0, 2, 1))


def respond(step: Observed, at: HandedNumbers, chosen: np.ndarray | None = None) -> Responses:
    """Observe a step at a setting; `chosen` are the coordinates that are kept, by default all."""
    dim, m = step.dim, step.draws(at)
    places = step.places(STATES + NOISE_STATES)
    states, noisy = places[:STATES], places[STATES:]
    bent, quadratics = bent_probes(dim)[0], quadratic_probes(dim)
    moved = step.after(states, np.zeros((STATES, m)), bent, at)
    affine = all(shape == VECTOR for shape in step.shapes.values())
    stencil, columns = Stencil.of(m, affine), []
    rows = np.repeat(noisy, len(stencil.draws), axis=0)
    draws = np.tile(stencil.draws, (NOISE_STATES, 1))
    for probe in quadratics:
        after = step.after(rows, draws, probe, at).reshape(NOISE_STATES, len(stencil.draws), -1)
        columns.append(stencil.columns(after))
    kept = np.arange(states.shape[1]) if chosen is None else chosen
    size = np.sqrt(((moved - states) ** 2).mean(axis=0)).astype(float)
    return Responses(
        at,
        bent,
        quadratics,
        states[:, kept],
        moved[:, kept],
        noisy[:, kept],
        np.array(columns, dtype=EXTENDED)[:, :, kept],
        size[kept],
        affine,
    )


def carried(step: Observed, at: HandedNumbers) -> tuple[int, ...]:
    """The numbers of the state variables on which later positions depend, theta first; what else a step keeps has no effect."""
    m, dim = step.draws(at), step.dim
    bounds = np.cumsum((0, *step.sizes))
    base = step.places(2)
    random = np.random.default_rng(3).standard_normal((1, m)).repeat(len(base), axis=0)
    probe = bent_probes(dim)[1]
    before = step.after(base, random, probe, at)
    reaches = np.zeros((len(step.sizes),) * 2, dtype=bool)
    for i in range(len(step.sizes)):
        touched = base.copy()
        touched[:, bounds[i] : bounds[i + 1]] += TOUCH * step.units[i]
        changed = np.abs(step.after(touched, random, probe, at) - before).max(axis=0)
        for j in range(len(step.sizes)):
            reaches[i, j] = changed[bounds[j] : bounds[j + 1]].max() > 0
    found = {0}
    while True:
        more = {i for i in range(len(step.sizes)) if any(reaches[i, j] for j in found)} | found
        if more == found:
            return tuple(sorted(found))
        found = more


def coordinates(step: Observed, variables: tuple[int, ...]) -> np.ndarray:
    """The coordinates of these variables, in their order."""
    bounds = np.cumsum((0, *step.sizes))
    return np.concatenate([np.arange(bounds[i], bounds[i + 1]) for i in variables])


def shapes_of(step: Observed, variables: tuple[int, ...]) -> Shapes:
    """The shapes of these variables."""
    shapes = list(step.shapes.values())
    return tuple(shapes[i] for i in variables)


__all__ = ["Responses", "Stencil", "carried", "coordinates", "respond", "shapes_of"]
