"""What minibatches add to a step, against every minibatch of small data sets and every outcome of the draws."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from math import factorial
from typing import Any

import pytest

from sgverify.checks import verify
from sgverify.configuration import load_configuration
from sgverify.exact.series.noise_terms import NoiseTerm, moment_name, noise_terms
from sgverify.schemes import LAWS, Scheme, find_scheme, langevin, scheme, sqrt
from sgverify.targets import Target, build_target
from tests.zoo.carriers import InS
from tests.zoo.schemes import euler_of_two_minibatches as fresh
from tests.zoo.schemes import heun
from tests.zoo.schemes import heun_of_two_minibatches as fresh_heun

MEANS = {"name": "gaussian-mean", "data": [[1.0], [2.0], [4.5], [-1.0]]}
LINES = {"name": "linear-regression", "data": [[1.0, 2.0], [2.0, 1.0], [0.5, -1.0]]}
PLACE, T = Fraction(1, 2), Fraction(1, 2)


@scheme(langevin)
def same(theta, *, h, grad, noise, T):
    """One minibatch, evaluated twice."""
    return theta - h / 2 * (grad(theta) + grad(theta)) + sqrt(2 * T * h) * noise()


def target_of(table: dict[str, Any]) -> Target:
    return build_target(load_configuration({"target": table}).target)


def _minibatches(size: int, batch: int, replaced: bool) -> Iterator[tuple[int, ...]]:
    return product(range(size), repeat=batch) if replaced else combinations(range(size), batch)


@pytest.mark.by_default(
    "sgld-euler-linear-regression",
    "same-linear-regression",
    "euler_of_two_minibatches-linear-regression",
    "heun-gaussian-mean",
    "heun-linear-regression",
)
@pytest.mark.parametrize("table", [MEANS, LINES], ids=lambda t: t["name"])
@pytest.mark.parametrize(
    "found", [find_scheme("sgld-euler"), same, fresh, heun, fresh_heun], ids=lambda s: s.name
)
def test_the_terms_are_what_all_minibatches_add(found: Scheme, table: Any) -> None:
    due = by_enumeration(found, target_of(table), 2)
    terms = noise_terms(found)
    assert by_terms(terms, target_of(table), 2) == due
    # V/2 in the place of V, and a forgotten third moment, are caught.
    for order in (2, 3):
        assert by_terms(terms, target_of(table), 2, halved=order) != due


def test_one_minibatch_twice_is_not_two_minibatches() -> None:
    assert [term.text for term in noise_terms(same, through=2)] == ["(h^2/2) V d_theta^2 f"]
    assert [term.text for term in noise_terms(fresh, through=2)] == ["(h^2/4) V d_theta^2 f"]
    assert any("g'" in term.name for term in noise_terms(heun, through=2))


def test_the_third_and_fourth_moments_enter_by_name() -> None:
    texts = [term.text for term in noise_terms(find_scheme("sgld-euler"))]
    assert texts[0] == "(h^2/2) V d_theta^2 f"
    assert "-(h^3/6) E g^3 d_theta^3 f" in texts and "(h^4/24) E g^4 d_theta^4 f" in texts
    assert moment_name((((1,), (1,)), ((1,), (1,)))) == "V^2"
    assert moment_name((((1,), (2,)),)) == "E[g g']"


def test_evidence_names_the_terms() -> None:
    (evidence, *_) = verify("sgld-euler", checks=["local-order"])
    shown = evidence.certificate["averaged_over_minibatches"]
    assert shown["leading"] == ["(h^2/2) V d_theta^2 f"] and "E g^3" in shown["first"]["E g^3"]


def rows_of(target: Target) -> list[tuple[Fraction, Fraction]]:
    """(H_i, y_i) of the deviation of a minibatch of datum i alone; H_i = 0 where all data share one Hessian."""
    rows = target.data_vectors()
    found = [(Fraction(0), row[1]) if target.common_curvature else tuple(row) for row in rows]
    means = [sum(column, Fraction(0)) / len(found) for column in zip(*found, strict=True)]
    return [(h - means[0], y - means[1]) for h, y in found]


def batches_of(target: Target, batch: int) -> list[tuple[Fraction, Fraction]]:
    """(slope, level) of g on every iid minibatch."""
    rows = rows_of(target)
    return [
        (sum(rows[i][0] for i in chosen) / batch, sum(rows[i][1] for i in chosen) / batch)
        for chosen in _minibatches(len(rows), batch, True)
    ]


class Gradient:
    """U' + g on the minibatches of one outcome, in the order in which they are used."""

    def __init__(self, target: Target, noises: list[Any], used: list[Any] | None = None) -> None:
        self.target, self.noises = target, noises
        self.used: list[Any] = [] if used is None else used
        self.mine: Any = None

    def fresh(self) -> Gradient:
        return Gradient(self.target, self.noises, self.used)

    def __call__(self, theta: InS) -> InS:
        if self.mine is None:
            self.mine = self.noises[len(self.used)]
            self.used.append(self.mine)
        slope, level = self.mine
        ((hessian,),), (pull,) = self.target.precision, self.target.gradient([Fraction(0)])
        return theta * (hessian + slope) + (pull + level)


