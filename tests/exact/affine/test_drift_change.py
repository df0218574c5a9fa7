"""The limit of the bias under a changed drift: series against closed forms, by remainders in exact fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
from flint import arb, fmpq, fmpq_mat

from sgverify import scheme, sqrt
from sgverify.configuration import load_configuration
from sgverify.errors import NotExpandableError
from sgverify.exact.affine.expanded_step import DriftChange, limit_bias
from sgverify.exact.affine.model import Model
from sgverify.exact.rings.polynomials import to_fmpq
from sgverify.schemes import kinetic, langevin
from sgverify.subject.binding import make_subject
from sgverify.targets import build_target
from sgverify.targets.derived import with_scaled_likelihood
from tests.zoo.schemes import forgot

WIDE = {
    "dim": 2,
    "data": [[0.5, -1.0], [2.0, 0.25], [-3.0, 4.0]],
    "prior_precision": [[3.0, 1.0], [1.0, 2.0]],
    "noise_precision": [[2.0, -0.5], [-0.5, 1.0]],
    "prior_mean": [1.0, -1.0],
}
LINE = {"data": [0.5, -0.25, 2.0], "prior_precision": 2.0, "prior_mean": -1.0}


def model(name: object, target: dict, test_function: str, **keys: object) -> Model:
    tree = {"target": target, "test_function": test_function, "temperature": 0.5, **keys}
    return make_subject(name, load_configuration(tree)).model


def at(found: Model, factor: Fraction) -> Model:
    """The same with the likelihood's gradient scaled."""
    assert found.judged is not None
    return replace(found, target=with_scaled_likelihood(found.judged, factor))


def unit(found: Model) -> DriftChange:
    return DriftChange.between(found.target, at(found, Fraction(2)).target)


CASES = [
    ("sgld-euler", LINE, "theta**2"),
    ("sgld-euler", LINE, "theta**3 - theta"),
    ("sghmc-aboba", LINE, "theta**4 + p**2*theta"),
    ("sgld-euler", WIDE, "theta[0]*theta[1]"),
    ("sghmc-euler", WIDE, "theta[0]**2*theta[1]"),
]


def gaussian_moment(name: str, mean: list[fmpq], spread: list[list[fmpq]], width: fmpq) -> fmpq:
    """E of the test functions above under N(mean, spread) and an independent p ~ N(0, width), written out."""
    m, s = mean, spread
    if name == "theta**2":
        return m[0] ** 2 + s[0][0]
    if name == "theta**3 - theta":
        return m[0] ** 3 + 3 * m[0] * s[0][0] - m[0]
    if name == "theta**4 + p**2*theta":
        return m[0] ** 4 + 6 * m[0] ** 2 * s[0][0] + 3 * s[0][0] ** 2 + width * m[0]
    if name == "theta[0]*theta[1]":
        return m[0] * m[1] + s[0][1]
    return m[0] ** 2 * m[1] + m[1] * s[0][0] + 2 * m[0] * s[0][1]


def closed_form(target: dict, name: str, factor: fmpq) -> fmpq:
    """Prior precision Q, data precision R: precision Q + s N R, pull Q m + s R sum x; T = 1/2."""
    d = target.get("dim", 1)
    data = [row if isinstance(row, list) else [row] for row in target["data"]]

    def matrix(value: object) -> fmpq_mat:
        rows = value if isinstance(value, list) else [[value]]
        return fmpq_mat([[to_fmpq(Fraction(x)) for x in row] for row in rows])

    def column(values: object) -> fmpq_mat:
        entries = values if isinstance(values, list) else [values]
        return fmpq_mat(d, 1, [to_fmpq(Fraction(x)) for x in entries])

    prior, noise = matrix(target["prior_precision"]), matrix(target.get("noise_precision", 1.0))
    total = column([sum(Fraction(row[k]) for row in data) for k in range(d)])
    precision = prior + noise * (factor * len(data))
    mean = precision.inv() * (prior * column(target["prior_mean"]) + noise * total * factor)
    spread = (precision.inv() * fmpq(1, 2)).tolist()
    return gaussian_moment(name, mean.entries(), spread, fmpq(1, 2))


