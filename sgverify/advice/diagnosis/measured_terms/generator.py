"""The factors with which the terms of the dynamics' generator enter torch code, measured at one setting.

E D/h and Cov D/h for h -> 0 are read by quadrature over the draws (`sgverify.law.nodes`) at several states of a
potential without symmetry. The mean of each variable is fitted by the terms of its drift, each with one factor for all states and
coordinates: a residual says that the drift is no sum of them. The exponent of a moment in h is that between two small steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np

from sgverify.advice.diagnosis.wrong_terms.noise import Kind, kinds_of
from sgverify.exact.numbers.entrywise import coordinate_keys
from sgverify.exact.numbers.matrix_series import unit
from sgverify.exact.rings.context import Index
from sgverify.exact.rings.evaluation import Values
from sgverify.exact.rings.polynomials import Polynomial
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.operators import Operator, generator_of, ring_of
from sgverify.exact.series.probe import PolynomialPotential, generic_potential, values_at
from sgverify.law.nodes import first_power, increments
from sgverify.law.own_dynamics import states_of
from sgverify.schemes.torch_step import TorchStep

STEPS = tuple(2.0**-k for k in range(8, 12))
"""From four step sizes the limit of a series in h has an error of O(h^3), about 1e-8 of its value."""

SEEN = 1e-5
"""The relative size of a residual above which a fit does not hold; the measured limits are known to 1e-7."""

OFF = 0.1
"""An exponent within this of 1 is 1: between the two smallest steps, a term of the next order moves it by about h."""

Setting = Mapping[str, Fraction]


@dataclass
class MeasuredGenerator:
    """What was measured at one setting in one dimension.

    `drift` has the factor of each term (variable, kind); None for all terms of a variable whose mean is no sum of them.
    `diffusion` has the factor of each variable's variance, and None where the dynamics has no noise and the step neither;
    infinity where only the step has. `mean_power` and `variance_power` are exponents in h where they are not 1; `early` is the
    kind of the term that makes up a mean at h^0. `state_dependent` lists the variables whose variance depends on the state, and
    `by_coordinate` has the factors where the coordinates of a variable differ. `correlated` are pairs of coordinates with a
    covariance that the dynamics does not have, in units of their deviations.
    """

    setting: Setting
    dim: int
    drift: dict[tuple[str, str], float | None] = field(default_factory=dict)
    diffusion: dict[str, float | None] = field(default_factory=dict)
    early: dict[str, str] = field(default_factory=dict)
    mean_power: dict[str, float] = field(default_factory=dict)
    variance_power: dict[str, float] = field(default_factory=dict)
    by_coordinate: dict[str, list[float]] = field(default_factory=dict)
    state_dependent: list[str] = field(default_factory=list)
    correlated: dict[tuple[str, str], float] = field(default_factory=dict)


def measured_generator(step: TorchStep, dim: int, setting: Setting) -> MeasuredGenerator:
    """The factors at one setting. Raises what quadrature raises for code that it cannot read (`SgverifyError`)."""
    ring = ring_of(step.dynamics, dim, depth=2, cap=1)
    keys = coordinate_keys(step.dynamics.shapes, dim)
    size, potential = len(keys), generic_potential(dim)
    operator = generator_of(step.dynamics, ring)
    means, squares, terms, dues = [], [], [], []
    for state in states_of(step, dim):
        theta = [state["theta", i] for i in range(dim)]
        at = values_at(ring, state, setting, partial(_derivative, potential, theta))
        drift = [kinds_of(operator.get(unit(size, k), ring.zero), k, ring) for k in range(size)]
        terms.append([{kind: float(at(value)) for kind, value in split(row, ring).items()} for row in drift])
        dues.append(_due(operator, at, size)[1])
        ((mean, square),) = increments(step, state, dim, setting, STEPS)
        means.append(mean)
        squares.append(square)
    found = MeasuredGenerator(setting, dim)
    names = [name for name, _ in keys]
    for variable in dict.fromkeys(names):
        places = [k for k, name in enumerate(names) if name == variable]
        _fit_drift(found, variable, places, np.array(means), terms)
        _fit_diffusion(found, variable, places, np.array(squares), np.array(dues))
    _covariances(found, ring.labels, np.array(squares), np.array(dues))
    return found


@dataclass(frozen=True)
class DueLaw:
    """The drift and the covariance per unit of h that a dynamics has at one state of the generic potential, at one setting."""

    setting: Setting
    state: dict[tuple[str, int], Fraction]
    drift: np.ndarray
    square: np.ndarray

    def error(self, step: TorchStep) -> float:
        """By how much those of one step, as h -> 0, are off, in units of the largest that is due; a step of h/2, say, is right."""
        dim = sum(name == "theta" for name, _ in self.state)
        ((mean, found),) = increments(step, self.state, dim, self.setting, STEPS[-2:])
        pairs = zip((mean, found), (self.drift, self.square), strict=True)
        limits = [(2 * values[1] / STEPS[-1] - values[0] / STEPS[-2], due) for values, due in pairs]
        own, due = limits[0]
        time = max(float(own @ due / (due @ due)), SEEN)
        return max(float(np.abs(own / time - due).max() / np.abs(due).max()) for own, due in limits)


def due_law(step: TorchStep, dim: int, setting: Setting) -> DueLaw:
    """That of the dynamics of a step."""
    ring, state = ring_of(step.dynamics, dim, depth=2, cap=1), states_of(step, dim)[0]
    theta = [state["theta", i] for i in range(dim)]
    at = values_at(ring, state, setting, partial(_derivative, generic_potential(dim), theta))
    return DueLaw(setting, state, *_due(generator_of(step.dynamics, ring), at, len(state)))


def _due(operator: Operator, at: Values, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The drift and twice the diffusion of a generator at a state."""
    drift, square = np.zeros(size), np.zeros((size, size))
    for index, value in operator.items():
        k, *rest = [i for i, n in enumerate(index) for _ in range(n)]
        if rest:
            square[k, rest[0]] = square[rest[0], k] = float(at(value)) * (2 if k == rest[0] else 1)
        else:
            drift[k] = float(at(value))
    return drift, square


