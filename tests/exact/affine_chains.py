"""Random affine chains in exact fractions, whose noise is a discrete law with moments that are sums over its atoms."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from fractions import Fraction

from flint import arb_mat

from sgverify.exact.chain.chain import AffineChain, ChainProblem, QuadraticForm
from sgverify.exact.numbers.ball import column, matrix, number

Polynomial = dict[tuple[int, ...], Fraction]


@dataclass
class PlainChain:
    """x' = map x + shift + xi in fractions; the noise is atoms[i] with probability weights[i]."""

    map: list[list[Fraction]]
    shift: list[Fraction]
    atoms: list[list[Fraction]]
    weights: list[Fraction]
    start: list[Fraction]
    start_covariance: list[list[Fraction]] | None
    constant: Fraction
    linear: list[Fraction]
    quadratic: list[list[Fraction]]
    target: Fraction
    gaussian: bool = field(default=False)

    @property
    def size(self) -> int:
        return len(self.shift)

    def moment(self, *slots: int) -> Fraction:
        """E xi_i xi_j ...; of a Gaussian with the covariance of the atoms where `gaussian`."""
        if self.gaussian and len(slots) > 2:
            if len(slots) % 2:
                return Fraction(0)
            head, rest = slots[0], slots[1:]
            return sum(
                (
                    self.moment(head, rest[i]) * self.moment(*rest[:i], *rest[i + 1 :])
                    for i in range(len(rest))
                ),
                Fraction(0),
            )
        total = Fraction(0)
        for atom, weight in zip(self.atoms, self.weights, strict=True):
            for slot in slots:
                weight = weight * atom[slot]
            total += weight
        return total

    def cumulant(self, *slots: int) -> Fraction:
        """Joint cumulants of the centred noise up to order 4."""
        m = self.moment
        if len(slots) < 4:
            return m(*slots)
        i, j, k, l = slots
        return m(i, j, k, l) - m(i, j) * m(k, l) - m(i, k) * m(j, l) - m(i, l) * m(j, k)

    def tensor(self, order: int) -> arb_mat | None:
        if self.gaussian:
            return None
        n = self.size
        return arb_mat(
            n,
            n ** (order - 1),
            [number(self.cumulant(*s)) for s in itertools.product(range(n), repeat=order)],
        )

    def problem_at(self, bits: int) -> ChainProblem:
        n = self.size
        chain = AffineChain(
            map=matrix(self.map),
            shift=column(self.shift),
            covariance=matrix([[self.moment(i, j) for j in range(n)] for i in range(n)]),
            start_mean=column(self.start),
            start_covariance=None if self.start_covariance is None else matrix(self.start_covariance),
            third=self.tensor(3),
            fourth=self.tensor(4),
        )
        phi = QuadraticForm(number(self.constant), column(self.linear), matrix(self.quadratic))
        return ChainProblem(chain, phi, number(self.target))

    def phi(self) -> Polynomial:
        n = self.size
        poly: Polynomial = {(0,) * n: self.constant}
        for i in range(n):
            _add(poly, _unit(n, i), self.linear[i])
            for j in range(n):
                _add(
                    poly,
                    tuple(a + b for a, b in zip(_unit(n, i), _unit(n, j), strict=True)),
                    self.quadratic[i][j],
                )
        return poly


def random_chain(
    size: int,
    seed: int,
    *,
    gaussian: bool = False,
    start: str = "gaussian",
    radius: Fraction = Fraction(9, 10),
) -> PlainChain:
    """A stable chain with skewed discrete noise, or with Gaussian noise of the same covariance."""
    draw = random.Random(seed)

    def some() -> Fraction:
        return Fraction(draw.randint(-9, 9), 10)

    raw = [[some() for _ in range(size)] for _ in range(size)]
    widest = max(sum(abs(x) for x in row) for row in raw) or Fraction(1)
    weights = [Fraction(draw.randint(1, 5)) for _ in range(size + 2)]
    total = sum(weights)
    weights = [w / total for w in weights]
    atoms = [[some() for _ in range(size)] for _ in weights]
    centre = [sum(w * a[i] for w, a in zip(weights, atoms, strict=True)) for i in range(size)]
    root = [[some() for _ in range(size)] for _ in range(size)]
    spread = [[sum(a * b for a, b in zip(r, s, strict=True)) for s in root] for r in root]
    form = [[some() for _ in range(size)] for _ in range(size)]
    return PlainChain(
        map=[[radius * x / widest for x in row] for row in raw],
        shift=[some() for _ in range(size)],
        atoms=[[a[i] - centre[i] for i in range(size)] for a in atoms],
        weights=weights,
        start=[some() for _ in range(size)],
        start_covariance=spread if start == "gaussian" else None,
        constant=some(),
        linear=[some() for _ in range(size)],
        quadratic=[[form[i][j] + form[j][i] for j in range(size)] for i in range(size)],
        target=some(),
        gaussian=gaussian,
    )


def _unit(size: int, i: int) -> tuple[int, ...]:
    return tuple(int(k == i) for k in range(size))


def _add(poly: Polynomial, powers: tuple[int, ...], value: Fraction) -> None:
    poly[powers] = poly.get(powers, Fraction(0)) + value
