"""Which two quadrature rules integrate a step over its draws?

The two rules differ in nodes and degree. They follow from the step's dependence on each draw, examined along the whole axis
from -10 to 10 standard deviations:

- If the step is a polynomial of the draw (nearly linear, since a draw enters with sqrt(h)), Gauss' rules for the draw's law are
  exact; several draws use Smolyak's sum of such rules, the second rule rotated at random.
- Otherwise the axis is cut into panels that end at the jumps and kinks of the step (`panels`). A few nodes are chosen that
  reproduce the expectations of all products of the step's values along this draw (`exact.numbers.quadrature`). Thresholds,
  signs, clamps, uniform draws made of normal ones and normal draws made of uniform ones are integrated correctly.
- A choice among outcomes is enumerated.

A step that jumps along a combination of several draws is refused, and the error says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.polynomial import chebyshev

from sgverify.errors import Unreached
from sgverify.exact.numbers.panels import (
    Panels,
    UnresolvedError,
    first_points,
    resolve,
    rough_panels,
    smooth_on,
    whole_axis,
)
from sgverify.exact.numbers.quadrature import IncompressibleError, compressed, cubature, leading_functions
from sgverify.samplers.intercepted.replacing import DrawLaw, numbers_of, own_units

After = Callable[[np.ndarray], np.ndarray]
"""A step as a function of its normal numbers, shape (n, draws); the value X_1 has shape (n, coordinates)."""

GAUSSIAN = ("normal", "uniform", "exponential")

WITHIN = 8.0
"""The range, in standard deviations of a draw, on which the step is compared with a polynomial of the draw."""

POLYNOMIAL = 1e-6
"""The largest residual of such a polynomial, relative to the range of the step along the draw. A step that is smooth in
sqrt(h) z leaves about (sqrt(2 T h) WITHIN / 4)^8 h, 1e-12 at the smallest step size; a threshold leaves its whole height."""

BENT = 0.02
"""The largest residual of a straight line within 3 standard deviations. Terms that enter with h, and not with sqrt(h), leave
0.003 at the step size of this test. A cube or a cosine of a draw leaves more: Gauss' rules of the required degree are not exact
for it."""

FAINT = 1e-3
"""A variable that moves by less than this share of the square of the largest movement is curved by squared terms; its curvature
is ignored."""

ENUMERATED = 12
"""The most outcomes of one draw that are enumerated; of more outcomes a few are chosen, as for a draw on panels."""

TENSOR = 2, 1 / 8
"""A product rule, whose weights are positive, is used if it has at most this multiple of the nodes of Smolyak's sum, or at most
this share of the nodes that may be evaluated."""


@dataclass(frozen=True)
class QuadratureRule:
    """The nodes of a rule, normal numbers of shape (n, draws), and their weights, shape (n,)."""

    nodes: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class _Axis:
    """The step along one draw: coarse and fine panels with the step's values on them; empty if the step is a polynomial."""

    panels: tuple[tuple[Panels, np.ndarray], ...] = ()

    def nodes(self, degree: int, fine: bool, noise: float) -> tuple[np.ndarray, np.ndarray]:
        made, values = self.panels[fine]
        functions = leading_functions(values, made.weights, degree, noise)
        chosen, weights = compressed(functions, made.weights, degree)
        return made.nodes[chosen], weights


APART = np.array([-5.0, -1.1, 0.7, 5.0])
"""Values of a draw among which a step that depends on it shows that."""


