"""What is the invariant law of torch code beyond Gaussians, in one to three coordinates? A Galerkin method in the stationary law.

With pi the stationary law of the dynamics, a product over the coordinates, and psi_0 = 1, psi_1, ... its orthonormal
polynomials, the invariant law has the density 1 + sum_i d_i psi_i in pi, where for every test function psi_j

    sum_i d_i (A - I)_ij = -E_pi (P_h - I) psi_j,      A_ij = E_pi psi_i P_h psi_j.

The right side is the change of psi_j in one step from the stationary law, of order h^(K+1), so that d is found without
cancellation. P_h psi_j(x) is an integral over the step's draws, E_pi one by Gauss rules of pi. Errors are estimated by larger
bases and rules, and converge geometrically where the law is smooth: estimates, and no enclosures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import Unreached
from sgverify.exact.numbers.quadrature import OrthonormalPolynomials
from sgverify.law.chosen_step import chosen_gradient
from sgverify.law.draw_rules import product_rule
from sgverify.law.gaussian_setting import GaussianDesign, GaussianSetting
from sgverify.law.step_rows import OverDraws, StepRows
from sgverify.samplers.intercepted.equilibrated import equilibrated
from sgverify.schemes.torch_step import TorchStep
from sgverify.subject.subject import Subject

MOST_COORDINATES = 3
"""The most coordinates of a state: bases and rules are products over them."""

SIZES: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {
    1: ((20,), (28,)),
    2: ((14, 8), (20, 10)),
    3: ((7, 5, 4), (8, 6, 5)),
}
"""Polynomials in each coordinate, of the basis and of the larger one that estimates its error: positions need the most."""

MORE_NODES = {1: 8, 2: 8, 3: 3}
"""The nodes of a coordinate's Gauss rule beyond its polynomials, by the number of coordinates."""

DEGREE = 11
"""The degree of the rules for the draws, which enter with sqrt(h)."""

DEPTH, POINTS, FARTHEST = 70.0, 6001, 60.0
"""A coordinate's weight is followed down to exp(-DEPTH) of its mode, on this many points, and no farther than so many spreads."""

ALIKE = 1e-9
"""A density counts as a product if its logarithm is the sum of those of the coordinates, up to this share."""


@dataclass(frozen=True)
class GalerkinLaw:
    """pi_h(f) - pi(f) of several functions f at a step size, and estimates of the errors. Shapes (q,)."""

    values: np.ndarray
    errors: np.ndarray


Functions = Callable[[np.ndarray], np.ndarray]
"""Functions of states in the user's units: shape (n, coordinates) gives (n, q)."""


