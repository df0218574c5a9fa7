"""What are the exact flow and stationary law of a dynamics on a Gaussian target, the setting at which a step is tried?

At which settings is torch code tried besides the configured one? A fixed design, not a search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.linalg import block_diag, expm
from torch import Tensor

from sgverify.errors import Unreached
from sgverify.samplers.reading.carrier import Chains
from sgverify.schemes.dynamics import Dynamics
from sgverify.schemes.memory import Axes, Memory, coordinate_names, size_at
from sgverify.subject.subject import Subject

FIRST_SHARE = 1 / 5
"""The largest of the tried step sizes, as a share of 1/rate: a tenth of Euler's limit."""

AFFINE = 1e-9
"""A function counts as affine if it agrees with its affine map up to this relative error."""


@dataclass(frozen=True)
class GaussianSetting:
    """A dynamics with its numbers on the target N(mean, (precision/T)^-1): U = (theta - mean)' precision (theta - mean)/2.

    All coordinates of the state form one vector, in the order of the state, with the `memory` of a step last. The natural unit
    of a coordinate is its standard deviation under the stationary law, that of time is 1/rate. The law of a memory is unknown:
    its coordinates are counted from its start if that is a number, in the units `memory_units`, by default 1.
    """

    dynamics: Dynamics
    parameters: Mapping[str, float]
    precision: np.ndarray = field(repr=False)
    mean: np.ndarray = field(repr=False)
    memory: tuple[Memory, ...] = ()
    memory_units: tuple[float, ...] = field(default=(), repr=False)

    @property
    def dim(self) -> int:
        """The dimension of theta."""
        return len(self.mean)

    @cached_property
    def shapes(self) -> dict[str, str | Axes]:
        """The shape of each state variable and memory."""
        return {**self.dynamics.shapes, **{item.name: item.shape for item in self.memory}}

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of coordinates of each state variable."""
        return tuple(size_at(shape, self.dim) for shape in self.shapes.values())

    @property
    def known(self) -> int:
        """The number of coordinates, the first ones, that the stationary law covers; those of a memory are not covered."""
        return sum(self.sizes[: len(self.dynamics.shapes)])

    @cached_property
    def without_memory(self) -> GaussianSetting:
        """The setting of the dynamics alone."""
        return replace(self, memory=(), memory_units=())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The coordinates' names, such as theta[0]."""
        named = (coordinate_names(name, shape, self.dim) for name, shape in self.shapes.items())
        return tuple(name for names in named for name in names)

    @cached_property
    def text(self) -> str:
        """The configured numbers of the setting, as text for a sentence."""
        numbers = [f"{name}={value:g}" for name, value in self.parameters.items()]
        eigenvalues = np.linalg.eigvalsh(self.precision)
        low, high = eigenvalues[0], eigenvalues[-1]
        shown = f"{low:.3g}" if high <= low * (1 + 1e-9) else f"{low:.3g} to {high:.3g}"
        return ", ".join([*numbers, f"dim={self.dim}", f"precision {shown}"])

    @cached_property
    def _tensors(self) -> tuple[Tensor, Tensor]:
        return torch.tensor(self.precision, dtype=torch.float64), torch.tensor(self.mean, dtype=torch.float64)

    def gradient(self, theta: Tensor, minibatch: int = 0) -> Tensor:
        """grad U, in the shape and dtype of theta."""
        precision, mean = self._tensors
        return ((theta.to(torch.float64) - mean) @ precision).to(theta.dtype)

    def potential(self, theta: Tensor) -> Tensor:
        """U, shape (rows, dim) -> (rows, 1)."""
        precision, mean = self._tensors
        away = theta - mean
        return ((away @ precision) * away).sum(-1, keepdim=True) / 2

    def split(self, rows: Tensor) -> tuple[Tensor, ...]:
        """The state variables of rows of coordinates, each of shape (rows, size)."""
        return tuple(part.contiguous() for part in rows.split(list(self.sizes), dim=-1))

    def log_density(self, rows: np.ndarray, potential: Callable[[Tensor], Tensor]) -> np.ndarray:
        """The logarithm of the dynamics' density at rows of coordinates, for a potential of shapes (rows, dim) -> (rows, 1).

        Raises `Unreached` if the dynamics states no density.
        """
        stated = self.dynamics.density
        if stated is None:
            raise Unreached(f"the dynamics `{self.dynamics.name}` states no density")
        given = {**self.parameters, "U": lambda theta: Chains(potential(theta.tensor)), "dim": self.dim}
        parts = tuple(Chains(part) for part in self.split(torch.tensor(rows, dtype=torch.float64)))
        return np.asarray(stated.log(parts, **given).tensor.reshape(-1).numpy(), dtype=float)

    @cached_property
    def law(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of the stationary law, from second differences of its log density, which is quadratic here.

        Raises `Unreached` if the dynamics states no density, or one that is not normal on this target.
        """
        if self.memory:
            mean, covariance = self.without_memory.law
            starts = [
                0.0 if item.start is None or callable(item.start) else float(item.start)
                for item in self.memory
                for _ in range(size_at(item.shape, self.dim))
            ]
            units = np.array(self.memory_units or [1.0] * len(starts))
            return np.append(mean, starts), block_diag(covariance, np.diag(units**2))
        n = sum(self.sizes)

        def log(rows: np.ndarray) -> np.ndarray:
            return self.log_density(rows, self.potential)

        unit = np.eye(n)
        pairs = np.array([unit[i] + unit[j] for i in range(n) for j in range(n)])
        zero, once, both = log(np.zeros((1, n)))[0], log(unit), log(pairs).reshape(n, n)
        back = log(-unit)
        hessian = both - once[:, None] - once[None, :] + zero
        gradient = (once - back) / 2
        far = np.random.default_rng(0).standard_normal((4, n)) * 3
        due = zero + far @ gradient + np.einsum("ki,ij,kj->k", far, hessian, far) / 2
        if not np.abs(log(far) - due).max() <= AFFINE * max(1.0, np.abs(due).max()):
            raise Unreached(f"the density of `{self.dynamics.name}` is no normal law on a Gaussian target")
        covariance = np.linalg.inv(-hessian)
        if not np.linalg.eigvalsh((covariance + covariance.T) / 2)[0] > 0:
            raise Unreached(f"the density of `{self.dynamics.name}` is no normal law on a Gaussian target")
        return covariance @ gradient, (covariance + covariance.T) / 2

    @cached_property
    def spreads(self) -> np.ndarray:
        """The standard deviation of each coordinate under the stationary law."""
        return np.sqrt(np.diag(self.law[1]))

    @cached_property
    def correlation(self) -> np.ndarray:
        """The covariance of the stationary law in natural units."""
        found: np.ndarray = self.law[1] / np.outer(self.spreads, self.spreads)
        return found

    @cached_property
    def flow(self) -> tuple[np.ndarray, np.ndarray] | None:
        """A and a of dX = A (X - mean) dt + sigma dW, a = sigma sigma'/2, in natural units of space.

        None if the drift is not affine.
        """
        if self.memory:
            return self.without_memory.flow
        mean, _ = self.law
        spreads, n = self.spreads, sum(self.sizes)

        def at(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            states = self.split(torch.tensor(mean + spreads * rows, dtype=torch.float64))
            drift, half = coefficients_at(self.dynamics, self.parameters, states, self.gradient)
            return drift / spreads, half / spreads**2

        unit = np.vstack([np.zeros((1, n)), np.eye(n), 3 * np.random.default_rng(0).standard_normal((4, n))])
        drift, half = at(unit)
        matrix = (drift[1 : n + 1] - drift[0]).T
        size = max(1e-300, float(np.abs(drift).max()))
        if (
            np.abs(drift - unit @ matrix.T).max() > AFFINE * size
            or np.ptp(half, axis=0).max() > AFFINE * size
        ):
            return None
        return matrix, np.diag(half[0])

    @cached_property
    def gradient_gain(self) -> np.ndarray:
        """The change of the drift per unit of a change of the gradient at the mean, shape (n, dim), in natural units of space."""
        mean, spreads = self.law[0][: self.known], self.spreads[: self.known]
        place = self.without_memory.split(torch.tensor(mean[None]))

        def drift(shift: np.ndarray) -> np.ndarray:
            moved = coefficients_at(
                self.dynamics,
                self.parameters,
                place,
                lambda theta: self.gradient(theta) + torch.tensor(shift),
            )
            return np.asarray(moved[0][0] / spreads)

        still = drift(np.zeros(self.dim))
        gain = np.stack([drift(row) - still for row in np.eye(self.dim)], axis=1)
        return np.vstack([gain, np.zeros((sum(self.sizes) - len(gain), self.dim))])

    @cached_property
    def rate(self) -> float:
        """The fastest rate: the norm of the drift's matrix (of its Jacobian at the mean if not affine) in natural units."""
        if self.flow is not None:
            return float(np.linalg.norm(self.flow[0], 2))
        numbers = [abs(value) for value in self.parameters.values()]
        return float(np.sqrt(np.linalg.eigvalsh(self.precision)[-1]) + max(numbers, default=0.0))

    def after(self, h: float) -> tuple[np.ndarray, np.ndarray] | None:
        """exp(hA) and the covariance of the noise over the time h, in natural units; None if the drift is not affine.

        The covariance is an integral that the exponential of a block matrix contains (Van Loan 1978).
        """
        if self.flow is None:
            return None
        matrix, half = self.flow
        n = len(matrix)
        block = expm(h * np.block([[-matrix, 2 * half], [np.zeros((n, n)), matrix.T]]))
        moved = block[n:, n:].T
        return moved, moved @ block[:n, n:]


def coefficients_at(
    dynamics: Dynamics,
    parameters: Mapping[str, float],
    states: Sequence[Tensor],
    gradient: Callable[[Tensor], Tensor],
) -> tuple[np.ndarray, np.ndarray]:
    """Drift and half squared diffusion at states whose variables have shapes (rows, size). Shapes (rows, coordinates)."""
    given = {
        **parameters,
        "grad": lambda theta: Chains(gradient(theta.tensor)),
        "dim": states[0].shape[-1],
    }
    drift, half = (
        np.concatenate(
            [np.broadcast_to(_array(part), value.shape) for part, value in zip(side, states, strict=True)],
            axis=1,
        )
        for side in dynamics.coefficients(tuple(Chains(value) for value in states), **given)
    )
    return drift, half


def _array(value: object) -> np.ndarray:
    return value.tensor.numpy() if isinstance(value, Chains) else np.asarray(value, dtype=float)


FEW = 64
"""The most coordinates of a setting that stands for a target that is not Gaussian."""


@dataclass(frozen=True)
class GaussianDesign:
    """One setting: temperature, friction, and the target's precision, shape (dim, dim), and mean, shape (dim,)."""

    temperature: float
    friction: float
    precision: np.ndarray
    mean: np.ndarray

    def setting(self, dynamics: Dynamics, memory: tuple[Memory, ...] = ()) -> GaussianSetting:
        """The Gaussian setting of a dynamics, with the parameters that it takes, and of a step's memory."""
        known = {"T": self.temperature, "D": self.friction}
        given = {name: known[name] for name in dynamics.parameters}
        return GaussianSetting(dynamics, given, self.precision, self.mean, memory)

    def settings(self) -> dict[str, Any]:
        """The design as configuration keys and values."""
        diagonal, off = np.diag(self.precision), self.precision - np.diag(np.diag(self.precision))
        alike = not off.any() and np.ptp(diagonal) == 0 and np.ptp(self.mean) == 0
        precision = self.precision if off.any() else diagonal
        return {
            "temperature": self.temperature,
            "friction": self.friction,
            "target.name": "gaussian",
            "target.dim": len(self.mean),
            "target.precision": float(diagonal[0]) if alike else precision.tolist(),
            "target.mean": float(self.mean[0]) if alike else self.mean.tolist(),
        }

    def hotter(self, factor: float) -> GaussianDesign:
        """The design at a higher temperature: positions, momenta and gradients all grow with its square root."""
        return replace(self, temperature=self.temperature * factor)

    def nearer(self, to: GaussianDesign) -> Iterator[GaussianDesign]:
        """The designs that take one part (temperature, friction, or target) from the design `to`."""
        yield replace(self, temperature=to.temperature)
        yield replace(self, friction=to.friction)
        yield replace(self, precision=to.precision, mean=to.mean)


def configured_design(subject: Subject) -> GaussianDesign | None:
    """The configured setting; None if its target is not Gaussian."""
    if not subject.target.quadratic:
        return None
    c = subject.configuration
    precision = np.array([[float(x) for x in row] for row in subject.target.precision])
    return GaussianDesign(
        c.temperature, c.friction, precision, np.array(subject.target.mean_float64(), dtype=float)
    )


def near_design(subject: Subject) -> GaussianDesign | None:
    """The configured numbers on a Gaussian of the target's dimension, where that has few; None elsewhere."""
    c, dim = subject.configuration, subject.target.dim
    return None if dim > FEW else replace(unit_design(dim), temperature=c.temperature, friction=c.friction)


def unit_design(dim: int) -> GaussianDesign:
    """A setting of spread 1 about 7/16: a state has about the same size in the user's units and in spreads, and no number is 1."""
    return _design(1.25, 1.5, [1.25] * dim, 0.0, [7 / 16] * dim)


def designs() -> list[GaussianDesign]:
    """T from 2^-12 to 2^14 and D from 2^-8 to 2^8, on both sides of 1; dimensions 1 to 64; slow targets come with large steps,
    fast ones with small.

    The spreads of theta, sqrt(T/precision), lie between 1/36 and 2,560, those of p, sqrt(T), between 1/64 and 128, and those of
    gradients, sqrt(T precision), between 1/1,280 and 2,048. A threshold in the code, such as a clip or a tolerance, therefore
    changes the step at some setting if it lies between the smallest spread and 6 times the largest. Friction is between half
    and 7 times the target's frequency, so that an explicit step contracts at small h already. In one setting it is 64 times the
    frequency: there a step with exact friction contracts up to D h = 12.
    """
    # The extreme settings have few dimensions, in which a step that is not affine is judged sharply.
    return [
        _design(4.0, 0.5, [1.25, 1.0], 0.5, [1.0, -2.0]),
        _design(0.25, 8.0, [1.0, 2.0, 4.0, 3.0], 0.0, [0.0, 3.0, -1.0, 1.0]),
        _design(2.0, 64.0, [1.0] * 3, 0.0, [1.0] * 3),
        _design(2.0**14, 1 / 16, [1 / 400], 0.0, [5.0]),
        _design(2.0**-12, 1 / 4, [1 / 400] * 2, 0.0, [0.0] * 2),
        _design(1024.0, 256.0, [4096.0] * 2, 0.0, [2.0] * 2),
        _design(1 / 16, 16.0, [81.0] * 5, 0.0, [0.5] * 5),
        _design(1 / 8, 2.0**-8, [2.0**-14] * 8, 0.0, [0.0] * 8),
        _design(16.0, 32.0, [25.0] * 21, 0.0, [1.0] * 21),
        _design(1.0, 2.0, [1.5] * 64, 0.0, [-0.5] * 64),
    ]


def _design(
    temperature: float, friction: float, diagonal: list[float], off: float, mean: list[float]
) -> GaussianDesign:
    """The design whose precision has the given diagonal and the value `off` next to it."""
    n = len(diagonal)
    precision = np.diag(diagonal) + off * (np.eye(n, k=1) + np.eye(n, k=-1))
    return GaussianDesign(temperature, friction, precision, np.array(mean))
