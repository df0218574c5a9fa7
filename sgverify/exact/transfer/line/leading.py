"""The expansion at h = 0 of an overdamped scheme's bias on the line, up to the first coefficient that is not 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import factorial
from typing import Any

import numpy as np

from sgverify.errors import Unreached
from sgverify.exact.numbers.jets import Jet, derivatives_of, taylor_of
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.exact.rings.evaluation import Values
from sgverify.exact.series.local_order import defect_text
from sgverify.exact.transfer.line.defects import (
    Defects,
    Diffusion,
    differentiate,
    expand_defects,
    highest_adjoint_power,
    plus,
    times,
    values_of,
)
from sgverify.exact.transfer.line.operator import Mass
from sgverify.exact.transfer.result import BiasTerm, LeadingBias
from sgverify.schemes import Scheme
from sgverify.targets import Observable, Target

HIGHEST = 4
"""The highest power of h that is computed."""

LEVELS = (55.0, 70.0)
MOST_POINTS = 2400

_PER_SCALE = 6.0
_FEWEST = 120
_TYPICAL = 12.0
_FINER = 1.4
_TOLERANCE = 1e-9
# The trapezoid rule converges like a power of the spacing across a kink: a tenth of what grids and prediction agree to.
_TOLERANCE_AT_KINKS = 1e-7
_ROUNDED = 1e-15
_NOTHING = 1e-11

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
class OperatorPrediction:
    """The expansion at h = 0 of a scheme's bias on a target of the line, by its operators D_k; `parameters` are T, D, ..."""

    scheme: Scheme
    target: Target
    observable: Observable
    parameters: Mapping[str, float]

    def leading(self) -> LeadingBias:
        """The terms from h^0 on, up to the first that is told from 0, or to h^4."""
        terms: list[BiasTerm] = []
        facts: dict[str, Any] = {}
        for m in range(HIGHEST + 1):
            defects = expand_defects(self.scheme, max(2, m + 1), self.parameters)
            term = self._coefficient(m, defects, facts) if m else self._at_zero(defects)
            terms.append(term)
            if term.told_from_zero:
                break
        return LeadingBias(tuple(terms), facts)

    def _at_zero(self, defects: Defects) -> BiasTerm:
        """The term at h = 0: the diffusion to which the scheme tends may have another invariant law than the posterior."""
        if defects.keeps_posterior:
            return BiasTerm(Fraction(0), 0.0, 0.0, proved_zero=True)
        factor = self._factor(defects)
        values = []
        for level, finer in zip(LEVELS, (1.0, _FINER), strict=True):
            points = self._points(level, finer, (factor, self._inverse_temperature))
            function = np.asarray(self.observable(points[:, None]))
            energy = taylor_of(self.target, points, 0)[0]
            means = []
            for scale in (factor, self._inverse_temperature):
                density = np.exp((energy.min() - energy) * EXTENDED(scale))
                means.append(density @ function / density.sum())
            values.append((means[0] - means[1], float(np.abs(function) @ density / density.sum())))
        (first, _), (second, size) = values
        return BiasTerm(Fraction(0), float(second), float(abs(second - first)) + _ROUNDED * size)

    def _coefficient(self, m: int, defects: Defects, facts: dict[str, Any]) -> BiasTerm:
        finer = 1.0
        while True:
            found = [
                self._on_grid(m, defects, level, finer * more)
                for level, more in zip(LEVELS, (1.0, _FINER), strict=True)
            ]
            if found[0].proved:
                return BiasTerm(Fraction(m), 0.0, 0.0, proved_zero=True)
            value, bound = found[1].value, abs(found[1].value - found[0].value) + _ROUNDED * found[1].size
            finer *= _FINER
            tolerance = _TOLERANCE_AT_KINKS if defects.kinked else _TOLERANCE
            if bound <= max(tolerance * abs(value), _NOTHING * found[1].size):
                break
            if found[1].points * _FINER > MOST_POINTS:
                break
        text = (
            defect_text(defects.operators[m + 1], defects.ring, Fraction(m + 1))
            if m + 1 in defects.operators
            else "0"
        )
        facts[f"h^{m}"] = {
            "value": value,
            "error_bound": bound,
            "defect_operator": text,
            "points": [item.points for item in found],
            **({"by_the_adjoint": found[1].adjoint} if found[1].adjoint is not None else {}),
        }
        return BiasTerm(Fraction(m), value, bound)

    def _on_grid(self, m: int, defects: Defects, level: float, finer: float) -> _OnGrid:
        factor = self._factor(defects)
        # A Poisson equation costs one degree, an operator D_k 2k degrees: these suffice for nu_m.
        degree = 12 + 5 * m
        highest = 2 * m + 3
        points = self._points(level, finer, (factor,))
        taylor = taylor_of(self.target, points, degree + highest + 1)
        diffusion = Diffusion(
            points, taylor[: degree + 2] * EXTENDED(factor), self._number(defects.diffusion, defects)
        )
        expansion = FunctionalExpansion(
            defects, diffusion, self.parameters, _cut(derivatives_from(taylor, highest), degree)
        )
        if expansion.vanishes(m):
            return _OnGrid(0.0, 0.0, None, len(points), proved=True)
        function = diffusion.observed(self.observable, degree)
        value, size = expansion.coefficient(m, function)
        adjoint = None
        if expansion.has_adjoint(m):
            adjoint = float(expansion.by_the_adjoint(m, function))
        return _OnGrid(float(value), size, adjoint, len(points))

    def _points(self, level: float, finer: float, factors: tuple[float, ...]) -> np.ndarray:
        """A uniform grid over the hull of the masses of exp(-factor U)."""
        masses = [self._mass(factor) for factor in factors]
        intervals = [mass.interval(level) for mass in masses]
        low, high = min(a for a, _ in intervals), max(b for _, b in intervals)
        scale = min(self._scale(mass, factor) for mass, factor in zip(masses, factors, strict=True))
        count = max(_FEWEST, int(np.ceil((high - low) / scale * _PER_SCALE * finer)))
        if count > 2 * MOST_POINTS:
            raise Unreached(
                f"a grid would need {count} points, above {2 * MOST_POINTS}: the density has features of very different widths"
            )
        return np.linspace(EXTENDED(low), EXTENDED(high), count)

    def _mass(self, factor: float) -> Mass:
        if factor not in self._masses:
            energy = self.target.energy_of_coordinate(0)
            self._masses[factor] = Mass.of(lambda x: energy(x) * factor, *self.target.hint(0))
        return self._masses[factor]

    def _scale(self, mass: Mass, factor: float) -> float:
        x = np.linspace(*mass.interval(_TYPICAL), 10 * _FEWEST)
        return float(1 / np.sqrt(factor * np.abs(derivatives_of(self.target, x, 2)[2]).max()))

    def _factor(self, defects: Defects) -> float:
        """c/a in the invariant density exp(-(c/a) U) of the diffusion to which the scheme tends."""
        factor = self._number(defects.gradient_factor, defects) / self._number(defects.diffusion, defects)
        if not factor > 0:
            raise Unreached("the diffusion that the scheme tends to has no invariant law")
        return float(factor)

    def _number(self, polynomial: Any, defects: Defects) -> Any:
        return values_of(defects.ring, self.parameters, {})(polynomial)

    @property
    def _inverse_temperature(self) -> float:
        """1/T."""
        return 1 / self.parameters["T"]

    @cached_property
    def _masses(self) -> dict[float, Mass]:
        return {}


