"""The limit law of chains with memory as h -> 0: the memory is a function of theta, which obeys an Ito equation.

While theta moves by O(sqrt(h)) a step, a memory that forgets at a fixed rate per step stays within O(sqrt(h)) of its fixed
point V*(theta) under the step with theta held. What a step does to theta there, E dX = h F(theta), Var dX = 2 h a(theta),
is the limit d theta = F dt + sqrt(2a) dW (diffusion approximation; Kushner and Yin 2003, chapters 8 and 10), and on a line
its invariant density is exp(int F/a)/a up to a constant. A momentum p that the dynamics has is held as theta is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from sgverify.errors import Unreached
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.exact.readings.long_double import LongDouble, LongDoubleGradient, extended
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import FullGradientIngredient, bind, in_order
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

    `phi` takes and returns nodes, shape (n,). Raises `Unreached` where the memory depends on draws or does not
    forget, where theta moves by the memory itself, or the density has no end.
    """
    _check_reach(scheme, target, LINE)
    centre = float(target.location_float64(temperature)[0])
    spread = float(target.spread_float64(temperature)[0])
    for width in WIDTHS:
        nodes = centre + spread * np.linspace(-width, width, NODES, dtype=EXTENDED)
        reading = _Reading(scheme, target, (nodes[:, None],), temperature)
        memory, keeps = reading.fixed_point()
        drift, diffusion = (value[:, 0] for value in reading.coefficients(memory).values())
        if not (diffusion > 0).all():
            raise Unreached("the limit has no noise somewhere")
        fine = _density(nodes, drift, diffusion)
        if max(fine[0], fine[-1]) <= NEGLIGIBLE * fine.max():
            average = _average(nodes, fine, phi)
            half = slice(None, None, 2)
            rough = _average(nodes[half], _density(nodes[half], drift[half], diffusion[half]), phi)
            return MemoryLimit(average, 2 * abs(average - rough) + 1e-9 * abs(average), keeps)
    raise Unreached("the limit's density is not seen to end")


@dataclass(frozen=True)
class CoefficientDefect:
    """Where a coefficient `what` of the step, its memory equilibrated, is furthest from the dynamics': `found` for `expected`."""

    what: str
    at: Mapping[str, float]
    found: float
    expected: float
    share: float
    """The difference over the largest size of `what` on the nodes."""


def equilibrated_step(
    scheme: Scheme, target: Target, temperature: float, friction: float | None = None
) -> CoefficientDefect:
    """F or a of a step at V* against drift and half squared diffusion of the dynamics, three spreads about theta's mean.

    With a momentum, also where p is up to three standard deviations from 0, and with the covariance of theta and p, which
    a dynamics has not. Where the dynamics' coefficient vanishes, a difference counts as a share of the largest one of its kind.
    A difference is one at h^1 that no number of steps takes away. Raises `Unreached` as `memory_limit` does.
    """
    _check_reach(scheme, target, LINE, PLANE)
    centre, spread = (
        float(x[0]) for x in (target.location_float64(temperature), target.spread_float64(temperature))
    )
    axes = [centre + spread * np.linspace(-3, 3, 33, dtype=EXTENDED)]
    axes += [np.sqrt(EXTENDED(temperature)) * np.linspace(-3, 3, 5, dtype=EXTENDED)] * (
        len(scheme.dynamics.state) - 1
    )
    nodes = tuple(axis.reshape(-1, 1) for axis in np.meshgrid(*axes, indexing="ij"))
    reading = _Reading(scheme, target, nodes, temperature, friction)
    found = reading.coefficients(reading.fixed_point()[0])
    bound = bind(scheme.dynamics, extended(), _parameters(temperature, friction), dim=1)
    drift, diffusion = bound.coefficients(nodes, grad=reading.grad)
    stated: dict[str, Any] = {_drift(i, scheme): value for i, value in enumerate(drift)}
    stated |= {_diffusion(i, i, scheme): value for i, value in enumerate(diffusion)}
    sizes = [max(float(np.abs(value).max()) for value in kind) for kind in (drift, diffusion)]
    worst = []
    for what, value in found.items():
        expected = np.broadcast_to(stated.get(what, 0.0), nodes[0].shape)
        size = float(np.abs(expected).max()) or sizes[not what.startswith(DRIFT)]
        shares = np.abs(value - expected)[:, 0] / size
        k = int(np.argmax(shares))
        at = {name: float(node[k, 0]) for name, node in zip(scheme.dynamics.state, nodes, strict=True)}
        worst.append(CoefficientDefect(what, at, float(value[k, 0]), float(expected[k, 0]), float(shares[k])))
    return max(worst, key=lambda item: item.share)


DRIFT, DIFFUSION = "drift", "half squared diffusion"
LINE, PLANE = ("theta",), ("theta", "p")
"""The states of dynamics that are held while a memory settles."""


def _drift(i: int, scheme: Scheme) -> str:
    state = scheme.dynamics.state
    return DRIFT if state == LINE else f"{DRIFT} of {state[i]}"


def _diffusion(i: int, j: int, scheme: Scheme) -> str:
    state = scheme.dynamics.state
    if state == LINE:
        return DIFFUSION
    return f"{DIFFUSION} of {state[i]}" if i == j else f"half covariance of {state[i]} and {state[j]}"


def _parameters(temperature: float, friction: float | None) -> dict[str, float]:
    return {"T": temperature} if friction is None else {"T": temperature, "D": friction}


