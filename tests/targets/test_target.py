"""What is derived from a potential, against textbook formulas in numpy and against planted bugs.

The formulas here are the oracle: the library may not know them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgverify.errors import ConfigurationError, DefinitionError
from sgverify.schemes import dot, sqrt
from sgverify.targets import Target, Vector, build_target, constant
from sgverify.targets.target import check_finite
from tests.tables import each_row


@st.composite
def precisions(draw: st.DrawFn, dim: int) -> Any:
    """A precision in one of the three shapes; the matrices are diagonally dominant."""
    shape = draw(st.sampled_from(["number", "list", "matrix"]))
    positive = st.integers(1, 400).map(lambda k: k / 100)
    if shape == "number":
        return draw(positive)
    diagonal = draw(st.lists(positive, min_size=dim, max_size=dim))
    if shape == "list":
        return diagonal
    matrix = [[0.0] * dim for _ in range(dim)]
    for i in range(dim):
        for j in range(i):
            matrix[i][j] = matrix[j][i] = draw(st.integers(-100, 100)) / 100
    for i in range(dim):
        matrix[i][i] = diagonal[i] + dim
    return matrix


@st.composite
def configurations(draw: st.DrawFn) -> SimpleNamespace:
    dim, size = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    number = st.integers(-300, 300).map(lambda k: k / 100)
    data = st.lists(st.lists(number, min_size=dim, max_size=dim), min_size=size, max_size=size)
    return SimpleNamespace(
        name="gaussian-mean",
        dim=dim,
        data=draw(data),
        prior_precision=draw(precisions(dim)),
        noise_precision=draw(precisions(dim)),
        prior_mean=draw(st.one_of(number, st.lists(number, min_size=dim, max_size=dim))),
    )


def as_matrix(value: Any, dim: int) -> np.ndarray:
    array = np.asarray(value, dtype=float)
    return array if array.ndim == 2 else np.diag(np.broadcast_to(array, (dim,)))


def textbook(written: SimpleNamespace) -> tuple[np.ndarray, np.ndarray]:
    """Precision and mean of the conjugate posterior (e.g. Bishop 2006, equations 2.141 and 2.142)."""
    prior, noise = (
        as_matrix(written.prior_precision, written.dim),
        as_matrix(written.noise_precision, written.dim),
    )
    start = np.broadcast_to(np.asarray(written.prior_mean, dtype=float), (written.dim,))
    data = np.asarray(written.data, dtype=float)
    precision = prior + len(data) * noise
    return precision, np.linalg.solve(precision, prior @ start + noise @ data.sum(axis=0))


def agrees(target: Target, written: SimpleNamespace) -> bool:
    precision, mean = textbook(written)
    # Entries below 100, N <= 12, dim <= 4 and condition numbers below 1e3 leave float64 ten digits.
    close = np.allclose(target.precision_float64(), precision, rtol=1e-10, atol=1e-10)
    return bool(close and np.allclose(target.mean_float64(), mean, rtol=1e-9, atol=1e-9))


@given(configurations())
def test_precision_and_mean_are_those_of_the_conjugate_posterior(written: SimpleNamespace) -> None:
    target = build_target(written)
    assert agrees(target, written)
    assert target.gradient(target.mean) == (0,) * target.dim
    product = np.array(target.precision) @ np.array(target.covariance)
    assert (product == np.eye(target.dim, dtype=int)).all()


PLANTED: dict[str, Callable[[Target], Target]] = {
    "prior scaled by N": lambda t: Target(
        t.name, t.dim, lambda theta: t.prior(theta) * len(t.data), t.likelihood, t.data
    ),
    "prior once per datum": lambda t: Target(
        t.name, t.dim, t.prior, lambda theta, x: t.likelihood(theta, x) + t.prior(theta), t.data
    ),
    "no prior": lambda t: Target(t.name, t.dim, lambda theta: 0 * dot(theta, theta), t.likelihood, t.data),
    "one datum lost": lambda t: Target(t.name, t.dim, t.prior, t.likelihood, t.data[:-1]),
    "data with the wrong sign": lambda t: Target(
        t.name, t.dim, t.prior, lambda theta, x: t.likelihood(theta, -x), t.data
    ),
    "likelihood doubled": lambda t: Target(
        t.name, t.dim, t.prior, lambda theta, x: 2 * t.likelihood(theta, x), t.data
    ),
}


@each_row("bug", PLANTED)
def test_the_comparison_refutes_a_planted_bug(bug: str) -> None:
    written = SimpleNamespace(
        name="gaussian-mean", dim=2, data=[[1.0, 2.0], [0.5, -1.0], [2.0, 0.25]],
        prior_precision=[[2.0, 0.5], [0.5, 1.0]], noise_precision=[1.0, 3.0], prior_mean=[0.5, -1.0],
    )  # fmt: skip
    target = build_target(written)
    assert agrees(target, written)
    assert not agrees(PLANTED[bug](target), written)


@given(configurations())
def test_the_data_gradients_are_those_of_the_likelihood(written: SimpleNamespace) -> None:
    target = build_target(written)
    gradients = target.data_gradients()
    assert [sum(column) for column in zip(*gradients, strict=True)] == [0] * target.dim
    # d/dtheta of (x - theta) . R (x - theta) / 2 is -R (x - theta); N of it, less its average.
    plain = -target.size * (target.data @ as_matrix(written.noise_precision, written.dim))
    assert np.allclose(np.array(gradients, dtype=float), plain - plain.mean(axis=0), rtol=1e-9, atol=1e-9)


def test_data_gradients_are_exact_for_float_data() -> None:
    target = build_target(SimpleNamespace(name="gaussian-mean", data=[0.1, 0.2, 0.4], noise_precision=0.3))
    total = sum(map(Fraction, (0.1, 0.2, 0.4)))
    expected = [-Fraction(3, 10) * (3 * Fraction(x) - total) for x in (0.1, 0.2, 0.4)]
    assert [y for (y,) in target.data_gradients()] == expected


def test_a_bare_gaussian_has_the_constants_that_were_given() -> None:
    written = SimpleNamespace(name="gaussian", precision=[[2, 0.5], [0.5, 1]], mean=[0.1, -3])
    target = build_target(written)
    assert target.precision == ((2, Fraction(1, 2)), (Fraction(1, 2), 1))
    assert target.mean == (Fraction(1, 10), -3)
    assert (target.size, target.data) == (None, None)


def test_a_likelihood_with_an_offset_of_its_own_is_read_whole() -> None:
    shift = Vector([Fraction(1, 2)])

    def likelihood(theta: Any, x: Any) -> Any:
        residual = x - theta - constant(theta, shift)
        return dot(residual, residual) / 2

    target = Target(
        "shifted", 1, lambda theta: dot(theta, theta) / 2, likelihood, np.array([[1.0], [2.0], [6.0]])
    )
    # theta + sum_i (theta + 1/2 - x_i) = 0 at (9 - 3/2)/4.
    assert target.mean == (Fraction(15, 8),)
    assert target.data_gradients() == [(6,), (3,), (-9,)]


def test_a_target_without_data_has_no_minibatches() -> None:
    with pytest.raises(ConfigurationError, match="'gaussian' has no data"):
        build_target(SimpleNamespace(name="gaussian")).data_gradients()


def test_a_potential_that_is_not_quadratic_is_refused() -> None:
    target = Target("quartic", 1, lambda theta: dot(theta, theta) * dot(theta, theta))
    with pytest.raises(DefinitionError, match="not quadratic"):
        _ = target.precision


def test_the_normaliser_and_the_moments_by_quadrature() -> None:
    integrate = pytest.importorskip("scipy.integrate")
    written = SimpleNamespace(
        name="gaussian-mean", data=[1.0, 2.5, -0.5], prior_precision=0.5, prior_mean=1.5, noise_precision=2.0
    )
    target = build_target(written)
    assert target.likelihood is not None and target.data is not None
    data = target.data

    def density(theta: float) -> float:
        point = np.array([theta])
        return math.exp(-target.prior(point) - target.likelihood(point, data).sum())

    moments = [
        integrate.quad(lambda t, k=k: t**k * density(t), -8, 10, epsabs=0, epsrel=1e-12)[0] for k in range(3)
    ]
    mean = moments[1] / moments[0]
    # The bound is quad's own, 1e-12 relative for each integral, times the cancellation in the variance.
    assert float(target.mean[0]) == pytest.approx(mean, rel=1e-10)
    assert float(target.covariance[0][0]) == pytest.approx(moments[2] / moments[0] - mean**2, rel=1e-9)


def test_twenty_dimensions_and_a_thousand_data_take_no_time() -> None:
    generator = np.random.default_rng(3)

    def dominant() -> list[list[float]]:
        half = np.round(generator.normal(size=(20, 20)), 4)
        return ((half + half.T) / 2 + 20 * np.eye(20)).round(4).tolist()

    target = build_target(
        SimpleNamespace(name="gaussian-mean", dim=20, prior_precision=dominant(), noise_precision=dominant())
    )
    start = time.process_time()
    assert len(target.mean) == 20
    assert target.precision is target.precision
    # Measured 0.06 s; the margin is for a machine that other work shares, a slower algorithm is far beyond.
    assert time.process_time() - start < 0.5


def test_a_potential_that_is_not_finite_near_its_location_is_refused() -> None:
    """At 1 and -1: a square root has a value there and no slope."""
    for prior, what in (
        (lambda theta: dot(theta, theta) * math.inf, "value"),
        (lambda theta: sqrt(dot(theta, theta) - 1), "gradient"),
        (lambda theta: dot(theta, theta), ""),
    ):
        target: Any = SimpleNamespace(name="x", at_deviations_float64=lambda places, _: places, prior=prior)
        if not what:
            check_finite(target, 1.0)
            continue
        with pytest.raises(DefinitionError, match=f"the {what} of the log density is not finite at theta="):
            check_finite(target, 1.0)
