"""Torch code run at the nodes of a cubature that stand for its draws, with what rounding may be off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import SgverifyError
from sgverify.exact.series.probe import PolynomialPotential
from sgverify.samplers.intercepted import BlackBox, BlackBoxError
from sgverify.samplers.intercepted.dtypes import DtypeAudit, default_dtype
from sgverify.schemes.abstract_value import VECTOR
from sgverify.schemes.torch_step import TorchStep

UNIT, NARROW_UNIT = 2.0**-53, 2.0**-24


class NodeRunner:
    """Runs the step at nodes, all chains at once where it takes chains, and one by one elsewhere."""

    def __init__(
        self,
        step: TorchStep,
        potential: PolynomialPotential,
        state: dict[tuple[str, int], Fraction],
        dim: int,
        *,
        parameters: Mapping[str, Fraction],
        first: float,
    ) -> None:
        self.step, self._dim = step, dim
        self.x = np.array([float(value) for value in state.values()])
        self.reach = float(np.abs(self.x).max())

        powers, numbers = potential.gradient_terms()
        exponents = torch.tensor(powers, dtype=torch.float64)
        factors = torch.tensor(numbers, dtype=torch.float64)

        def slope(theta: Tensor, minibatch: int) -> Tensor:
            return (theta.to(torch.float64)[..., None, :] ** exponents).prod(-1) @ factors

        given = {name: float(parameters[name]) for name in step.parameters}
        self._box = BlackBox(step, slope, dim, given)
        self._together: bool | None = None
        audit = DtypeAudit(())
        with default_dtype(torch.float64):
            self.draws = self._box.census(self._state(1), first)
            zeros = torch.zeros((1, self.draws) if step.chains else (self.draws,), dtype=torch.float64)
            once, _ = self._box.run(self._state(1), zeros, first, witness=audit)
            again, _ = self._box.run(self._state(1), zeros, first)
        if any(not torch.equal(a, b) for a, b in zip(once, again, strict=True)):
            raise BlackBoxError(
                "the step is random although every torch draw was put in, or it keeps something from call to call"
            )
        # A gradient takes a power, a product and a sum for each of its terms.
        self.roundings = audit.operations + 4 * len(powers)
        self.unit = NARROW_UNIT if audit.found else UNIT

    def moments(
        self, nodes: np.ndarray, weights: np.ndarray, h: float, indices: Sequence[tuple[int, ...]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """E (X_1 - x)^a for every a, and what rounding may be off.

        Every operation of a step rounds once, relative to numbers no larger than the state before and after: that adds up to
        a step that is off by (operations) u (largest of the states, 1), and a moment by its derivative times that.
        """
        after = self.after(nodes, h)
        if not np.isfinite(after).all():
            raise BlackBoxError(f"a step of size {h:g} from a state of size 1 is not finite")
        self.reach = max(self.reach, float(np.abs(after).max()))
        delta = after - self.x
        off = self.roundings * self.unit * max(1.0, float(np.abs(after).max()), float(np.abs(self.x).max()))
        sizes = np.abs(delta) + off
        exponents = np.array(indices)
        terms = np.prod(delta[:, None, :] ** exponents, axis=2)
        large = np.prod(sizes[:, None, :] ** exponents, axis=2)
        relative = (exponents * (off / sizes)[:, None, :]).sum(axis=2) + (exponents.sum(1) + 2) * UNIT
        return weights @ terms, np.abs(weights) @ (large * relative) + len(weights) * UNIT * np.abs(
            weights
        ) @ large

    def after(self, nodes: np.ndarray, h: float) -> np.ndarray:
        """X_1 at every node. Shapes (n, draws) -> (n, coordinates).

        A step of one chain is run node by node at the first step size; where it gives the same for all nodes in one tensor, as
        one that works entry by entry does, the other step sizes are run so.
        """
        draws = torch.tensor(nodes, dtype=torch.float64)
        if self.step.chains or self._together:
            return self._all(draws, h)
        found = self._each(draws, h)
        if self._together is None:
            self._together = self._agrees(draws, h, found)
        return found

    def _agrees(self, draws: Tensor, h: float, found: np.ndarray) -> bool:
        try:
            together = self._all(draws, h)
        except SgverifyError:
            return False
        return bool(np.allclose(together, found, rtol=1e-14, atol=1e-15))

    def _all(self, draws: Tensor, h: float) -> np.ndarray:
        box = replace(self._box, step=replace(self.step, chains=True))
        with default_dtype(torch.float64):
            moved, shapes = box.run(self._state(len(draws), True), draws, h)
        box.check_rows(shapes, len(draws))
        return np.asarray(torch.cat([value.to(torch.float64) for value in moved], dim=-1).numpy())

    def _each(self, draws: Tensor, h: float) -> np.ndarray:
        rows = []
        with default_dtype(torch.float64):
            for row in draws:
                moved, _ = self._box.run(self._state(1), row, h)
                rows.append(torch.cat([value.to(torch.float64).reshape(-1) for value in moved]))
        return np.asarray(torch.stack(rows).numpy())

    def _state(self, chains: int, together: bool = False) -> tuple[Tensor, ...]:
        values, first = [], 0
        for shape in self.step.shapes.values():
            size = self._dim if shape == VECTOR else 1
            value = torch.tensor(self.x[first : first + size], dtype=torch.float64)
            first += size
            if self.step.chains or together:
                value = value.repeat(chains, 1)
            elif shape != VECTOR:
                value = value.reshape(())
            values.append(value)
        return tuple(values)


__all__ = ["UNIT", "NodeRunner"]
