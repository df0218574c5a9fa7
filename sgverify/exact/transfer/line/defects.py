"""The difference of a scheme's transition operator and a diffusion's on the line: P_h = exp(h G) + h^2 D_2 + h^3 D_3 + ....

For every smooth U at once: the coefficients are polynomials in U', U'', ... and the parameters' roots.

A diffusion on the line with the invariant density exp(-V), and its Poisson equation, in Taylor polynomials on a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sgverify.errors import NotExpandableError, Unreached
from sgverify.exact.numbers.ball import ScalarKind
from sgverify.exact.numbers.jets import Jet
from sgverify.exact.numbers.quadrature import EXTENDED, to_extended
from sgverify.exact.rings.evaluation import Values, by_key, root_interval, sign_of
from sgverify.exact.rings.polynomials import Key, Polynomial, to_fraction
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.averaging import merge_minibatches
from sgverify.exact.series.carrier import Signs, on_every_branch
from sgverify.exact.series.local_order import expand_step
from sgverify.exact.series.operators import (
    Operator,
    derivative,
    difference,
    exponential,
    is_smooth,
    operator_text,
)
from sgverify.schemes import Scheme
from sgverify.schemes.definition.mathematics import cos, erf, exp, expm1, log, sin, sqrt
from sgverify.targets import Observable
from sgverify.targets.potential import ARRAYS


@dataclass(frozen=True)
class Defects:
    """The generator G of the diffusion that a scheme tends to, and the operators D_k, k = 2..highest.

    `operators` holds the non-zero D_k; `adjoints` the non-zero a^m D_k^* 1 for some m, with a the coefficient of d^2 in G and
    the adjoint with respect to G's invariant density: int D_k f d pi = int f D_k^* 1 d pi. `unread` are the k whose
    coefficients contain roots of the state, for which no adjoint is computed.

    A definition with |x| has operators for each branch of the line: these ones hold where the polynomials of `where`
    have their signs, and `elsewhere` holds the operators of the other branches.
    """

    highest: int
    generator: Operator
    operators: Mapping[int, Operator]
    adjoints: Mapping[int, Polynomial]
    ring: Ring = field(repr=False, compare=False)
    unread: frozenset[int] = frozenset()
    where: tuple[tuple[Polynomial, int], ...] = field(default=(), repr=False, compare=False)
    elsewhere: tuple[Defects, ...] = field(default=(), repr=False, compare=False)

    @property
    def branches(self) -> tuple[Defects, ...]:
        """The operators of every branch."""
        return (self, *self.elsewhere)

    @cached_property
    def kinked(self) -> frozenset[int]:
        """The k for which D_k differs between branches, so that its coefficients are not smooth where branches meet."""
        texts = [
            {k: operator_text(operator, one.ring) for k, operator in one.operators.items()}
            for one in self.branches
        ]
        return frozenset(k for one in texts for k in one if any(other.get(k) != one[k] for other in texts))

    @property
    def drift(self) -> Polynomial:
        """F in G = F d + a d^2."""
        return self.generator.get((1,), self.ring.zero)

    @property
    def diffusion(self) -> Polynomial:
        """a in G = F d + a d^2, free of the state."""
        return self.generator[(2,)]

    @cached_property
    def keeps_posterior(self) -> bool:
        """Whether G leaves exp(-U/T) invariant, by algebra: F T + a U' = 0."""
        ring = self.ring
        if "T" not in ring.parameters:
            return False
        T = ring.generator("root", "T") ** 2
        derivative = ring.jet("U", 0, (1,))
        return not ring.reduce(self.drift * T + self.diffusion * derivative)

    @cached_property
    def gradient_factor(self) -> Polynomial:
        """c in F = -c U', so that G leaves exp(-(c/a) U) invariant; raises `Unreached` where F is another."""
        ring = self.ring
        place = ring.position("U", 0, (1,))
        found: dict[tuple[int, ...], Any] = {}
        for exponents, factor in self.drift.to_dict().items():
            rest = tuple(e - (k == place) for k, e in enumerate(exponents))
            if rest[place] != 0:
                raise Unreached("the drift that the scheme tends to is no multiple of the gradient")
            found[rest] = -factor
        value = ring.context.from_dict(found)
        if not value or not ring.depends_only_on_parameters(value):
            raise Unreached("the drift that the scheme tends to is no multiple of the gradient")
        return value


def expand_defects(scheme: Scheme, highest: int, parameters: Mapping[str, float]) -> Defects:
    """G and D_2, ..., D_highest of a scheme on the line with full gradients.

    A branch that depends on signs of parameters is the one at `parameters`. Raises `Unreached` where P_h has no
    expansion in whole powers of h around the identity, where the diffusion of G depends on the state, or where G differs
    between the branches of a definition.
    """
    try:
        branches = [
            found
            for _, found in on_every_branch(lambda signs: _on_branch(scheme, highest, signs, parameters))
        ]
    except NotExpandableError as error:
        raise Unreached(f"no expansion at h = 0: {error}") from None
    known = [found for found in branches if found is not None]
    if not known:
        raise Unreached("the parameters lie where a root of the definition changes its sign")
    first, *others = known
    if any(
        operator_text(one.generator, one.ring) != operator_text(first.generator, first.ring) for one in others
    ):
        raise Unreached(
            "what the scheme tends to as h -> 0 differs between the states on either side of a sign"
        )
    return replace(first, elsewhere=tuple(others))