class GalerkinChain:
    """The step of a subject from the stationary law of its dynamics.

    A step with memory is that with its memory at rest, to which it tends as h -> 0. Raises `Unreached` if that law is no
    product in one to three coordinates.
    """

    def __init__(self, subject: Subject, step: TorchStep) -> None:
        c, target = subject.configuration, subject.target
        if target.dim != 1:
            raise Unreached(
                f"products of one-dimensional laws are taken, and the target has dim={target.dim}"
            )
        if step.memory:
            step = equilibrated(step)
        if c.gradient.estimator.noisy or c.gradient.clip is not None or c.gradient.scale != 1:
            raise Unreached(
                f"gradient.kind={c.gradient.kind!r}: full gradients alone are taken beyond Gaussians"
            )
        spread = target.spread_float64(c.temperature)[0]
        design = GaussianDesign(
            c.temperature,
            c.friction,
            np.array([[c.temperature / spread**2]]),
            np.array(target.location_float64(c.temperature), dtype=float),
        )
        self.subject = subject
        self.setting: GaussianSetting = design.setting(step.dynamics)
        self.rows = StepRows(step, self.setting, subject.step, chosen_gradient(subject))
        self.axes = [self._axis(k) for k in range(len(self.setting.spreads))]
        if len(self.axes) > MOST_COORDINATES:
            raise Unreached(f"the state has {len(self.axes)} coordinates, more than {MOST_COORDINATES}")
        self._check_product()

    def biases(self, functions: Functions, h: float) -> GalerkinLaw:
        """pi_h(f) - pi(f) at step size h. Raises `Unreached` if the step cannot be evaluated there."""
        basis, larger = SIZES[len(self.axes)]
        draws = self._draw_rules(h)
        solved = [
            self._solved(functions, h, basis, draws[0]),
            self._solved(functions, h, larger, draws[0]),
            self._solved(functions, h, basis, draws[1]),
        ]
        tail = solved[1][1] * self.sizes(functions)
        found = [part for part, _ in solved]
        if not all(np.isfinite(part).all() for part in found):
            raise Unreached(f"a step of size {h:.3g} from the stationary law is not finite: chains escape")
        apart = np.abs(found[0] - found[1]) + np.abs(found[0] - found[2])
        # A step rounds by `rounding`, which the equations divide by h.
        rounding = self.rows.rounding(np.full((1, len(self.axes)), 6.0)) / (h * self.setting.rate)
        return GalerkinLaw(found[1], 2 * apart + tail + 8 * rounding * self.sizes(functions))

    def sizes(self, functions: Functions) -> np.ndarray:
        """The root mean squares of the functions in the stationary law."""
        basis = SIZES[len(self.axes)][0]
        nodes, weights = self._nodes(basis)
        found: np.ndarray = np.sqrt(weights @ functions(self._in_units(nodes)) ** 2)
        return found

    def _solved(
        self, functions: Functions, h: float, basis: Sequence[int], rule: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, float]:
        """The biases, and the size of the density's terms of highest degree, as large as what the basis leaves out."""
        nodes, weights = self._nodes(basis)
        draws, shares = rule
        n, m = len(nodes), len(shares)
        moved = self.rows(np.repeat(nodes, m, axis=0), np.tile(draws, (n, 1)), h)
        here = self._basis(nodes, basis)
        change = np.einsum(
            "nmj,m->nj", (self._basis(moved, basis) - np.repeat(here, m, axis=0)).reshape(n, m, -1), shares
        )
        # (A - I)_ij; its row of psi_0 is the defect, its column of psi_0 vanishes.
        system = (here * weights[:, None]).T @ change
        d = np.linalg.solve(system[1:, 1:].T, -system[0, 1:])
        values = functions(self._in_units(nodes))
        found: np.ndarray = d @ ((here[:, 1:] * weights[:, None]).T @ values)
        return found, float(np.linalg.norm(d[self._last(basis)[1:]]))

    @staticmethod
    def _last(basis: Sequence[int]) -> np.ndarray:
        """A mask over the products: where some coordinate has one of its two highest degrees, one of each parity."""
        degrees = np.indices(basis).reshape(len(basis), -1)
        return np.asarray((degrees >= np.array(basis)[:, None] - 2).any(axis=0))

    def _basis(self, states: np.ndarray, basis: Sequence[int]) -> np.ndarray:
        """All products of polynomials, the constant first: shape (n, product of the basis)."""
        found = np.ones((len(states), 1))
        for k, count in enumerate(basis):
            part = self.axes[k].at(states[:, k], count)
            found = (found[:, :, None] * part[:, None, :]).reshape(len(states), -1)
        return found

    def _nodes(self, basis: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        more = MORE_NODES[len(basis)]
        return product_rule([axis.gauss(count + more) for axis, count in zip(self.axes, basis, strict=True)])

    def _draw_rules(self, h: float) -> list[tuple[np.ndarray, np.ndarray]]:
        """Two rules for the draws, each made by examining the step at another state."""
        found = []
        for place, share in enumerate((0.4, -0.7)):
            x = self.setting.law[0] + share * self.setting.spreads
            rules = OverDraws(self.rows.box, x, h, degree=DEGREE).rules
            found.append((rules[place].nodes, rules[place].weights))
        return found

    def _in_units(self, states: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.setting.law[0] + self.setting.spreads * states
        return found

    def _log(self, states: np.ndarray) -> np.ndarray:
        """The log density of the stationary law, at states in natural units."""
        energy = self.subject.target.energy_of_coordinate(0)

        def potential(theta: Tensor) -> Tensor:
            return torch.tensor(np.asarray(energy(theta[:, 0].numpy()), dtype=float)[:, None])

        return self.setting.log_density(self._in_units(states), potential)

    def _axis(self, place: int) -> OrthonormalPolynomials:
        n, reach = len(self.setting.spreads), 4.0

        def along(points: np.ndarray) -> np.ndarray:
            states = np.zeros((len(points), n))
            states[:, place] = points
            return self._log(states)

        while True:
            points = np.linspace(-reach, reach, POINTS)
            values = along(points)
            if max(values[0], values[-1]) < values.max() - DEPTH:
                break
            reach *= 1.5
            if reach > FARTHEST:
                raise Unreached("the stationary density falls too slowly for polynomials")
        inside = points[values > values.max() - DEPTH]
        points = np.linspace(inside[0], inside[-1], POINTS)
        most = max(sizes[0] for pair in SIZES.values() for sizes in pair) + max(MORE_NODES.values())
        return OrthonormalPolynomials.of(points, along(points), most)

    def _check_product(self) -> None:
        n = len(self.axes)
        random = np.random.default_rng(0).standard_normal((8, n))
        zero = self._log(np.zeros((1, n)))[0]
        due = zero + sum(self._log(random * (np.arange(n) == k)) - zero for k in range(n))
        off = np.abs(self._log(random) - due).max()
        if not off <= ALIKE * max(1.0, float(np.abs(due).max())):
            raise Unreached("the stationary density is no product of functions of the coordinates")