def _check_reach(scheme: Scheme, target: Target, *states: tuple[str, ...]) -> None:
    if target.dim != 1 or scheme.dynamics.state not in states or not all(law.normal for law in scheme.laws):
        raise Unreached("the limit of a memory is computed on a line, for normal draws")
    if scheme.dynamics.riemannian:
        raise Unreached("the limit of a memory is computed without a metric")


class _Reading:
    """The definition evaluated on all nodes at once, one (n, 1) array for each variable of the state.

    The gradient at the nodes is computed once.
    """

    def __init__(
        self,
        scheme: Scheme,
        target: Target,
        state: Sequence[np.ndarray],
        temperature: float,
        friction: float | None = None,
    ) -> None:
        self._bound = bind(scheme, extended(), _parameters(temperature, friction), dim=1)
        self._state, self._nodes, self._draws = tuple(state), state[0], scheme.draws
        self._full = LongDoubleGradient(target)
        self._known = self._full(LongDouble(self._nodes))
        self._grad = FullGradientIngredient(self.grad, prior=self._full.prior, hessian=self._full.hessian)

    def grad(self, theta: LongDouble) -> LongDouble:
        same = np.array_equal(theta.value, self._nodes)
        return self._known if same else self._full(theta)

    def step(self, memory: tuple[Any, ...], h: float, draws: tuple[float, ...]) -> tuple[np.ndarray, ...]:
        shape = self._nodes.shape
        with np.errstate(all="ignore"):
            values = self._bound.step(
                (*self._state, *memory),
                h=h,
                grad=self._grad,
                draw=in_order(np.full(shape, z) for z in draws),
            )
        found = tuple(np.broadcast_to(value, shape) for value in values)
        if not all(np.isfinite(value).all() for value in found):
            raise Unreached("a step of the limit is not finite at every node")
        return found

    def fixed_point(self) -> tuple[tuple[np.ndarray, ...], float]:
        """V* at every node by Aitken's process, exact where the memory is linear, and the share of a displacement that remains."""
        still, moved = (0.0,) * self._draws, (1.0,) * self._draws
        held = len(self._state)
        memory = tuple(np.ones_like(self._nodes) for _ in self._bound.definition.memory)
        # A momentum, of the size of sqrt(h) like the noise that it hands on: one step then holds a part of the noise of many, and
        # what a step does at V* is neither the drift nor the diffusion of the limit.
        for name, before, after in zip(PLANE, self._state, self.step(memory, 0.0, still), strict=False):
            if not _near(after, before):
                raise Unreached(
                    f"a momentum in the memory: declare it as `p`; {name} moves by the memory itself, which hands on the draws of "
                    "earlier steps, and one step shows a part of them; expected a momentum as the state p of `kinetic`, "
                    "step(theta, p, ...), and in memory= what forgets while the state is held"
                )
        for _ in range(ROUNDS):
            first = self.step(memory, 0.0, still)[held:]
            if any(
                not np.array_equal(a, b)
                for a, b in zip(first, self.step(memory, 0.0, moved)[held:], strict=True)
            ):
                raise Unreached("the memory keeps random draws")
            second = self.step(first, 0.0, still)[held:]
            better = tuple(_aitken(*values) for values in zip(memory, first, second, strict=True))
            if all(_near(a, b) for a, b in zip(memory, first, strict=True)):
                return first, self._keeps(first, still)
            memory = better
        raise Unreached("the memory is not seen to settle while theta is held")

    def _keeps(self, memory: tuple[np.ndarray, ...], still: tuple[float, ...]) -> float:
        shares = []
        for k in range(len(memory)):
            shift = 1e-3 * (1 + np.abs(memory[k]))
            shifted = (*memory[:k], memory[k] + shift, *memory[k + 1 :])
            after = self.step(shifted, 0.0, still)[len(self._state) :]
            moves = sum(np.abs(a - b) for a, b in zip(after, memory, strict=True))
            shares.append(float((moves / shift).max()))
        keeps = max(shares)
        if keeps > FORGETS:
            raise Unreached("the memory does not forget while theta is held")
        return keeps

    def coefficients(self, memory: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
        """F and a at every node by name, by the three-point rule in each draw and one extrapolation in h. Shapes (n, 1)."""
        coarse, fine = (self._moments(memory, h) for h in (SMALL, SMALL / 2))
        return {name: 2 * fine[name] - coarse[name] for name in coarse}

    def _moments(self, memory: tuple[np.ndarray, ...], h: float) -> dict[str, np.ndarray]:
        root, scheme = np.sqrt(EXTENDED(3)), self._bound.definition
        rules = list(product(((-root, 1 / 6), (0.0, 2 / 3), (root, 1 / 6)), repeat=self._draws))
        weights = [np.prod([EXTENDED(w) for _, w in rule]) for rule in rules]
        steps = [self.step(memory, h, tuple(z for z, _ in rule)) for rule in rules]
        moves = [[after - before for after, before in zip(step, self._state, strict=False)] for step in steps]
        means = [
            sum(w * move[i] for w, move in zip(weights, moves, strict=True)) for i in range(len(self._state))
        ]
        found = {_drift(i, scheme): mean / h for i, mean in enumerate(means)}
        for i, j in combinations_with_replacement(range(len(means)), 2):
            product_ = sum(w * move[i] * move[j] for w, move in zip(weights, moves, strict=True))
            found[_diffusion(i, j, scheme)] = (product_ - means[i] * means[j]) / (2 * h)
        return found


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
