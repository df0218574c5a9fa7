"""Posterior averages: sympy's derivation against the conjugate formulas and Isserlis' theorem."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from sgverify.configuration import TargetTable
from sgverify.exact.posterior.polynomials import posterior_average
from sgverify.strategies import observables, targets, temperatures
from sgverify.targets import build_target, parse_observable
from sgverify.testing import examples


@st.composite
def questions(draw: Any) -> tuple[TargetTable, str, float]:
    table = draw(targets(dims=[1, 1, 2, 3, 5]))
    dim = build_target(table).dim
    text = draw(observables(dim=dim, state=("theta", "p"), degree=4 if dim == 1 else 2))
    return table, text, draw(temperatures())


@settings(max_examples=examples(40))
@given(questions())
def test_posterior_averages_are_gaussian_moments(question: tuple[TargetTable, str, float]) -> None:
    table, text, temperature = question
    target = build_target(table)
    observable = parse_observable(text, target.dim)
    mean, covariance = gaussian_law(table, target.dim, Fraction(repr(temperature)))
    due = sum(
        (c * moment(exponents, mean, covariance) for exponents, c in observable.terms.items()), Fraction(0)
    )
    assert posterior_average(target, observable, temperature) == due


def gaussian_law(
    table: TargetTable, d: int, temperature: Fraction
) -> tuple[list[Fraction], list[list[Fraction]]]:
    """Bishop 2006, (2.113) to (2.117): precision Q + N R, mean its inverse times Q m + R sum x; p is N(0, T I)."""
    if table.name == "gaussian":
        precision, centre = matrix(table.precision, d), vector(table.mean, d)
        pull = precision * centre
    else:
        prior, noise = matrix(table.prior_precision, d), matrix(table.noise_precision, d)
        assert table.data is not None
        rows = [row if isinstance(row, list) else [row] for row in table.data]
        # Data are float64 numbers, not the decimals that they print as.
        total = fmpq_mat(d, 1, [sum((rational(Fraction(row[i])) for row in rows), fmpq(0)) for i in range(d)])
        precision = prior + noise * len(rows)
        pull = prior * vector(table.prior_mean, d) + noise * total
    mean = precision.solve(pull)
    inverse = precision.inv()
    zero = Fraction(0)
    covariance = [[zero] * (2 * d) for _ in range(2 * d)]
    for i in range(d):
        covariance[d + i][d + i] = temperature
        for j in range(d):
            covariance[i][j] = temperature * fraction(inverse[i, j])
    return [*(fraction(m) for m in mean.entries()), *([zero] * d)], covariance


def moment(exponents: tuple[int, ...], mean: list[Fraction], covariance: list[list[Fraction]]) -> Fraction:
    """E of a monomial: the sum over all ways to leave factors at their mean and to pair the others."""
    places = [i for i, power in enumerate(exponents) for _ in range(power)]

    def over(rest: list[int]) -> Fraction:
        if not rest:
            return Fraction(1)
        first, others = rest[0], rest[1:]
        total = mean[first] * over(others)
        for k, other in enumerate(others):
            total += covariance[first][other] * over(others[:k] + others[k + 1 :])
        return total

    return over(places)


def matrix(value: Any, d: int) -> fmpq_mat:
    if not isinstance(value, list):
        value = [value] * d
    if not isinstance(value[0], list):
        value = [[x if i == j else 0 for j in range(d)] for i, x in enumerate(value)]
    return fmpq_mat([[rational(Fraction(repr(x))) for x in row] for row in value])


def vector(value: Any, d: int) -> fmpq_mat:
    values = value if isinstance(value, list) else [value] * d
    return fmpq_mat(d, 1, [rational(Fraction(repr(x))) for x in values])


def rational(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))
