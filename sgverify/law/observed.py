"""The potentials on which a step is observed: quadratic ones, on which it is affine, and quartic ones that couple coordinates.

One step as a map (state, draws) -> state on a probe: of torch code in float64, of a definition in long double.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.exact.readings.long_double import LongDouble, LongDoubleRootMatrix
from sgverify.exact.series.probe import generic_root
from sgverify.law.nodes import UNIT, StepRuns
from sgverify.samplers.intercepted.black_box import BlackBox
from sgverify.samplers.intercepted.replacing import NORMAL
from sgverify.schemes import Scheme
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.definition.binding import Carrier, FullGradientIngredient, bind, in_order
from sgverify.schemes.memory import SHAPES, Axes, size_at
from sgverify.schemes.torch_step import TorchStep
from sgverify.targets.metric import MatrixMetric

PRIOR = 0.4
"""The precision of the prior, a part of U, for steps that ask for the prior's gradient."""


@dataclass(frozen=True)
class Probe:
    """U = y.A y/2 + bend (sum_i theta_i^4/4 + (w.theta)^3/3), y = theta - centre; quadratic where `bend` is 0.

    `curvatures` are the diagonal of A, `coupling` stands next to it. Every coordinate has numbers of its own, so that a step that
    exchanges coordinates differs.
    """

    dim: int
    first: float
    apart: float
    coupling: float
    bend: float = 0.0

    @cached_property
    def precision(self) -> np.ndarray:
        """A, shape (dim, dim)."""
        n = self.dim
        diagonal = self.first + self.apart * np.arange(n)
        return np.diag(diagonal) + self.coupling * (np.eye(n, k=1) + np.eye(n, k=-1))

    @cached_property
    def centre(self) -> np.ndarray:
        """The minimum of the quadratic part, shape (dim,)."""
        return 0.3 - 0.5 * np.arange(self.dim)

    @cached_property
    def direction(self) -> np.ndarray:
        """w, shape (dim,)."""
        return 0.6 - 0.25 * np.arange(self.dim)

    @cached_property
    def _tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        made = [
            torch.tensor(part, dtype=torch.float64) for part in (self.precision, self.centre, self.direction)
        ]
        return made[0], made[1], made[2]

    @cached_property
    def _extended(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return (
            self.precision.astype(EXTENDED),
            self.centre.astype(EXTENDED),
            self.direction.astype(EXTENDED),
        )

    def gradient(self, theta: Tensor) -> Tensor:
        """grad U for torch code, in the shape and dtype of theta."""
        return self._force(theta.to(torch.float64), *self._tensors).to(theta.dtype)

    def at(self, theta: np.ndarray) -> np.ndarray:
        """grad U in long double. Shape (n, dim) -> (n, dim)."""
        return np.asarray(self._force(theta, *self._extended))

    def _force(self, theta: Any, precision: Any, centre: Any, direction: Any) -> Any:
        along = (theta @ direction)[..., None]
        return (theta - centre) @ precision + self.bend * (theta**3 + along**2 * direction)

    def hessian(self, theta: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Hess U(theta) v in long double. Shapes (n, dim)."""
        precision, _, direction = self._extended
        along = (theta @ direction)[..., None] * (vector @ direction)[..., None]
        return np.asarray(vector @ precision + self.bend * (3 * theta**2 * vector + 2 * along * direction))

    @property
    def ingredient(self) -> FullGradientIngredient:
        """The ingredient `grad` of a definition on this potential; |theta|^2 `PRIOR`/2 counts as the prior."""

        def hessian(place: LongDouble, vector: LongDouble) -> LongDouble:
            return LongDouble(self.hessian(place.value, np.broadcast_to(vector.value, place.value.shape)))

        return FullGradientIngredient(
            lambda place: LongDouble(self.at(place.value)),
            prior=lambda place: LongDouble(EXTENDED(PRIOR) * place.value),
            hessian=hessian,
        )


def quadratic_probes(dim: int) -> tuple[Probe, ...]:
    """Three quadratic potentials of different curvature: on them draws enter every explicit step linearly."""
    return (
        Probe(dim, 1.3, -0.35, 0.2),
        Probe(dim, 2.9, 0.8, -0.3),
        Probe(dim, 0.45, 0.15, 0.1),
    )


def soft_probe(dim: int) -> Probe:
    """A potential so flat that a step's powers of its curvature beyond the first are small."""
    return Probe(dim, 2.0**-10, 2.0**-12, 0.0)


def bent_probes(dim: int) -> tuple[Probe, ...]:
    """Two quartic potentials that couple their coordinates."""
    return (
        Probe(dim, 0.9, 0.4, 0.15, 0.35),
        Probe(dim, 1.6, -0.3, -0.2, 0.8),
    )


OPERATIONS = 64
"""The roundings of a definition's step in long double that its error bound allows for."""


@dataclass(frozen=True)
class HandedNumbers:
    """The numbers that a step is handed: step size, friction, temperature."""

    h: float
    D: float
    T: float

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers by name."""
        return {"h": self.h, "D": self.D, "T": self.T}

    def __str__(self) -> str:
        return f"h={self.h:.6g}, D={self.D:.6g}, T={self.T:.6g}"


def settings_about(base: HandedNumbers) -> tuple[HandedNumbers, ...]:
    """The settings at which numbers are recovered: the base, one number moved at a time, and two with all moved."""
    h, D, T = base.h, base.D, base.T
    return (
        base,
        HandedNumbers(0.7 * h, D, T),
        HandedNumbers(h, 1.5 * D, T),
        HandedNumbers(h, D, 0.6 * T),
        HandedNumbers(1.25 * h, 0.8 * D, 1.9 * T),
        HandedNumbers(0.45 * h, 2.3 * D, 0.35 * T),
    )


class ObservedStep:
    """One step in this dimension; states and draws of many rows at once."""

    unit: float
    narrow = False
    operations: int

    def __init__(self, step: Scheme | TorchStep, dim: int) -> None:
        self.step, self.dim = step, dim
        named = {axes: name for name, axes in SHAPES.items()}
        self.state, self.parameters = step.state, step.parameters
        # An optimizer's buffer is as long as theta by its axes, where a scheme's variable is a "vector" by name.
        self.shapes: dict[str, str | Axes] = {
            name: shape if isinstance(shape, str) else named.get(shape, shape)
            for name, shape in step.shapes.items()
        }
        self.sizes = tuple(size_at(shape, dim) for shape in self.shapes.values())
        self.units = [1.0] * len(self.state)

    def places(self, count: int, reach: float = 1.0) -> np.ndarray:
        """States that are multiples of 1/64 in the `units` of the variables, away from 0.

        Scalars and memory are positive, as frictions and second moments are.
        """
        random = np.random.default_rng(7)
        parts = []
        for (name, shape), size in zip(self.step.shapes.items(), self.sizes, strict=True):
            drawn = random.integers(16, 80, (count, size)) / 64.0
            signs = random.choice([-1.0, 1.0], (count, size))
            signed = shape == VECTOR and name in self.step.dynamics.state
            parts.append(reach * drawn * (signs if signed else 1.0))
        return np.concatenate(parts, axis=1) * np.repeat(self.units, self.sizes)


class ObservedTorch(ObservedStep):
    """Torch code whose draws and gradient are prescribed."""

    unit = UNIT
    operations = 1

    def __init__(self, step: TorchStep, dim: int) -> None:
        super().__init__(step, dim)
        self.code = step
        self._runs: dict[HandedNumbers, StepRuns] = {}
        self._probe = bent_probes(dim)[0]

    def draws(self, at: HandedNumbers) -> int:
        """The number of normal draws of a step."""
        return self._at(at).draws(at.h)

    def other_draws(self, at: HandedNumbers) -> str:
        """The laws of draws that are not normal, as text; "" if all are normal."""
        rows = torch.tensor(self.places(1), dtype=torch.float64)
        state = self.code.tensors(rows if self.code.chains else rows[0], self.dim)
        return ", ".join(sorted({law.named for law in self._box(at).laws(state, at.h) if law != NORMAL}))

    def after(self, states: np.ndarray, draws: np.ndarray, probe: Probe, at: HandedNumbers) -> np.ndarray:
        """The states after one step. Shapes (n, coordinates) and (n, draws) -> (n, coordinates)."""
        self._probe = probe
        given = np.asarray(states, dtype=float), np.asarray(draws, dtype=float)
        return self._at(at).moved(*given, at.h).astype(EXTENDED)

    def _at(self, at: HandedNumbers) -> StepRuns:
        if at not in self._runs:
            self._runs[at] = found = StepRuns(self._box(at), self.places(1)[0], at.h)
            self.operations = max(self.operations, found.operations)
            self.narrow = self.narrow or found.narrow
        return self._runs[at]

    def _box(self, at: HandedNumbers) -> BlackBox:
        given = {name: at.numbers[name] for name in self.parameters}
        return BlackBox(self.code, lambda theta, minibatch: self._probe.gradient(theta), self.dim, given)


class ObservedDefinition(ObservedStep):
    """A definition's step in long double; every row has a step size and parameters of its own."""

    unit = float(np.finfo(EXTENDED).eps)
    operations = OPERATIONS

    def __init__(self, scheme: Scheme, dim: int) -> None:
        super().__init__(scheme, dim)
        self.scheme = scheme

    @cached_property
    def metric(self) -> LongDoubleRootMatrix | None:
        """The metric of a dynamics that asks for one: a generic matrix."""
        return LongDoubleRootMatrix(generic_metric(self.dim)) if self.step.dynamics.riemannian else None

    def draws(self, at: HandedNumbers | None = None) -> int:
        """The number of normal draws of a step."""
        return self.scheme.draws * self.dim

    def other_draws(self, at: HandedNumbers) -> str:
        """The laws of draws that are not normal, as text; "" if all are normal."""
        return ", ".join(sorted({law.name for law in self.scheme.laws if not law.normal}))

    def after(self, states: np.ndarray, draws: np.ndarray, probe: Probe, at: HandedNumbers) -> np.ndarray:
        """The states after one step. Shapes (n, coordinates) and (n, draws) -> (n, coordinates)."""
        return self.moved(states, draws, probe, at.numbers)

    def moved(
        self, states: np.ndarray, draws: np.ndarray, probe: Probe, numbers: Mapping[str, Any]
    ) -> np.ndarray:
        """The states after one step; `numbers` h, D, T of shape (n,), or numbers."""
        carrier = Carrier(lambda value: LongDouble(np.asarray(value, dtype=EXTENDED)), _column, _array)
        given = {name: numbers[name] for name in self.parameters}
        bound = bind(self.scheme, carrier, given, dim=self.dim, metric=self.metric)
        state = np.split(np.asarray(states, dtype=EXTENDED), np.cumsum(self.sizes)[:-1], axis=1)
        parts = np.split(np.asarray(draws, dtype=EXTENDED), max(1, self.scheme.draws), axis=1)
        with np.errstate(all="ignore"):
            values = bound.step(state, h=numbers["h"], grad=probe.ingredient, draw=in_order(parts))
        return np.concatenate(
            [np.broadcast_to(value, part.shape) for value, part in zip(values, state, strict=True)], axis=1
        )


Observed = ObservedTorch | ObservedDefinition


def observed_step(scheme: Scheme | TorchStep, dim: int) -> Observed:
    """The step of torch code or of a definition, in this dimension."""
    return ObservedTorch(scheme, dim) if isinstance(scheme, TorchStep) else ObservedDefinition(scheme, dim)


def generic_metric(dim: int) -> MatrixMetric:
    """A regular matrix B of polynomials, for dynamics in a metric G^-1 = B B^T."""
    entries = [entry.terms for entry in generic_root(dim)]
    return MatrixMetric(tuple(tuple(entries[k : k + dim]) for k in range(0, len(entries), dim)))


def _column(value: Any) -> LongDouble:
    number = np.asarray(value, dtype=EXTENDED)
    return LongDouble(number.reshape(-1, 1))


def _array(found: Any) -> np.ndarray:
    return found.value if isinstance(found, LongDouble) else np.asarray(float(found), dtype=EXTENDED)