def by_enumeration(found: Scheme, target: Target, batch: int) -> dict[tuple[int, int], Any]:
    """{(degree, power of h): what minibatches add to E X_1^degree}, degrees 1 to 4, powers 2 to 4."""
    batches = batches_of(target, batch)
    quiet = [[(Fraction(0), Fraction(0))] * 2]
    noisy = [list(pair) for pair in product(batches, repeat=found.minibatches)]
    total: dict[tuple[int, int], Any] = {}
    for sign, choices in ((1, noisy), (-1, quiet)):
        for chosen in choices:
            for value, chance in LAWS["three_point"].atoms:
                s = InS({1: Fraction(1)})
                draw = iter([value])
                (moved,) = found.step(
                    (InS({0: PLACE}),),
                    h=s * s,
                    grad=Gradient(target, chosen),
                    noise=lambda draw=draw: next(draw),
                    T=T,
                )
                power = InS({0: Fraction(1)})
                for degree in range(1, 5):
                    power = power * moved
                    for j in (2, 3, 4):
                        term = sign * chance * power.terms.get(2 * j, Fraction(0)) / len(choices)
                        total[degree, j] = total.get((degree, j), Fraction(0)) + term
    return total


def by_terms(
    terms: list[NoiseTerm], target: Target, batch: int, halved: int | None = None
) -> dict[tuple[int, int], Any]:
    """The same from the terms, with U, U', U'' and the moments at the place."""
    batches = batches_of(target, batch)
    ((hessian,),), (slope,) = target.precision, target.gradient([PLACE])

    def moment(family: Any) -> Fraction:
        value = Fraction(0)
        for g_slope, level in batches:
            product_of = Fraction(1)
            for (order,) in family:
                product_of *= {1: g_slope * PLACE + level, 2: g_slope}.get(order, Fraction(0))
            value += product_of
        return value / len(batches) / (2 if halved == len(family) else 1)

    total: dict[tuple[int, int], Any] = {(d, j): Fraction(0) for d in range(1, 5) for j in (2, 3, 4)}
    for term in terms:
        size = Fraction(1)
        for family in term.moments:
            size *= moment(family)
        for (derivative,), coefficient in term.operator.items():
            value = evaluated(coefficient, term, slope, hessian) * size
            for degree in range(max(1, derivative), 5):
                falling = Fraction(factorial(degree), factorial(degree - derivative))
                total[degree, int(term.power)] += value * falling * PLACE ** (degree - derivative)
    return total


def evaluated(coefficient: Any, term: NoiseTerm, slope: Fraction, hessian: Fraction) -> Fraction:
    """A coefficient of a quadratic potential at the place."""
    ring = term.ring
    known = {ring.position("theta", 0): PLACE}
    for index in ring.derivatives:
        known[ring.position("U", 0, index)] = {1: slope, 2: hessian}.get(sum(index), Fraction(0))
    total = Fraction(0)
    for exponents, factor in coefficient.to_dict().items():
        value = Fraction(int(factor.p), int(factor.q))
        for place, times in enumerate(exponents):
            if times:
                root = place == ring.position("root", "T")
                value *= T ** (int(times) // 2) if root else known[place] ** int(times)
        total += value
    return total
