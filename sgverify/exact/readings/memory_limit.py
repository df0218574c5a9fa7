"""The limit law of chains with memory as h -> 0: the memory is a function of theta, which obeys an Ito equation.

While theta moves by O(sqrt(h)) a step, a memory that forgets at a fixed rate per step stays within O(sqrt(h)) of its fixed
point V*(theta) under the step with theta held. What a step does to theta there, E dX = h F(theta), Var dX = 2 h a(theta),
is the limit d theta = F dt + sqrt(2a) dW (diffusion approximation; Kushner and Yin 2003, chapters 8 and 10), and on a line
its invariant density is exp(int F/a)/a up to a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from sgverify.errors import OutOfReachError
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.exact.readings.long_double import LongDouble, LongDoubleGradient, extended
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import bind, in_order
from sgverify.schemes.definition.gradient import FullGradientIngredient
from sgverify.targets import Target

NODES = 4097
WIDTHS = (12.0, 24.0, 48.0)
"""Standard deviations to each side; the first window at whose ends the density is negligible is taken."""
NEGLIGIBLE = 1e-13

SMALL = 2.0**-28
"""The step size at which F and a are computed: its square is below float64's rounding; long double's rounding over it is 1e-10."""

TINY = 1e-30
"""The error of a memory whose value is 0; its root is then accurate to 1e-15."""

ROUNDS = 60
FORGETS = 1 - 1e-9
"""A memory that keeps more than this share of a displacement in one step counts as not forgetting it."""


@dataclass(frozen=True)
class MemoryLimit:
    """The average of a test function under the limit, within `error_bound`, an estimate from every other node."""

    average: float
    error_bound: float
    keeps: float
    """The largest share of a displacement of the memory that remains after a step."""


def memory_limit(
    scheme: Scheme, target: Target, phi: Callable[[np.ndarray], np.ndarray], temperature: float
) -> MemoryLimit:
    """E phi(theta) under the limit as h goes to 0, in one dimension and with full gradients.

    `phi` takes and returns nodes, shape (n,). Raises `OutOfReachError` where the memory depends on draws or does not
    forget, where theta moves by the memory itself, or the density has no end.
    """
    _check_reach(scheme, target)
    centre = float(target.location_float64(temperature)[0])
    spread = float(target.spread_float64(temperature)[0])
    for width in WIDTHS:
        nodes = centre + spread * np.linspace(-width, width, NODES, dtype=EXTENDED)
        reading = _Reading(scheme, target, nodes[:, None], temperature)
        memory, keeps = reading.fixed_point()
        drift, diffusion = reading.coefficients(memory)
        fine = _density(nodes, drift, diffusion)
        if max(fine[0], fine[-1]) <= NEGLIGIBLE * fine.max():
            average = _average(nodes, fine, phi)
            half = slice(None, None, 2)
            rough = _average(nodes[half], _density(nodes[half], drift[half], diffusion[half]), phi)
            return MemoryLimit(average, 2 * abs(average - rough) + 1e-9 * abs(average), keeps)
    raise OutOfReachError("the limit's density is not seen to end")


@dataclass(frozen=True)
class CoefficientDefect:
    """Where a coefficient `what` of the step, its memory equilibrated, is furthest from the dynamics': `found` for `expected`."""

    what: str
    theta: float
    found: float
    expected: float
    share: float
    """The difference over the largest size of `what` on the nodes."""


def equilibrated_step(scheme: Scheme, target: Target, temperature: float) -> CoefficientDefect:
    """F or a of a step at V*(theta) against drift and half squared diffusion of the dynamics, three spreads about theta's mean.

    A difference is one at h^1 that no number of steps takes away. Raises `OutOfReachError` as `memory_limit` does.
    """
    _check_reach(scheme, target)
    centre, spread = (
        float(x[0]) for x in (target.location_float64(temperature), target.spread_float64(temperature))
    )
    nodes = (centre + spread * np.linspace(-3, 3, 33, dtype=EXTENDED))[:, None]
    reading = _Reading(scheme, target, nodes, temperature)
    found = reading.coefficients(reading.fixed_point()[0])
    bound = bind(scheme.dynamics, extended(), {"T": temperature}, dim=1)
    stated = bound.coefficients((nodes,), grad=reading.grad)
    worst = []
    for what, value, (said,) in zip(("drift", "half squared diffusion"), found, stated, strict=True):
        expected = np.broadcast_to(said, nodes.shape)[:, 0]
        shares = np.abs(value - expected) / np.abs(expected).max()
        k = int(np.argmax(shares))
        worst.append(
            CoefficientDefect(what, float(nodes[k, 0]), float(value[k]), float(expected[k]), float(shares[k]))
        )
    return max(worst, key=lambda item: item.share)


def _check_reach(scheme: Scheme, target: Target) -> None:
    if target.dim != 1 or scheme.dynamics.state != ("theta",) or not all(law.normal for law in scheme.laws):
        raise OutOfReachError("the limit of a memory is computed on a line, for normal draws")
    if scheme.dynamics.riemannian:
        raise OutOfReachError("the limit of a memory is computed without a metric")