def _on_branch(scheme: Scheme, highest: int, signs: Signs, parameters: Mapping[str, float]) -> Defects | None:
    """The operators of one branch; None where `parameters` exclude the branch."""
    # The adjoint differentiates coefficients as often as an operator does, 2 highest times.
    ring, transition = expand_step(scheme, 1, 2 * highest, signs=signs, further=2 * highest)
    roots = {
        ring.position("root", name): root_interval(Fraction(parameters[name])) for name in ring.parameters
    }
    of_state = []
    for key, f in ring.supposed.items():
        if not ring.depends_only_on_parameters(f):
            of_state.append((f, signs[key]))
        elif sign_of(f, ring, roots.__getitem__) != signs[key]:
            return None
    parts = [merge_minibatches(transition.at(j), ring) for j in range(2 * highest + 1)]
    parts = [difference(part, {}, ring) for part in parts]
    if parts[0] or parts[1]:
        raise Unreached("one step does not tend to the identity at the pace of a diffusion")
    if any(parts[3::2]):
        raise Unreached("the expansion has half powers of h")
    generator = parts[2]
    if set(generator) - {(1,), (2,)} or (2,) not in generator:
        raise Unreached("what the scheme tends to as h -> 0 is no diffusion")
    if not ring.depends_only_on_parameters(generator[(2,)]):
        raise Unreached("the diffusion that the scheme tends to depends on the state")
    exact = exponential(generator, ring, highest)
    operators = {}
    for k in range(2, highest + 1):
        left = difference(parts[2 * k], exact[k], ring)
        if left:
            operators[k] = left
    smooth = {k: o for k, o in operators.items() if all(is_smooth(c, ring) for c in o.values())}
    adjoints = {k: _adjoint_of_one(operator, generator, ring) for k, operator in smooth.items()}
    return Defects(
        highest,
        generator,
        operators,
        {k: v for k, v in adjoints.items() if v},
        ring,
        unread=frozenset(operators) - frozenset(smooth),
        where=tuple(of_state),
    )


def highest_adjoint_power(operator: Operator) -> int:
    """m in a^m D^* 1: the order of the operator."""
    return max(index[0] for index in operator)


def _adjoint_of_one(operator: Operator, generator: Operator, ring: Ring) -> Polynomial:
    """a^m sum_n (-1)^n (d + F/a)^n c_n for D = sum_n c_n d^n: partial integration against exp(int F/a)."""
    drift, diffusion = generator.get((1,), ring.zero), generator[(2,)]
    most = highest_adjoint_power(operator)
    total = ring.zero
    for (order,), coefficient in operator.items():
        value = coefficient
        for _ in range(order):
            value = diffusion * derivative(value, (1,), ring) + drift * value
        total = total + value * diffusion ** (most - order) * (-1) ** order
    return ring.reduce(total)


def values_of(ring: Ring, parameters: Mapping[str, Any], derivatives: Mapping[int, Any]) -> Values:
    """Values of polynomials in T, D, ... and U', U'', ...: `derivatives[j]` stands for U^(j), `parameters` by name.

    They raise `Unreached` where the state itself occurs.
    """

    def number(key: Key) -> Any:
        if key[0] == "root":
            return EXTENDED(parameters[key[1]]) ** EXTENDED(0.5)
        if key[0] == "U" and key[2][0] in derivatives:
            return derivatives[key[2][0]]
        raise Unreached(f"{ring.label(ring.position(*key))[0]} in the expansion stands for no number")

    return _TaylorValues(ring, by_key(ring, number), TAYLOR)


class _TaylorValues(Values):
    """Values whose products are dear: lower powers are kept."""

    def _raised(self, position: int, n: int) -> Any:
        return self._power(position, n - 1) * self._power(position, 1)


def _lifted(function: Any) -> Callable[[Any], Any]:
    return lambda value: function(value) if isinstance(value, Jet) else ARRAYS[function](value)


TAYLOR = ScalarKind(
    to_extended,
    _lifted(exp),
    _lifted(expm1),
    _lifted(sqrt),
    _lifted(log),
    _lifted(sin),
    _lifted(cos),
    _lifted(erf),
    lambda c: to_extended(to_fraction(c)),
)
"""Numbers of extended precision, and Taylor polynomials of them."""


