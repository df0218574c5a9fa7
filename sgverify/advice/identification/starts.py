"""The observations of a step: its motion without draws on a quartic potential, and the effect of each draw on quadratic ones.

On a quadratic potential an explicit step is affine in state and draws, X_1 = M X + c + L z, and the rows of L are what the law
has of the draws: with another orthonormal set of draws it is L Q, and L L^T stays. On the quartic potential the motion at z = 0
tells where a step evaluates its gradients.

Where Newton's method starts: numbers read off the linear part of a step as if it were the simplest scheme of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from sgverify.advice.identification.candidates import CandidateScheme, Shapes
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.law.observed import (
    HandedNumbers,
    Observed,
    Probe,
    bent_probes,
    quadratic_probes,
    soft_probe,
)
from sgverify.schemes.definition.abstract_value import SCALAR, VECTOR

Run = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""A step of many rows: (states, draws) -> the states after it."""

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

    @property
    def amplification(self) -> float:
        """The factor by which the rounding of images may grow in an effect: the largest sum of weights of one draw."""
        return float(np.abs(self.weights).sum(axis=1).max(initial=0.0))

    def columns(self, run: Run, states: np.ndarray) -> np.ndarray:
        """L at each state, of a step `run(states, draws)`. Shape (states, coordinates, draws)."""
        each, count = len(self.draws), len(states)
        after = run(np.repeat(states, each, axis=0), np.tile(self.draws, (count, 1))).reshape(count, each, -1)
        return np.asarray(np.swapaxes(self.weights.astype(EXTENDED) @ after, -1, -2))


WIDTH = 2.0**-6
"""The width of central differences: rounding is 1e-14 there, and the error of the differences below 1e-9 of a draw's effect."""


@dataclass(frozen=True)
class Responses:
    """Observations at one setting. `columns` of L, shape (probes, states, coordinates, draws); see the module.

    `rounding`, shape (coordinates,), bounds the error of an image by the operations of a step, each relative to its state.
    """

    at: HandedNumbers
    bent: Probe
    quadratics: tuple[Probe, ...]
    states: np.ndarray
    moved: np.ndarray
    noise_states: np.ndarray
    columns: np.ndarray
    movement: np.ndarray
    affine: bool
    rounding: np.ndarray

    @property
    def noiseless(self) -> bool:
        """Does no draw reach the state?"""
        return not self.columns.size or not np.abs(self.columns).max() > 0

    @property
    def covariance(self) -> np.ndarray:
        """L L^T on the first quadratic potential, shape (states, coordinates, coordinates)."""
        first = self.columns[0]
        return np.asarray(first @ first.transpose(0, 2, 1))


def respond(step: Observed, at: HandedNumbers, kept: np.ndarray) -> Responses:
    """Observe a step at a setting; `kept` are the coordinates that are kept."""
    dim, m = step.dim, step.draws(at)
    places = step.places(STATES + NOISE_STATES)
    states, noisy = places[:STATES], places[STATES:]
    bent, quadratics = bent_probes(dim)[0], quadratic_probes(dim)
    moved = step.after(states, np.zeros((STATES, m)), bent, at)
    affine = all(shape == VECTOR for shape in step.shapes.values())
    stencil = Stencil.of(m, affine)
    columns = [
        stencil.columns(lambda rows, draws, probe=probe: step.after(rows, draws, probe, at), noisy)  # type: ignore[misc]
        for probe in quadratics
    ]
    size = np.sqrt(((moved - states) ** 2).mean(axis=0)).astype(float)
    rounding = step.operations * step.unit * np.maximum(np.abs(states), np.abs(moved)).max(axis=0)
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
        rounding.astype(float)[kept],
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


def starts_of(
    candidate: CandidateScheme,
    step: Observed,
    seen: Responses,
    chosen: np.ndarray,
    factors: Iterable[float] = (),
) -> list[dict[str, float]]:
    """Numbers to start from, the likeliest first; the last are those that were handed, with the gradient times each factor."""
    shapes = tuple(candidate.scheme.shapes.values())
    found: list[dict[str, float]] = []
    with np.errstate(all="ignore"):
        if "V" in candidate.roles:
            found += _preconditioned(step, seen, chosen)
        elif shapes == (VECTOR,):
            found += _overdamped(step, seen, chosen)
        else:
            found += _kinetic("xi" in candidate.roles, step, seen, chosen)
    h, D, T = (seen.at.numbers[name] for name in ("h", "D", "T"))
    for g in (1.0, *factors):
        power = 1.0 if shapes == (VECTOR,) else 0.0 if "V" in candidate.roles else 0.5
        unit = {name: g * g if name == "V" else g**0.5 for name in candidate.roles if name != "xi"}
        scalars = dict.fromkeys(candidate.scalars, 1.0) | {
            f"{name} offset": 0.0 for name in candidate.scalars
        }
        found.append({"h": h * g**power, "D": D / g**power, "T": T / g, **unit, **scalars})
    return found


def set_units(step: Observed, at: HandedNumbers, variables: tuple[int, ...]) -> None:
    """Measure states in the units of a step: p in such that drift and kick are as large, a thermostat's xi in that of its friction.

    Units are powers of 2, and states in other units are generic too; but numbers are lost where v = h p is compared with 1.
    """
    shapes, chosen = shapes_of(step, variables), coordinates(step, variables)
    if len(shapes) < 2 or shapes[1] != VECTOR or step.state[variables[1]] not in step.step.dynamics.state:
        return
    with np.errstate(all="ignore"):
        found = next(_kinetic(SCALAR in shapes, step, respond(step, at, chosen), chosen), {})
    for place, name in zip(variables[1:], ("p", "xi"), strict=False):
        step.units[place] = _power_of_two(abs(found.get(name, 1.0)))