class _Reading:
    """The definition evaluated on all nodes at once, with the gradient at the nodes computed once."""

    def __init__(self, scheme: Scheme, target: Target, nodes: np.ndarray, temperature: float) -> None:
        self._bound = bind(scheme, extended(), {"T": temperature}, dim=1)
        self._nodes, self._draws = nodes, scheme.draws
        self._full = LongDoubleGradient(target)
        self._known = self._full(LongDouble(nodes))

    def grad(self, theta: LongDouble) -> LongDouble:
        same = np.array_equal(theta.value, self._nodes)
        return self._known if same else self._full(theta)

    def step(self, memory: tuple[Any, ...], h: float, draws: tuple[float, ...]) -> tuple[np.ndarray, ...]:
        shape = self._nodes.shape
        with np.errstate(all="ignore"):
            values = self._bound.step(
                (self._nodes, *memory),
                h=h,
                grad=_Gradient(self.grad, self._full),
                draw=in_order(np.full(shape, z) for z in draws),
            )
        found = tuple(np.broadcast_to(value, shape) for value in values)
        if not all(np.isfinite(value).all() for value in found):
            raise OutOfReachError("a step of the limit is not finite at every node")
        return found

    def fixed_point(self) -> tuple[tuple[np.ndarray, ...], float]:
        """V* at every node by Aitken's process, exact where the memory is linear, and the share of a displacement that remains."""
        still, moved = (0.0,) * self._draws, (1.0,) * self._draws
        memory = tuple(np.ones_like(self._nodes) for _ in self._bound.definition.memory)
        # A momentum, of the size of sqrt(h) like the noise that it hands on: one step then holds a part of the noise of many, and
        # what a step does at V* is neither the drift nor the diffusion of the limit.
        if not _near(self.step(memory, 0.0, still)[0], self._nodes):
            raise OutOfReachError(
                "theta moves by the memory itself, which hands on the draws of earlier steps"
            )
        for _ in range(ROUNDS):
            first = self.step(memory, 0.0, still)[1:]
            if any(
                not np.array_equal(a, b)
                for a, b in zip(first, self.step(memory, 0.0, moved)[1:], strict=True)
            ):
                raise OutOfReachError("the memory keeps random draws")
            second = self.step(first, 0.0, still)[1:]
            better = tuple(_aitken(*values) for values in zip(memory, first, second, strict=True))
            if all(_near(a, b) for a, b in zip(memory, first, strict=True)):
                return first, self._keeps(first, still)
            memory = better
        raise OutOfReachError("the memory is not seen to settle while theta is held")

    def _keeps(self, memory: tuple[np.ndarray, ...], still: tuple[float, ...]) -> float:
        shares = []
        for k in range(len(memory)):
            shift = 1e-3 * (1 + np.abs(memory[k]))
            shifted = (*memory[:k], memory[k] + shift, *memory[k + 1 :])
            after = self.step(shifted, 0.0, still)[1:]
            moves = sum(np.abs(a - b) for a, b in zip(after, memory, strict=True))
            shares.append(float((moves / shift).max()))
        keeps = max(shares)
        if keeps > FORGETS:
            raise OutOfReachError("the memory does not forget while theta is held")
        return keeps

    def coefficients(self, memory: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        """F and a at every node, by the three-point rule in each draw and one extrapolation in h."""
        (f1, a1), (f2, a2) = (self._moments(memory, h) for h in (SMALL, SMALL / 2))
        drift, diffusion = 2 * f2 - f1, 2 * a2 - a1
        if not (diffusion > 0).all():
            raise OutOfReachError("the limit has no noise somewhere")
        return drift[:, 0], diffusion[:, 0]

    def _moments(self, memory: tuple[np.ndarray, ...], h: float) -> tuple[np.ndarray, np.ndarray]:
        root = np.sqrt(EXTENDED(3))
        mean = square = np.zeros_like(self._nodes)
        for rule in product(((-root, 1 / 6), (0.0, 2 / 3), (root, 1 / 6)), repeat=self._draws):
            weight = np.prod([EXTENDED(w) for _, w in rule])
            moved = self.step(memory, h, tuple(z for z, _ in rule))[0] - self._nodes
            mean, square = mean + weight * moved, square + weight * moved**2
        return mean / h, (square - mean**2) / (2 * h)


class _Gradient(FullGradientIngredient):
    def __init__(self, function: Callable[[LongDouble], LongDouble], full: LongDoubleGradient) -> None:
        self._function, self._full = function, full

    def __call__(self, place: LongDouble) -> LongDouble:
        return self._function(place)

    def prior(self, place: LongDouble) -> LongDouble:
        return self._full.prior(place)

    def hessian(self, place: LongDouble, vector: LongDouble) -> LongDouble:
        return self._full.hessian(place, vector)


def _aitken(start: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    bend = second - 2 * first + start
    with np.errstate(all="ignore"):
        better = start - (first - start) ** 2 / bend
    better = np.where((bend != 0) & np.isfinite(better), better, second)
    # Rounding must not carry a non-negative memory, such as a mean square, across 0.
    return np.where(better * second < 0, 0 * second, better)


def _near(left: np.ndarray, right: np.ndarray) -> bool:
    return bool((np.abs(left - right) <= 1e-15 * np.abs(right) + TINY).all())


def _density(nodes: np.ndarray, drift: np.ndarray, diffusion: np.ndarray) -> np.ndarray:
    slope = drift / diffusion
    log = np.concatenate([[EXTENDED(0)], np.cumsum((slope[1:] + slope[:-1]) / 2 * np.diff(nodes))])
    log = log - np.log(diffusion)
    return np.asarray(np.exp(log - log.max()))


def _average(nodes: np.ndarray, density: np.ndarray, phi: Callable[[np.ndarray], np.ndarray]) -> float:
    # The nodes are equally spaced and the density ends inside: the trapezoidal sum.
    return float((phi(nodes) * density).sum() / density.sum())