class DrawRules:
    """The quadrature rules of a step `after` for its draws, made after examining the step along each draw.

    `laws` are the laws of the draws, `noise` bounds the rounding of X_1, and `most` is the number of evaluations of the step
    that are allowed. Without `thorough` fewer lines are examined, for steps that are expensive. With `straight` a draw counts
    as regular only if the step is nearly linear in it, as at a small step size, and `degrees` holds the degree of the rules;
    otherwise the degrees of the step as a polynomial of the draw, tried in turn: `degree` is the first at which every draw is
    regular, else the last. `cut` are panels that were found for some draws at another step size: where the step is smooth on
    them, they are taken.
    """

    def __init__(
        self,
        after: After,
        laws: Sequence[DrawLaw],
        *,
        noise: float,
        degrees: Sequence[int],
        most: int,
        thorough: bool = True,
        straight: bool = True,
        cut: Mapping[int, Panels] | None = None,
    ) -> None:
        self._after, self._noise, self._most, self._known = after, noise, most, cut or {}
        self._degrees, self.degree = tuple(degrees), degrees[-1]
        self.laws = tuple(laws)
        self._kept: dict[tuple[int, tuple[DrawLaw, ...]], tuple[QuadratureRule, QuadratureRule]] = {}
        self._free = [j for j, law in enumerate(laws) if not law.chances]
        self._choices = [j for j, law in enumerate(laws) if len(law.chances) > ENUMERATED]
        random = np.random.default_rng(20_101)
        self._bases = [random.standard_normal(len(laws)) for _ in range(2)]
        # Different lengths along the draws, so that the difference of two draws moves along the line too.
        sizes = np.linspace(1.0, 0.9, len(laws))
        self._lines = [sizes, sizes * (-1.0) ** np.arange(len(laws))][: 2 if thorough else 1]
        self._straight = straight
        self.axes = {j: self._chosen(j) for j in self._choices} | (self._look() if self._free else {})

    @property
    def irregular(self) -> tuple[int, ...]:
        """The indices of the draws of which the step is no polynomial."""
        return tuple(j for j, axis in self.axes.items() if axis.panels)

    @property
    def cut(self) -> dict[int, Panels]:
        """The panels of the draws whose axis was cut."""
        return {j: self.axes[j].panels[0][0] for j in self.irregular if j in self._free}

    def pair(
        self, degree: int, laws: Sequence[DrawLaw] | None = None
    ) -> tuple[QuadratureRule, QuadratureRule]:
        """A rule that is exact for polynomials of this degree, and a second rule of a higher degree."""
        laws = self.laws if laws is None else tuple(laws)
        if (degree, laws) not in self._kept:
            self._kept[degree, laws] = (self._rule(degree, laws, False), self._rule(degree + 2, laws, True))
        return self._kept[degree, laws]

    def _rule(self, degree: int, laws: Sequence[DrawLaw], second: bool) -> QuadratureRule:
        parts: list[tuple[list[int], np.ndarray, np.ndarray]] = []
        regular = [j for j in self._free if not self.axes[j].panels]
        # Smolyak's sum has nodes for all signs of all choices of degree/2 coordinates: counted before they are made.
        level = degree // 2
        if math.comb(len(regular), level) * 2**level > self._most:
            regular = [j for j in regular if j not in self._idle]
        if regular:
            self._refuse_more(math.comb(len(regular), level) * 2**level)
            kinds = tuple(laws[j].kind if laws[j].kind in GAUSSIAN else "normal" for j in regular)
            nodes, weights = _gaussian(kinds, degree, self._most)
            parts.append((regular, _rotated(nodes, kinds) if second else nodes, weights))
        for j, law in enumerate(laws):
            if j not in self.axes:
                z, w = numbers_of(law)
                parts.append(([j], z[:, None], w))
            elif self.axes[j].panels:
                if law != self.laws[j]:
                    raise Unreached(f"draw {j + 1} has {law.named}, whose chances depend on the step size")
                try:
                    z, w = self.axes[j].nodes(degree, not second, self._noise)
                except IncompressibleError:
                    raise Unreached(
                        f"what it makes of draw {j + 1} depends on the other draws in too many ways for a quadrature"
                    ) from None
                parts.append(([j], z[:, None], w))
        self._refuse_more(math.prod(len(weights) for _, _, weights in parts))
        nodes, weights = np.zeros((1, len(laws))), np.ones(1)
        for places, z, w in parts:
            nodes = np.repeat(nodes, len(w), axis=0)
            nodes[:, places] = np.tile(z, (len(weights), 1))
            weights = np.repeat(weights, len(w)) * np.tile(w, len(weights))
        return QuadratureRule(nodes, weights)

    @cached_property
    def _idle(self) -> set[int]:
        """The draws that change no bit of a step, such as those of a pool that are left for later steps."""
        along = [(j, base) for j in self._free for base in range(2)]
        values = self._evaluated([self._along(j, base, APART) for j, base in along])
        return set(self._free) - {
            j for (j, _), part in zip(along, values, strict=True) if np.ptp(part, axis=0).any()
        }

    def _refuse_more(self, count: int) -> None:
        if count > self._most:
            raise Unreached(
                f"a step makes {len(self.laws)} draws: {count} nodes would be needed, and {self._most} are evaluated at most"
            )

    def _look(self) -> dict[int, _Axis]:
        points = first_points()
        # The step may depend on a draw in another way at another outcome of a choice.
        bases = range(2 if len(self._free) < len(self.laws) else 1)
        kinds = {self.laws[j] for j in self._free}
        slanting = [self._slanting(line, base, points) for line in self._lines for base in bases]
        found = self._evaluated(slanting)
        along = [(j, base) for j in self._free for base in bases]
        values: np.ndarray | None = None
        odd: set[int] = set()
        for degree in self._degrees:
            self.degree = degree
            if len(kinds) == 1 and all(self._regular(next(iter(kinds)), points, part) for part in found):
                return {j: _Axis() for j in self._free}
            if values is None:
                values = self._evaluated([self._along(j, base, points) for j, base in along])
            odd = {
                j
                for (j, _), part in zip(along, values, strict=True)
                if not self._regular(self.laws[j], points, part)
            }
            if not odd:
                break
        axes = {j: _Axis() for j in self._free} | self._known_axes(sorted(odd & self._known.keys()))
        axes |= {j: self._cut(j) for j in sorted(odd) if not axes[j].panels}
        if any(len(rough_panels(part, self._noise)) for part in found):
            self._explain(axes, bases)
        return axes

    def _evaluated(self, lines: Sequence[np.ndarray]) -> np.ndarray:
        """X_1 at the points of some lines, shape (lines, points, coordinates)."""
        if sum(map(len, lines)) > self._most:
            raise Unreached(f"a step makes {len(self.laws)} draws: too many to look at what it makes of each")
        return self._after(np.concatenate(lines)).reshape(len(lines), len(lines[0]), -1)

    def _along(self, j: int, base: int, points: np.ndarray) -> np.ndarray:
        nodes = np.repeat(self._bases[base][None], len(points), axis=0)
        nodes[:, j] = points
        return nodes

    def _slanting(self, line: np.ndarray, base: int, points: np.ndarray) -> np.ndarray:
        nodes = np.repeat(self._bases[base][None], len(points), axis=0)
        nodes[:, self._free] = points[:, None] * line[self._free]
        return nodes

    def _regular(self, law: DrawLaw, points: np.ndarray, values: np.ndarray) -> bool:
        """Is the step a polynomial of the draw and, with `straight`, nearly linear in it?"""
        if law.kind not in GAUSSIAN:
            return not np.ptp(values, axis=0).max() > 4 * self._noise
        if len(rough_panels(values, self._noise)):
            return False
        x = own_units(law, points)
        size = float(np.ptp(values, axis=0).max(initial=0.0))
        tests = ((WITHIN, self.degree, POLYNOMIAL), (3.0, 1, BENT))
        for reach, degree, share in tests[: 2 if self._straight else 1]:
            kept = np.abs(points) <= reach
            at = 2 * (x[kept] - x[kept].min()) / np.ptp(x[kept]) - 1
            # Each coordinate has a curvature of its own; that of the smallest coordinate may be rounding.
            table = chebyshev.chebvander(at, degree)
            left = values[kept] - table @ np.linalg.lstsq(table, values[kept], rcond=None)[0]
            sizes = np.maximum(np.ptp(values[kept], axis=0), FAINT * size**2) if degree == 1 else size
            if (np.abs(left).max(axis=0) > share * sizes + 4 * self._noise).any():
                return False
        return True

    def _section(self, j: int, base: int) -> Callable[[np.ndarray], np.ndarray]:
        return lambda points: self._after(self._along(j, base, points))

    def _known_axes(self, draws: Sequence[int]) -> dict[int, _Axis]:
        """The axes of those of these draws on whose known panels the step is smooth; all are looked at in one call."""
        panels = {j: (self._known[j], self._known[j].halved()) for j in draws}
        tables = [self._along(j, base, part.nodes) for j in draws for part in panels[j] for base in range(2)]
        if not tables or sum(map(len, tables)) > self._most:
            return {}
        ends = np.cumsum([len(table) for table in tables])[:-1]
        values = iter(np.split(self._after(np.concatenate(tables)), ends))
        found = {}
        for j in draws:
            pairs = [(part, next(values), next(values)) for part in panels[j]]
            if all(part.fit(value, noise=self._noise) for part, *both in pairs for value in both):
                made = [
                    (replace(part, values=one), np.concatenate([one, two], axis=1))
                    for part, one, two in pairs
                ]
                found[j] = _Axis(tuple(made))
        return found

    def _cut(self, j: int) -> _Axis:
        try:
            panels = resolve(self._section(j, 0), noise=self._noise, most=10 * self._most)
        except UnresolvedError:
            raise Unreached(
                f"it jumps or bends at so many values of draw {j + 1} that they are not told apart"
            ) from None
        if len(self.laws) > 1 and not smooth_on([panels], self._section(j, 1), noise=self._noise):
            raise Unreached(
                f"where it jumps or bends in draw {j + 1} depends on its other draws: no quadrature here stands for that"
            )
        made = []
        for part in (panels, panels.halved()):
            values = np.concatenate([self._section(j, base)(part.nodes) for base in range(2)], axis=1)
            made.append((part, values))
        return _Axis(tuple(made))

    def _chosen(self, j: int) -> _Axis:
        """The axis of a choice among many outcomes, each of which is a node."""
        nodes, weights = numbers_of(self.laws[j])
        values = np.concatenate([self._section(j, base)(nodes) for base in range(2)], axis=1)
        every = Panels(nodes, weights, values, np.zeros((0, 2)), np.zeros(0, dtype=bool))
        return _Axis(((every, values), (every, values)))

    def _explain(self, axes: dict[int, _Axis], bases: Sequence[int]) -> None:
        """Raise `Unreached` if the step jumps or bends along a slanting line, but along no single draw."""
        for line in self._lines:
            parts = [
                whole_axis(),
                *(
                    axis.panels[0][0].scaled(1 / line[j])
                    for j, axis in axes.items()
                    if axis.panels and j in self._free
                ),
            ]
            for base in bases:
                section = partial(self._on, line, base)
                if not smooth_on(parts, section, noise=self._noise):
                    raise Unreached(
                        "it jumps or bends where several of its draws together say so: no quadrature here stands for that"
                    )

    def _on(self, line: np.ndarray, base: int, points: np.ndarray) -> np.ndarray:
        return self._after(self._slanting(line, base, points))


def _gaussian(kinds: tuple[str, ...], degree: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = cubature(kinds, degree)
    count = degree // 2 + 1
    if count ** len(kinds) > max(TENSOR[0] * len(weights), TENSOR[1] * most):
        return nodes, weights
    rules = [cubature((kind,), degree) for kind in kinds]
    return product_rule([(z[:, 0], w) for z, w in rules])


def product_rule(rules: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes, shape (n, rules), and weights of the product of rules of one coordinate each."""
    nodes, weights = (np.meshgrid(*parts, indexing="ij") for parts in zip(*rules, strict=True))
    return np.stack([part.reshape(-1) for part in nodes], axis=1), np.prod(weights, axis=0).reshape(-1)


def _rotated(nodes: np.ndarray, kinds: Sequence[str]) -> np.ndarray:
    """The nodes of normal draws, rotated about the origin by a generic rotation."""
    normal = [k for k, kind in enumerate(kinds) if kind == "normal"]
    if len(normal) < 2:
        return nodes
    random = np.random.default_rng(48_271)
    rotation, _ = np.linalg.qr(random.standard_normal((len(normal), len(normal))))
    turned = nodes.copy()
    turned[:, normal] = nodes[:, normal] @ rotation.T
    return turned
