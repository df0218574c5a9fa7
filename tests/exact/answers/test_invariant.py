"""Moments of invariant laws against matrices found by running definitions on numpy arrays, and closed forms."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import flint
import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

from sgverify import scheme, sqrt
from sgverify.configuration import load_configuration
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers.invariant import JOINT, InvariantLaw
from sgverify.exact.chain.ergodic import COVARIANCE, WASSERSTEIN
from sgverify.exact.chain.lyapunov import floats
from sgverify.schemes import langevin
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject

PRECISION = [[2.0, 1.0], [1.0, 3.0]]
PLANE = {
    "target": {"name": "gaussian", "dim": 2, "precision": PRECISION, "mean": [1.5, -0.5]},
    "temperature": 0.5,
}
DATA = {"target": {"data": [0.1, 0.5, 1.0, 0.2, 0.9, -0.4]}}
DISTANCES = (COVARIANCE, WASSERSTEIN)


def subject(name: str, **settings: Any) -> Subject:
    return make_subject(name, load_configuration(None, **settings))


def law(name: str, **settings: Any) -> InvariantLaw:
    return InvariantLaw(subject(name, **settings).model)


def by_running(name: str, h: float, additive: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the invariant law on PLANE from the definition run on plain arrays.

    The noise is switched on one entry at a time; `additive` is the variance of fresh noise of every gradient.
    """
    scheme = subject(name).scheme
    precision, centre = np.array(PRECISION), np.array(PLANE["target"]["mean"])
    count, size = len(scheme.state), 2 * len(scheme.state)

    def run(state: np.ndarray, draw: int = -1, kind: str = "", entry: int = 0) -> np.ndarray:
        used = {"noise": 0, "gradient": 0}

        def unit(which: str) -> np.ndarray:
            used[which] += 1
            return np.eye(2)[entry] * (which == kind and used[which] - 1 == draw)

        def gradient(theta: np.ndarray) -> np.ndarray:
            return precision @ (theta - centre) + math.sqrt(additive) * unit("gradient")

        given = {"h": h, "grad": gradient, "noise": lambda: unit("noise"), "D": 2.0, "T": 0.5}
        # A constant such as sqrt(2 T h) may come as an exact root.
        return np.concatenate(scheme.step(tuple(state.reshape(count, 2)), **given)).astype(float)

    shift = run(np.zeros(size))
    matrix = np.array([run(row) - shift for row in np.eye(size)]).T
    added = np.zeros((size, size))
    for kind, draws in (("noise", scheme.draws), ("gradient", scheme.gradients)):
        for draw in range(draws):
            for entry in range(2):
                column = run(np.zeros(size), draw, kind, entry) - shift
                added += np.outer(column, column)
    return np.linalg.solve(np.eye(size) - matrix, shift), solve_discrete_lyapunov(matrix, added)


@pytest.mark.parametrize("additive", [0.0, 0.7])
@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-euler-explicit", "sghmc-aboba", "sghmc-obabo"])
def test_moments_at_a_step_agree_with_running_the_definition(name: str, additive: float) -> None:
    gradient = {"kind": "additive", "covariance": additive} if additive else {}
    found = law(name, **PLANE, gradient=gradient)
    with flint.ctx.workprec(192):
        moments = found.at(fixed_step(0.1))
    mean, covariance = by_running(name, 0.1, additive)
    assert np.allclose(floats(moments.mean)[:, 0], mean, rtol=1e-11, atol=1e-12)
    assert np.allclose(floats(moments.covariance), covariance, rtol=1e-10, atol=1e-12)
    assert found.gaussian


def test_the_true_moments_are_those_of_the_posterior() -> None:
    truth = law("sghmc-aboba", **PLANE).truth
    expected = np.zeros((4, 4))
    expected[:2, :2], expected[2:, 2:] = 0.5 * np.linalg.inv(PRECISION), 0.5 * np.eye(2)
    with flint.ctx.workprec(64):
        assert np.allclose(floats(truth.in_balls.covariance), expected, rtol=1e-15)
        assert np.allclose(floats(truth.in_balls.mean)[:, 0], [1.5, -0.5, 0, 0])


def test_sgld_in_one_dimension_has_the_variance_two_over_two_minus_hp() -> None:
    """Var = (T/P) 2/(2 - hP), so that S_h/S - 1 = hP/2 + (hP)^2/4 + ... and W2 = sqrt(T/P) hP/4 + ..."""
    found = law("sgld-euler", target={"name": "gaussian", "precision": 4.0})
    relative = found.distance(COVARIANCE, fixed_step(Fraction(1, 8)), "theta")
    assert relative.value == pytest.approx(2 / (2 - 0.5) - 1, rel=1e-14)
    assert found.leading(COVARIANCE, "theta").coefficient == 2.0
    leading = found.leading(WASSERSTEIN, "theta")
    assert (leading.order, leading.coefficient, leading.exact) == (1, pytest.approx(0.5, rel=1e-15), True)