def derivatives_from(taylor: np.ndarray, highest: int) -> dict[int, Jet]:
    """U', ..., U^(highest) as Taylor polynomials, from the coefficients U^(k)/k!. Shape (K + 1, n)."""
    function, found = Jet(taylor), {}
    for j in range(1, highest + 1):
        function = differentiate(function)
        found[j] = function
    return found


@dataclass(frozen=True)
class _OnGrid:
    value: float
    size: float
    adjoint: float | None
    points: int
    proved: bool = False


@dataclass(frozen=True, eq=False)
class FunctionalExpansion:
    """The functionals nu_1, nu_2, ... of a scheme on one grid; `derivatives[j]` holds U^(j) as Taylor polynomials."""

    defects: Defects
    diffusion: Diffusion
    parameters: Mapping[str, float]
    derivatives: Mapping[int, Jet]

    def vanishes(self, m: int) -> bool:
        """Whether nu_m is 0 by algebra, for every test function and every smooth U."""
        if m == 0:
            return False
        return all(self._idle(k, m - k + 1 - j) for k in range(2, m + 2) for j in range(m - k + 2))

    def coefficient(self, m: int, function: Jet) -> tuple[Any, float]:
        """nu_m of a test function, and the average size of the integrand, which scales the rounding."""
        if m == 0:
            return self.diffusion.mean(function.c[0]), self.diffusion.size(function.c[0])
        if self.vanishes(m):
            return EXTENDED(0), 0.0
        rough = [k for k in self.defects.kinked if k <= m]
        if rough:
            # Beyond nu_1 the Poisson equation would have a right side with a kink, and fractional powers of h may enter.
            raise Unreached(
                f"the coefficient of h^{m}: the defect at h^{rough[0]} is not smooth in the state"
            )
        centred = self.diffusion.centred(function)
        derivatives = {0: self.diffusion.poisson_derivative(centred)}
        power = Jet(-centred.c)
        for j in range(1, m):
            derivatives[j] = differentiate(power)
            power = self.diffusion.generate(power) if j + 1 < m else power
        total, size = EXTENDED(0), 0.0
        for k in range(2, m + 2):
            for j in range(m - k + 2):
                left = m - k + 1 - j
                if not BERNOULLI[j] or self._idle(k, left):
                    continue
                factor = float(BERNOULLI[j] / factorial(j))
                value, scale = self.coefficient(left, self._apply(k, derivatives[j]))
                total, size = total + factor * value, size + abs(factor) * scale
        return total, size

    def by_the_adjoint(self, m: int, function: Jet) -> Any:
        """nu_m(phi) = int psi D_(m+1)^* 1 d pi, an independent formula where nu_1, ..., nu_(m-1) vanish by algebra.

        It needs coefficients that are smooth, and the same on every branch.
        """
        assert all(self.vanishes(j) for j in range(1, m))
        k = m + 1
        if k not in self.defects.adjoints:
            return EXTENDED(0)
        psi = self.diffusion.primitive(self.diffusion.poisson_derivative(self.diffusion.centred(function)))
        values = {j: derivative.c[0] for j, derivative in self.derivatives.items()}
        value = values_of(self.defects.ring, self.parameters, values)
        found, above = value(self.defects.adjoints[k]), value(self.defects.diffusion)
        power = highest_adjoint_power(self.defects.operators[k])
        return self.diffusion.mean((psi - self.diffusion.mean(psi)) * found / above**power)

    def _idle(self, k: int, left: int) -> bool:
        """Whether nu_left D_k is 0 by algebra."""
        branches = self.defects.branches
        if not any(k in branch.operators for branch in branches):
            return True
        if left:
            return self.vanishes(left)
        # Partial integration across a kink leaves boundary terms, which the adjoint of a branch does not contain.
        return not self._is_rough(k) and k not in self.defects.adjoints

    def _is_rough(self, k: int) -> bool:
        return k in self.defects.kinked or k in self.defects.unread

    def has_adjoint(self, m: int) -> bool:
        """Whether `by_the_adjoint` gives nu_m."""
        return not self._is_rough(m + 1) and all(self.vanishes(j) for j in range(1, m))

    def _apply(self, k: int, derivative: Jet) -> Jet:
        """D_k f, given f'."""
        total: Any = None
        for order, coefficient in self._operators[k].items():
            term = times(coefficient, differentiate(derivative, order - 1))
            total = term if total is None else plus(total, term)
        found: Jet = total
        return found

    @cached_property
    def _operators(self) -> dict[int, dict[int, Any]]:
        """The coefficients of D_k at the grid points, as Taylor polynomials or numbers, branch by branch."""
        degree = min(len(derivative.c) for derivative in self.derivatives.values())
        derivatives = {j: Jet(derivative.c[:degree]) for j, derivative in self.derivatives.items()}
        found: dict[int, dict[int, Any]] = {}
        for branch in self.defects.branches:
            values = values_of(branch.ring, self.parameters, derivatives)
            inside = self._inside(branch, values)
            for k, operator in branch.operators.items():
                row = found.setdefault(k, {})
                for (order,), c in operator.items():
                    value = values(c)
                    if inside is not None:
                        number = not isinstance(value, Jet)
                        whole = derivatives[1] * 0 + value if number else value
                        value = Jet(np.where(inside, whole.c, 0))
                    row[order] = plus(row[order], value) if order in row else value
        return found

    def _inside(self, branch: Defects, values: Values) -> np.ndarray | None:
        """A mask of the grid points on a branch; None where there is only one branch."""
        if not self.defects.elsewhere:
            return None
        inside = np.ones(len(self.diffusion.points), dtype=bool)
        for f, sign in branch.where:
            # Where f is 0 both branches are the same function.
            inside &= (values(f).c[0] > 0) == (sign > 0)
        return inside


def _cut(derivatives: dict[int, Any], degree: int) -> dict[int, Any]:
    return {j: type(derivative)(derivative.c[: degree + 1]) for j, derivative in derivatives.items()}