def _power_of_two(value: float) -> float:
    return float(2.0 ** round(float(np.log2(value)))) if np.isfinite(value) and value > 0 else 1.0


def derivative(run: Run, base: np.ndarray, width: np.ndarray, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """The derivative of a step at a state and z = 0, by central differences of these widths, and the state's image."""
    n = len(base)
    rows = np.vstack([base[None], base + np.diag(width), base - np.diag(width)])
    after = run(rows, np.zeros((len(rows), draws)))
    return np.asarray(((after[1 : n + 1] - after[n + 1 :]) / (2 * width[:, None])).T, dtype=float), after[0]


def _jacobian(
    step: Observed, at: HandedNumbers, chosen: np.ndarray, probe: Probe
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The derivative of an observed step, the state and its image."""
    base, width = step.places(1)[0], 2.0**-12 * np.repeat(step.units, step.sizes)
    found, image = derivative(
        lambda rows, draws: step.after(rows, draws, probe, at).astype(float), base, width, step.draws(at)
    )
    return found[np.ix_(chosen, chosen)], base[chosen], image[chosen]


def _overdamped(step: Observed, seen: Responses, chosen: np.ndarray) -> Iterator[dict[str, float]]:
    probe = soft_probe(step.dim)
    jacobian, _, _ = _jacobian(step, seen.at, chosen, probe)
    A, d = probe.precision, step.dim
    h = float(np.trace((np.eye(d) - jacobian) @ A) / np.trace(A @ A))
    yield {"h": h, "T": float(np.trace(seen.covariance[0])) / (2 * h * d)}


def _kinetic(
    thermostatted: bool, step: Observed, seen: Responses, chosen: np.ndarray
) -> Iterator[dict[str, float]]:
    """A drift of h/s p, a kick of -h s grad U and a damping h D of p = s times the scheme's momentum.

    A thermostat's friction is xi = r (xi of the scheme) + offset, moved by r h (p.p/d - T).
    """
    probe = soft_probe(step.dim)
    jacobian, base, image = _jacobian(step, seen.at, chosen, probe)
    A, d = probe.precision, step.dim
    drift = float(np.trace(jacobian[:d, d : 2 * d])) / d
    kick = -float(np.trace(jacobian[d : 2 * d, :d] @ A) / np.trace(A @ A))
    kept = float(np.trace(jacobian[d : 2 * d, d : 2 * d])) / d
    if not drift * kick > 0:
        return
    h, s = float(np.sqrt(drift * kick)), float(np.sign(drift) * np.sqrt(kick / drift))
    noise = float(np.trace(seen.covariance[0][d : 2 * d, d : 2 * d])) / (2 * h * d * s * s)
    D = abs(1 - kept) / h + 1e-9
    if not thermostatted:
        yield {"h": h, "D": D, "p": s, "T": noise / D}
        return
    p = base[d : 2 * d]
    r = -h * float(p @ p) / float(p @ jacobian[d : 2 * d, 2 * d])
    T = abs(float(p @ p / (s * s * d) - (image[2 * d] - base[2 * d]) / (r * h))) + 1e-3
    offset = float(base[2 * d] - r * (1 - kept) / h)
    yield {"h": h, "p": s, "D": noise / T, "T": T, "xi": r, "xi offset": offset}


def _preconditioned(step: Observed, seen: Responses, chosen: np.ndarray) -> Iterator[dict[str, float]]:
    """V <- beta V + (1 - beta) r g^2, theta <- theta - h g/(floor + sqrt(V/r)): 1/motion is linear in sqrt(V)."""
    d, probe = seen.bent.dim, seen.quadratics[0]
    base = step.places(2)
    base[:, chosen[:d]] = base[:1, chosen[:d]]
    after = step.after(base, np.zeros((2, step.draws(seen.at))), probe, seen.at)
    g = probe.at(base[:1, chosen[:d]])[0].astype(float)
    before, V = base[:, chosen[d:]].astype(float), after[:, chosen[d:]].astype(float)
    beta = float(np.median((V[1] - V[0]) / (before[1] - before[0])))
    r = float(np.median((V[0] - beta * before[0]) / ((1 - beta) * g * g)))
    motion = g / (base[:, chosen[:d]] - after[:, chosen[:d]]).astype(float)
    root = np.sqrt(np.maximum(V, 0.0))
    slope = float(np.median((motion[1] - motion[0]) / (root[1] - root[0])))
    h = 1 / (slope * np.sqrt(r))
    floor = float(np.median(motion[0] - slope * root[0])) * h
    place, kept = seen.noise_states[:1, :d], seen.noise_states[0, d:]
    moment = beta * kept / r + (1 - beta) * probe.at(place)[0] ** 2
    variances = np.diag(seen.covariance[0])[:d]
    T = float(np.median(variances * (floor + np.sqrt(np.maximum(moment, 0)))) / (2 * h))
    yield {"h": float(h), "T": float(T), "V": r, "decay": beta, "floor": floor}
