"""The mean field of an adaptively weighted sampler under its piecewise law, read from the rules that run.

Under varpi ~ pi_tau/theta^zeta(J) (awsgld (23)) the region J has the chance p_J theta(J)^-zeta/Z, and h_i(theta) is the average
of the random field over J: sums of finitely many terms, exact in fractions wherever zeta is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import flint
from flint import acb_mat, arb, arb_series

import sgverify.exact.enclosure.carrier  # noqa: F401  balls and series of balls learn exp and log
from sgverify.exact.ball import number
from sgverify.exact.partition.fixed_point import BITS
from sgverify.schemes.composites import weighting


@dataclass(frozen=True)
class Adaptation:
    """Which random field: the indicator, and what pulls.

    `cumulates`: the indicator of AWSGLD, 1{i >= J}, else that of CSGLD, 1{i = J}. `tempered`: the field is pulled by
    theta(J)^zeta, as in CSGLD, else by theta(J), as in AWSGLD.
    """

    cumulates: bool = True
    tempered: bool = False

    def indicator(self, i: int, region: int) -> Any:
        """The indicator of one region, as it runs."""
        rule: Callable[[Any, Any], Any] = weighting.reached if self.cumulates else weighting.visited
        return rule(i, region)

    def field(self, weights: Sequence[Any], region: int, zeta: Any) -> list[Any]:
        """H(theta, J), J = 1, ..., m. Shape (m,) -> (m,)."""
        here = weights[region - 1]
        pull = weighting.importance(here, zeta=zeta) if self.tempered else here
        return [
            weighting.random_field(pull, self.indicator(i, region), weight)
            for i, weight in enumerate(weights, start=1)
        ]


AWSGLD = Adaptation()
CSGLD = Adaptation(cumulates=False, tempered=True)


def region_chances(weights: Sequence[Any], masses: Sequence[Any], zeta: Any) -> list[Any]:
    """The chances p_J theta(J)^-zeta/Z of the regions under the piecewise law (awsgld (23)). Shape (m,) -> (m,)."""
    parts = [p / weighting.importance(w, zeta=zeta) for p, w in zip(masses, weights, strict=True)]
    total = sum(parts[1:], parts[0])
    return [part / total for part in parts]


def mean_field(
    weights: Sequence[Any], masses: Sequence[Any], zeta: Any, adaptation: Adaptation = AWSGLD
) -> list[Any]:
    """h(theta) = E H(theta, J) under the piecewise law; exact in the arithmetic of its arguments. Shape (m,) -> (m,)."""
    chances = region_chances(weights, masses, zeta)
    fields = [adaptation.field(weights, region, zeta) for region in range(1, len(weights) + 1)]
    return [
        sum((c * row[i] for c, row in zip(chances[1:], fields[1:], strict=True)), chances[0] * fields[0][i])
        for i in range(len(weights))
    ]


def jacobian(
    weights: Sequence[Any], masses: Sequence[Any], zeta: Any, adaptation: Adaptation = AWSGLD
) -> list[list[arb]]:
    """d h_i/d theta(j), from the mean field read on power series. Shape (m,) -> (m, m)."""
    with flint.ctx.workprec(BITS):
        columns = []
        for j in range(len(weights)):
            moved = [arb_series([number(w), int(i == j)], 2) for i, w in enumerate(weights)]
            found = mean_field(moved, [arb_series([number(p)], 2) for p in masses], zeta, adaptation)
            columns.append([arb(series[1]) for series in found])
        return [list(row) for row in zip(*columns, strict=True)]


def slowest_decay(matrix: Sequence[Sequence[arb]]) -> arb:
    """The largest real part among the eigenvalues, enclosed: below 0 the point is stable."""
    with flint.ctx.workprec(BITS):
        found = [value.real for value in acb_mat([list(row) for row in matrix]).eig(multiple=True)]
        return max(found, key=lambda value: float(value.upper()))


def agreement(weights: Sequence[Any], star: Sequence[Any], field: Sequence[Any]) -> Any:
    """<h(theta), theta - theta*>, which lemma 1 wants below -phi |theta - theta*|^2."""
    parts = [h * (w - s) for h, w, s in zip(field, weights, star, strict=True)]
    return sum(parts[1:], parts[0])


def squared_distance(weights: Sequence[Any], star: Sequence[Any]) -> Any:
    """|theta - theta*|^2."""
    parts = [(w - s) ** 2 for w, s in zip(weights, star, strict=True)]
    return sum(parts[1:], parts[0])