@pytest.mark.parametrize(
    "name", ["sghmc-euler", "sghmc-euler-explicit", "sghmc-aboba", "sghmc-baoab", "sghmc-oabao", "sgld-euler"]
)
@pytest.mark.parametrize("kind", ["full", "iid", "reshuffle", "additive"])
def test_the_expansion_is_the_limit_of_the_distances(name: str, kind: str) -> None:
    found = law(name, **DATA, gradient={"kind": kind, "batch": 2})
    h = Fraction(1, 10**9)
    for part in found.coordinates:
        for distance in DISTANCES:
            leading, near = found.leading(distance, part), found.distance(distance, fixed_step(h), part)
            if leading.order is None:
                assert near.vanishes and leading.exact
            else:
                assert near.value / float(h) ** leading.order == pytest.approx(leading.coefficient, rel=1e-6)
                assert near.relative_error <= 1e-6


def test_each_variable_is_reported_apart() -> None:
    """Algorithm 2 errs in theta by h^2 and in p by h; BAOAB not at all in theta."""
    euler, baoab = law("sghmc-euler", **DATA), law("sghmc-baoab", **DATA)
    for distance in DISTANCES:
        assert [euler.leading(distance, part).order for part in ("theta", "p", JOINT)] == [2, 1, 1]
        assert [baoab.leading(distance, part).order for part in ("theta", "p", JOINT)] == [None, 2, 2]
    assert list(law("sgld-euler", **DATA).coordinates) == ["theta"]


def test_under_reshuffling_the_law_is_averaged_over_the_epoch() -> None:
    """Against the average over every order of a small data set, with means and covariances carried in floats."""
    data, h, precision = (
        np.array([0.3, -1.0, 2.0]),
        0.1,
        4.0,
    )  # three data with unit variance and a unit prior
    found = law(
        "sgld-euler",
        target={"data": data.tolist()},
        gradient={"kind": "reshuffle", "batch": 1},
        temperature=1.0,
    )
    centre, m = data.sum() / precision, 1 - h * precision
    noises = [[-h * 3 * (data.mean() - x) for x in order] for order in permutations(data)]
    # E y and E y^2 over orders: the law at the end of an epoch is a fixed point of one epoch.
    second, averages = 0.0, 0.0
    for _ in range(400):
        total, last = 0.0, 0.0
        for order in noises:
            mean, spread = 0.0, second
            for noise in order:
                mean, spread = m * mean + noise, m * m * spread + noise**2 + 2 * m * mean * noise + 2 * h
                total += spread
            last += spread
        second, averages = last / len(noises), total / (3 * len(noises))
    with flint.ctx.workprec(192):
        moments = found.at(fixed_step(Fraction(1, 10)))
    assert floats(moments.covariance).item() == pytest.approx(averages, rel=1e-12)
    assert floats(moments.mean).item() == pytest.approx(centre, rel=1e-14)
    assert not found.gaussian


def test_a_test_function_of_high_degree_is_no_obstacle() -> None:
    found = law("sghmc-aboba", **PLANE, test_function="theta[0]**6*theta[1]")
    assert found.leading(COVARIANCE, JOINT).order == 2


def test_memory_is_no_part_of_the_law() -> None:
    """The scheme of Leimkuhler and Matthews 2013 keeps its last noise, and has no bias on a Gaussian target."""

    @scheme(langevin, memory={"last": lambda theta: 0 * theta})
    def two_noises(theta, last, *, h, grad, noise, T):
        fresh = sqrt(2 * T * h) * noise()
        return theta - h * grad(theta) + (last + fresh) / 2, fresh

    found = InvariantLaw(make_subject(two_noises, load_configuration(None, **PLANE)).model)
    assert list(found.coordinates) == ["theta"]
    for distance in DISTANCES:
        assert found.distance(distance, fixed_step(Fraction(1, 4)), "theta").vanishes


def test_minibatches_that_change_the_hessian_are_averaged_over() -> None:
    """SGLD on a regression of two data, one of them at a time: theta' = (1 - h H_i) theta + h g_i + noise."""
    data, h = [(1.0, 0.5), (-2.0, 1.0)], 0.05
    found = law(
        "sgld-euler",
        target={"name": "linear-regression", "data": [list(row) for row in data], "dim": 1},
        gradient={"kind": "iid", "batch": 1},
    )
    # U = theta^2/2 + sum (x theta - y)^2/2, the likelihood scaled by N/n = 2.
    slopes = [(1 - h * (1 + 2 * x * x), 2 * h * x * y) for x, y in data]
    mean = sum(g for _, g in slopes) / sum(1 - m for m, _ in slopes)
    linear = sum(2 * m * g for m, g in slopes) / 2 * mean + sum(g * g for _, g in slopes) / 2 + 2 * h
    second = linear / (1 - sum(m * m for m, _ in slopes) / 2)
    with flint.ctx.workprec(192):
        moments = found.at(fixed_step(Fraction(1, 20)))
    assert floats(moments.mean).item() == pytest.approx(mean, rel=1e-13)
    assert floats(moments.covariance).item() == pytest.approx(second - mean**2, rel=1e-13)
    assert not found.gaussian
    near = found.distance(WASSERSTEIN, fixed_step(Fraction(1, 10**9)), "theta")
    leading = found.leading(WASSERSTEIN, "theta")
    assert leading.order == 1
    assert near.value * 1e9 == pytest.approx(leading.coefficient, rel=1e-6)
