"""The bias of the invariant law in powers of h, from the operators by which a scheme errs and a Poisson equation.

With P_h = exp(hG) + sum_k h^k D_k and pi_h = pi + h nu_1 + h^2 nu_2 + ..., pi_h (P_h - 1) f = 0 for the f with
(exp(hG) - 1) f/h = -(phi - pi phi), f = sum_j (B_j/j!) h^j G^j psi, G psi = -(phi - pi phi), gives

    nu_m(phi) = sum_(k >= 2, j >= 0) nu_(m - k + 1 - j)( D_k (B_j/j!) G^j psi ),   nu_0 = pi,

B_j the Bernoulli numbers (Talay and Tubaro 1990; Mattingly, Stuart and Tretyakov 2010).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import factorial
from typing import Any

import numpy as np

from sgverify.exact.transfer.defects import Defects, highest_adjoint_power, value_of
from sgverify.exact.transfer.diffusion import Diffusion, differentiate, plus, times
from sgverify.exact.transfer.hermite import EXTENDED
from sgverify.exact.transfer.jets import Jet
from sgverify.exact.transfer.result import OutOfReachError

BERNOULLI = (
    Fraction(1),
    Fraction(-1, 2),
    Fraction(1, 6),
    Fraction(0),
    Fraction(-1, 30),
    Fraction(0),
    Fraction(1, 42),
)
"""B_0, B_1, ...: x/(e^x - 1) = sum B_j x^j/j!."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """The functionals nu_1, nu_2, ... of a scheme on one grid; `slopes[j]` holds U^(j) as Taylor polynomials."""

    defects: Defects
    diffusion: Diffusion
    parameters: Mapping[str, float]
    slopes: Mapping[int, Jet]

    def vanishes(self, m: int) -> bool:
        """Whether nu_m is 0 by algebra, for every test function and every smooth U."""
        if m == 0:
            return False
        return all(self._idle(k, m - k + 1 - j) for k in range(2, m + 2) for j in range(m - k + 2))

    def coefficient(self, m: int, function: Jet) -> tuple[Any, float]:
        """nu_m of a test function, and the average size of what was integrated, the scale of its rounding."""
        if m == 0:
            return self.diffusion.mean(function.c[0]), self.diffusion.size(function.c[0])
        if self.vanishes(m):
            return EXTENDED(0), 0.0
        rough = [k for k in self.defects.kinked if k <= m]
        if rough:
            # nu_1 of a function with a kink is no Poisson equation of a smooth one, and powers between the whole ones may enter.
            raise OutOfReachError(
                f"the coefficient of h^{m}: the defect at h^{rough[0]} is not smooth in the state"
            )
        centred = self.diffusion.centred(function)
        slopes = {0: self.diffusion.poisson_slope(centred)}
        power = Jet(-centred.c)
        for j in range(1, m):
            slopes[j] = differentiate(power)
            power = self.diffusion.generate(power) if j + 1 < m else power
        total, size = EXTENDED(0), 0.0
        for k in range(2, m + 2):
            for j in range(m - k + 2):
                left = m - k + 1 - j
                if not BERNOULLI[j] or self._idle(k, left):
                    continue
                factor = float(BERNOULLI[j] / factorial(j))
                value, scale = self.coefficient(left, self._apply(k, slopes[j]))
                total, size = total + factor * value, size + abs(factor) * scale
        return total, size

    def by_the_adjoint(self, m: int, function: Jet) -> Any:
        """nu_m(phi) = int psi D_(m+1)^* 1 d pi where nu_1, ..., nu_(m-1) vanish by algebra: another way to it.

        Of coefficients that are smooth, and the same on every branch.
        """
        assert all(self.vanishes(j) for j in range(1, m))
        k = m + 1
        if k not in self.defects.adjoints:
            return EXTENDED(0)
        psi = self.diffusion.primitive(self.diffusion.poisson_slope(self.diffusion.centred(function)))
        values = {j: slope.c[0] for j, slope in self.slopes.items()}
        ring = self.defects.ring
        found = value_of(self.defects.adjoints[k], ring, self.parameters, values)
        above = value_of(self.defects.diffusion, ring, self.parameters, values)
        power = highest_adjoint_power(self.defects.operators[k])
        return self.diffusion.mean((psi - self.diffusion.mean(psi)) * found / above**power)

    def _idle(self, k: int, left: int) -> bool:
        """Whether nu_left D_k is 0 by algebra."""
        branches = self.defects.branches
        if not any(k in branch.operators for branch in branches):
            return True
        if left:
            return self.vanishes(left)
        # Partial integration across a kink leaves terms at it, which no adjoint of a branch holds.
        return not self._is_rough(k) and k not in self.defects.adjoints

    def _is_rough(self, k: int) -> bool:
        return k in self.defects.kinked or k in self.defects.unread

    def has_adjoint(self, m: int) -> bool:
        """Whether `by_the_adjoint` gives nu_m."""
        return not self._is_rough(m + 1) and all(self.vanishes(j) for j in range(1, m))

    def _apply(self, k: int, slope: Jet) -> Jet:
        """D_k f, given f'."""
        total: Any = None
        for order, coefficient in self._operators[k].items():
            term = times(coefficient, differentiate(slope, order - 1))
            total = term if total is None else plus(total, term)
        found: Jet = total
        return found

    @cached_property
    def _operators(self) -> dict[int, dict[int, Any]]:
        """The coefficients of D_k at the grid points, as Taylor polynomials or numbers; each of its branch."""
        degree = min(len(slope.c) for slope in self.slopes.values())
        slopes = {j: Jet(slope.c[:degree]) for j, slope in self.slopes.items()}
        found: dict[int, dict[int, Any]] = {}
        for branch in self.defects.branches:
            inside = self._inside(branch, slopes)
            for k, operator in branch.operators.items():
                row = found.setdefault(k, {})
                for (order,), c in operator.items():
                    value = value_of(c, branch.ring, self.parameters, slopes)
                    if inside is not None:
                        number = not isinstance(value, Jet)
                        whole = slopes[1] * 0 + value if number else value
                        value = Jet(np.where(inside, whole.c, 0))
                    row[order] = plus(row[order], value) if order in row else value
        return found

    def _inside(self, branch: Defects, slopes: Mapping[int, Jet]) -> np.ndarray | None:
        """At which points of the grid a branch holds; None where there is only one."""
        if not self.defects.elsewhere:
            return None
        inside = np.ones(len(self.diffusion.points), dtype=bool)
        for f, sign in branch.where:
            value = value_of(f, branch.ring, self.parameters, slopes)
            # Where f is 0 both branches are the same function.
            inside &= (value.c[0] > 0) == (sign > 0)
        return inside


def slopes_of(taylor: np.ndarray, highest: int) -> dict[int, Jet]:
    """U', ..., U^(highest) as Taylor polynomials, from the coefficients U^(k)/k!. Shape (K + 1, n)."""
    function, found = Jet(taylor), {}
    for j in range(1, highest + 1):
        function = differentiate(function)
        found[j] = function
    return found