@dataclass(frozen=True, eq=False)
class Diffusion:
    """G = a (-V' d + d^2) on a uniform grid: `points` (n,), `energy` the coefficients V^(k)/k! (K + 1, n), a a number.

    Functions are Taylor polynomials at every point, so their derivatives are exact; integrals over a cell take the
    polynomials of its two ends, each over its half.
    """

    points: np.ndarray
    energy: np.ndarray
    diffusion: Any

    @cached_property
    def weights(self) -> np.ndarray:
        """Quadrature weights of exp(-V), normalised: the trapezoid rule, which converges geometrically. Shape (n,)."""
        density = np.exp(self.energy[0].min() - self.energy[0])
        return np.asarray(density / density.sum())

    def mean(self, values: np.ndarray) -> Any:
        """The average of a grid function under exp(-V)."""
        return self.weights @ values

    def size(self, values: np.ndarray) -> float:
        """The average of a grid function's absolute value: the scale of its rounding."""
        return float(self.weights @ np.abs(values))

    def observed(self, observable: Observable, degree: int) -> Jet:
        """A test function of theta as Taylor polynomials."""
        c = np.zeros((degree + 1, len(self.points), 1), dtype=EXTENDED)
        c[0, :, 0] = self.points
        c[1] = 1
        return Jet(np.asarray(observable(Jet(c)).c))

    def centred(self, function: Jet) -> Jet:
        """The function less its average."""
        c = function.c.copy()
        c[0] -= self.mean(c[0])
        return Jet(c)

    def generate(self, function: Jet) -> Jet:
        """G f, of two degrees less."""
        first, second = differentiate(function), differentiate(function, 2)
        derivative = differentiate(Jet(self.energy))
        return plus(second, -times(derivative, first)) * self.diffusion

    def poisson_derivative(self, function: Jet) -> Jet:
        """psi' for G psi = -f, f of average 0: psi' = -(1/a) e^V int_(-inf)^x f e^-V.

        Integrated from either end to the middle of the mass, so that no large numbers cancel; higher
        coefficients follow from J' = f + V' J.
        """
        degree = len(function.c) - 1
        middle = int(np.searchsorted(np.cumsum(self.weights), 0.5))
        cells, ratios = self._cells(function)
        values = np.empty_like(self.points)
        derivative = self.energy[1]
        # Beyond the ends f varies slower than e^-V; the neglected integral is as small as the density there.
        values[0] = -function.c[0][0] / derivative[0] if derivative[0] < 0 else 0
        for i in range(middle):
            values[i + 1] = (values[i] + cells[i]) * ratios[i]
        after = function.c[0][-1] / derivative[-1] if derivative[-1] > 0 else EXTENDED(0)
        for i in range(len(values) - 2, middle, -1):
            values[i + 1] = -after
            after = cells[i] + after / ratios[i]
        values[middle + 1] = -after
        return self._continued(values, function, degree) * (-1 / self.diffusion)

    def primitive(self, derivative: Jet) -> np.ndarray:
        """A primitive on the grid, 0 at its first point. Shape (n,)."""
        half = (self.points[1] - self.points[0]) / 2
        steps = _half_integral(derivative.c[:, :-1], half, 1) + _half_integral(derivative.c[:, 1:], half, -1)
        return np.concatenate([np.zeros(1, dtype=EXTENDED), np.cumsum(steps)])

    def _cells(self, function: Jet) -> tuple[np.ndarray, np.ndarray]:
        """int f e^-(V - V_i) over the cell right of x_i, and e^(V_(i+1) - V_i). Shapes (n - 1,)."""
        half = (self.points[1] - self.points[0]) / 2
        relative = -self.energy[: len(function.c)]
        relative[0] = 0
        density = times(exp(Jet(relative)), function).c
        ratios = np.exp(np.diff(self.energy[0]))
        cells = _half_integral(density[:, :-1], half, 1) + _half_integral(density[:, 1:], half, -1) / ratios
        return cells, ratios

    def _continued(self, values: np.ndarray, function: Jet, degree: int) -> Jet:
        derivatives = differentiate(Jet(self.energy)).c
        rows = [values]
        for k in range(degree):
            rows.append((function.c[k] + sum(derivatives[j] * rows[k - j] for j in range(k + 1))) / (k + 1))
        return Jet(np.stack(rows))


def differentiate(function: Jet, times_over: int = 1) -> Jet:
    """The derivative, of one degree less each time."""
    c = function.c
    for _ in range(times_over):
        c = c[1:] * np.arange(1, len(c), dtype=EXTENDED)[:, None]
    return Jet(c)


def plus(left: Jet, right: Jet) -> Jet:
    """The sum, cut to the lower degree."""
    kept = min(len(left.c), len(right.c))
    return Jet(left.c[:kept] + right.c[:kept])


def times(left: Any, right: Any) -> Any:
    """The product, cut to the lower degree; a number is no polynomial and cuts nothing."""
    if isinstance(left, Jet) and isinstance(right, Jet):
        kept = min(len(left.c), len(right.c))
        return Jet(left.c[:kept]) * Jet(right.c[:kept])
    return left * right


def _half_integral(c: np.ndarray, half: Any, side: int) -> np.ndarray:
    """The integral over half a cell, to the right of its point or to the left: sum_k c_k (+-1)^k half^(k+1)/(k+1)."""
    weights = np.array([side**k * half ** (k + 1) / (k + 1) for k in range(len(c))], dtype=EXTENDED)
    return np.asarray(weights @ c)