@pytest.mark.parametrize(("name", "target", "test_function"), CASES)
def test_the_series_leaves_a_remainder_of_the_next_order(name: str, target: dict, test_function: str) -> None:
    found = model(name, target, test_function)
    series = limit_bias(found, unit(found), 3).coefficients
    assert series[0] == 0 and all(isinstance(c, fmpq) for c in series) and series[1] != 0
    rests = []
    for size in (10**6, 10**9):
        delta = fmpq(1, size)
        exact = closed_form(target, test_function, 1 + delta) - closed_form(target, test_function, fmpq(1))
        rest = exact - sum((c * delta**k for k, c in enumerate(series)), fmpq(0))
        rests.append(rest / delta**4)
    # Both are the coefficient of delta^4, up to one more delta.
    assert abs(float(arb(rests[0] / rests[1]).mid()) - 1) < 1e-4 and rests[1] != 0


@pytest.mark.parametrize(("name", "target", "test_function"), CASES)
@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(7, 4)])
def test_the_limit_at_a_factor_is_exact(
    name: str, target: dict, test_function: str, factor: Fraction
) -> None:
    found = at(model(name, target, test_function), factor)
    (limit,) = limit_bias(found, unit(found), 0).coefficients
    assert limit == closed_form(target, test_function, to_fmpq(factor)) - closed_form(
        target, test_function, fmpq(1)
    )


def test_noise_of_the_gradient_does_not_reach_the_limit() -> None:
    limits = []
    for gradient in ({"kind": "full"}, {"kind": "iid", "batch": 1}, {"kind": "additive", "covariance": 9.0}):
        found = model("sghmc-aboba", LINE, "theta**2", gradient=gradient)
        limits.append(limit_bias(found, unit(found), 2).coefficients)
    assert limits[0] == limits[1] == limits[2]


@scheme(langevin)
def bent(theta, *, h, grad, noise, T):
    """A drift of second order in the gradient's own map: P^2 enters at h."""
    return theta - h * grad(theta - grad(theta) / 100) + sqrt(2 * T * h) * noise()


def test_powers_of_the_precision_are_followed() -> None:
    """With x = P(s)(1 - P(s)/100) in the place of P(s): the variance is T/x, its derivative by hand."""
    flat = {"data": [0.0, 0.0, 0.0], "prior_precision": 2.0}
    found = model(bent, flat, "theta**2")
    series = limit_bias(found, unit(found), 1).coefficients
    # P = 2 + 3 s: x(5) = 19/4, dx/ds = 3 - 3/10 = 27/10; the posterior's own variance is 1/10.
    assert series[0] == fmpq(1, 2) / fmpq(19, 4) - fmpq(1, 10)
    assert series[1] == -fmpq(1, 2) * fmpq(27, 10) / fmpq(19, 4) ** 2


@scheme(kinetic)
def irrational(theta, p, *, h, grad, noise, D, T):
    p = p - sqrt(3) * h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p


def test_irrational_steps_are_balls() -> None:
    """sqrt(3) U in the place of U: variance T/(sqrt(3) P)."""
    found = model(irrational, {"data": [0.0], "prior_precision": 1.0}, "theta**2")
    series = limit_bias(found, unit(found), 1)
    assert not series.exact
    assert arb(series.coefficients[0]).overlaps(1 / (4 * arb(3).sqrt()) - arb(1) / 4)
    assert arb(series.coefficients[1]).overlaps(-1 / (8 * arb(3).sqrt()))


def test_a_step_without_expansion_is_refused() -> None:
    found = model(forgot, LINE, "theta**2")
    with pytest.raises(NotExpandableError):
        limit_bias(found, unit(found), 1)


def test_changes_are_differences_of_gradients() -> None:
    one = build_target(SimpleNamespace(name="gaussian-mean", **LINE))
    other = with_scaled_likelihood(one, Fraction(3, 2))
    change = DriftChange.between(one, other)
    theta = (Fraction(1, 3),)
    assert change.at(theta) == (other.gradient(theta)[0] - one.gradient(theta)[0],)
    assert not change.vanishes and DriftChange.between(one, one).vanishes
    # Half the likelihood's gradient, whose precision is 3 and whose pull is sum x.
    assert change.at(theta) == (Fraction(1, 2) * (3 * theta[0] - Fraction(9, 4)),)
