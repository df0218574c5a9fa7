"""The affine reading of one injected step: M X_0 + c + sum_k B_k (noise)_k.

The formula reading of one injected step: the printed text is executed in place of the definition.

The power-series reading of expectations: normal-ordered operators, their symbols given the target's numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import factorial
from typing import Any

from flint import arb, arb_mat

from sgverify.exact.affine.carrier import AffineStep, Base, read_affine
from sgverify.exact.affine.field import Scalar
from sgverify.exact.affine.matrices import as_ball, longest, powers_of, stacked
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import BALLS
from sgverify.exact.readings.formula import define, formula
from sgverify.exact.rings.evaluation import Values, by_key
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.averaging import Moments, average
from sgverify.exact.series.local_order import expand_step
from sgverify.exact.series.operators import Operator
from sgverify.schemes import exact
from sgverify.schemes.loading import load_scheme
from sgverify.schemes.scheme import Scheme, make_scheme
from sgverify.testing.conformance.suite import Case
from tests.testing.conformance.expansion import Expectation, Monomial


def affine_step(case: Case) -> dict[str, Sequence[Any]]:
    """The state after the step, in balls."""
    scheme, target = case.scheme, case.target
    given = {name: Scalar(BALLS, ball.number(value)) for name, value in case.parameters.items()}
    given["h"] = Scalar(BALLS, ball.number(exact(case.step)))
    read = read_affine(scheme, given, each_evaluation=case.gradient.estimator.each_evaluation)
    values: dict[Base, list[Any]] = {
        ("state", name): [Fraction(x) for x in case.state[name]] for name in scheme.state
    }
    values["mean", 0], values["ones", 0] = list(target.mean), [1] * target.dim
    values |= {("noise", k): [Fraction(x) for x in draw] for k, draw in enumerate(case.draws)}
    values |= {("gradient", k): list(case.noise_of(k, k)) for k in range(read.gradients)}
    return _applied(read, values, ball.matrix(target.precision))


def _applied(read: AffineStep, values: dict[Base, list[Any]], precision: arb_mat) -> dict[str, Sequence[Any]]:
    names, dim = list(read.rows), precision.nrows()
    powers = powers_of(precision, ball.identity(dim), longest(read))
    total = arb_mat(dim * len(names), 1)
    for base, vector in values.items():
        total = total + stacked(read, names, [base], powers, as_ball, arb_mat) * ball.column(vector)
    entries = total.entries()
    return {name: entries[i * dim : (i + 1) * dim] for i, name in enumerate(names)}


def formula_step(case: Case) -> dict[str, Sequence[Any]]:
    """The state after the step that the printed formula takes, in balls."""
    values = replace(case, scheme=printed(case.scheme)).expected()
    return {name: [number.value for number in numbers] for name, numbers in values.items()}


def printed(scheme: Scheme) -> Scheme:
    """The scheme that the text of `formula(scheme)` defines."""
    text = formula(scheme)
    name = text.split("(", 1)[0].removeprefix("def ")
    return make_scheme(define(text, name), scheme.dynamics, memory=scheme.memory)


def series_expansion(case: Expectation) -> dict[Monomial, list[arb]]:
    """E f(X_1) = sum_a c_a d^a f, with U' = P (x - mu), U'' = P and E[W' W'^T] = V; other moments meet no quadratic."""
    dim = case.subject.target.dim
    ring, parts = _averaged(case.subject.scheme, case.subject.reference, dim, case.orders)
    numbers = _Numbers(case, ring)
    found = {}
    for exponents in case.monomials:
        values = [_monomial(case.state, exponents)]
        for j in range(1, case.orders + 1):
            total = arb(0)
            for moments, operator in parts[j].items():
                weight = numbers.moment(moments)
                if weight != 0:
                    total += weight * numbers.applied(operator, exponents)
            values.append(total)
        found[exponents] = values
    return found


def _averaged(
    scheme: Scheme, reference: str, dim: int, orders: int
) -> tuple[Ring, list[dict[Moments, Operator]]]:
    if reference and ":" not in reference:
        return _kept(reference, dim, orders)
    return _read(scheme, dim, orders)


@lru_cache(maxsize=256)
def _kept(reference: str, dim: int, orders: int) -> tuple[Ring, list[dict[Moments, Operator]]]:
    return _read(load_scheme(reference), dim, orders)


def _read(scheme: Scheme, dim: int, orders: int) -> tuple[Ring, list[dict[Moments, Operator]]]:
    ring, transition, _ = expand_step(scheme, dim, 2 * orders)
    return ring, [average(transition.at(2 * j), ring) if j else {} for j in range(orders + 1)]


class _Numbers:
    """The numbers that the ring's symbols stand for."""

    def __init__(self, case: Expectation, ring: Ring) -> None:
        self._case, self._ring = case, ring
        subject = case.subject
        target, dim = subject.target, subject.target.dim
        known: dict[Any, arb] = {
            key: ball.number(x) for key, x in zip(ring.coordinates, case.state, strict=False)
        }
        for index in ring.derivatives:
            places = [i for i, times in enumerate(index) for _ in range(times)]
            value = Fraction(0)
            if len(places) == 1:
                row = target.precision[places[0]]
                value = sum((row[j] * (case.state[j] - target.mean[j]) for j in range(dim)), Fraction(0))
            elif len(places) == 2:
                value = target.precision[places[0]][places[1]]
            known["U", 0, index] = ball.number(value)
        parameters = {name: ball.number(value) for name, value in subject.model.parameters.items()}
        self._value = Values(ring, by_key(ring, known.__getitem__), BALLS, parameters)

    def moment(self, moments: Moments) -> arb:
        """E of the noise: V for two first derivatives; a gradient's noise here has no derivative of its own."""
        covariance, total = self._case.subject.noise.covariance, arb(1)
        for family in moments:
            if covariance is None or any(sum(index) != 1 for index in family) or len(family) != 2:
                return arb(0)
            i, j = (index.index(1) for index in family)
            total *= arb(covariance[i, j])
        return total

    def applied(self, operator: Operator, exponents: Monomial) -> arb:
        """The operator applied to a monomial, at the state."""
        total = arb(0)
        for index, value in operator.items():
            left = tuple(n - k for n, k in zip(exponents, index, strict=True))
            if min(left) < 0:
                continue
            weight = 1
            for n, k in zip(exponents, left, strict=True):
                weight *= factorial(n) // factorial(k)
            total += self._value(self._ring.reduce(value)) * weight * _monomial(self._case.state, left)
        return total


def _monomial(state: tuple[Fraction, ...], exponents: Monomial) -> arb:
    value = Fraction(1)
    for x, power in zip(state, exponents, strict=True):
        value *= x**power
    return ball.number(value)


__all__ = ["affine_step", "formula_step", "printed", "series_expansion"]