def _derivative(potential: PolynomialPotential, theta: Sequence[Fraction], index: Index) -> Fraction:
    found: Fraction = potential.derivative(index, theta)
    return found


def split(row: Mapping[Kind, Polynomial], ring: Ring) -> dict[str, Polynomial]:
    """The terms by kind; of the feedback on a scalar, the energy and the number that it is held against are two."""
    found: dict[str, Polynomial] = {kind: value for kind, value in row.items() if kind != "feedback"}
    for key, factor in (row["feedback"].to_dict() if "feedback" in row else {}).items():
        kind = "energy" if any(key[: len(ring.coordinates)]) else "setpoint"
        found[kind] = found.get(kind, ring.zero) + ring.context.from_dict({key: factor})
    return found


def _exponent(values: np.ndarray) -> float:
    """The exponent in h of the size of values at the two smallest steps."""
    large, small = (float(np.linalg.norm(values[k])) for k in (-2, -1))
    return float(np.log2(large / small)) if small > 0 else float("inf")


def _fit_drift(
    found: MeasuredGenerator,
    variable: str,
    places: list[int],
    means: np.ndarray,
    terms: list[list[dict[str, float]]],
) -> None:
    kinds = list(dict.fromkeys(kind for row in terms for k in places for kind in row[k]))
    own = np.moveaxis(means[:, :, places], 0, 1)
    power = _exponent(own)
    size = float(np.abs(own[-1]).max())
    if size > SEEN * STEPS[-1] and abs(power - 1) > OFF:
        found.mean_power[variable] = power
        if power < OFF:
            raw = own[-1].reshape(-1)
            shares, *_ = np.linalg.lstsq(
                np.array([[row[k].get(kind, 0.0) for kind in kinds] for row in terms for k in places]),
                raw,
                rcond=None,
            )
            found.early[variable] = max(zip(np.abs(shares), kinds, strict=True))[1]
    limit = first_power(STEPS, own).reshape(-1)
    columns = np.array([[row[k].get(kind, 0.0) for kind in kinds] for row in terms for k in places])
    if not kinds:
        if np.abs(limit).max(initial=0.0) > SEEN:
            found.drift[variable, "constant"] = None
        return
    solved, *_ = np.linalg.lstsq(columns, limit, rcond=None)
    off = np.abs(columns @ solved - limit).max()
    holds = off <= SEEN * max(1.0, float(np.abs(limit).max()))
    for kind, factor in zip(kinds, solved, strict=True):
        found.drift[variable, kind] = float(factor) if holds else None


def _fit_diffusion(
    found: MeasuredGenerator, variable: str, places: list[int], squares: np.ndarray, dues: np.ndarray
) -> None:
    own = np.moveaxis(squares[:, :, places, places], 0, 1)
    due = dues[:, places, places]
    limit, power = first_power(STEPS, own), _exponent(own)
    if not due.any():
        found.diffusion[variable] = float("inf") if np.abs(limit).max() > SEEN else None
        return
    if abs(power - 1) > OFF:
        found.variance_power[variable] = power
    ratio = limit / due
    found.diffusion[variable] = float(np.median(ratio))
    wide = SEEN * max(1.0, float(np.abs(ratio).max()))
    if np.ptp(ratio, axis=0).max() > wide:
        found.state_dependent.append(variable)
    elif np.ptp(ratio) > wide:
        found.by_coordinate[variable] = [float(value) for value in ratio.mean(axis=0)]


def _covariances(
    found: MeasuredGenerator, labels: Sequence[str], squares: np.ndarray, dues: np.ndarray
) -> None:
    limit = first_power(STEPS, np.moveaxis(squares, 0, 1))
    for k, m in combinations(range(len(labels)), 2):
        spread = np.sqrt(np.maximum(limit[:, k, k] * limit[:, m, m], 0.0))
        apart = limit[:, k, m] - dues[:, k, m]
        if (spread > SEEN).all() and (np.abs(apart) > SEEN * spread).all():
            found.correlated[labels[k], labels[m]] = float(np.median(apart / spread))
