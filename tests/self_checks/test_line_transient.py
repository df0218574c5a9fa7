"""The law of an average from its start on: against the affine engine, and against trees of quadrature nodes by hand."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sgverify.configuration import load_configuration
from sgverify.errors import Unreached
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import answers_for
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from tests.self_checks.interpolation import centred
from tests.self_checks.line_transient import LineTransient, Transient
from tests.self_checks.plane_transient import PlaneTransient
from tests.self_checks.running_average_law import estimates_of

H = 0.15
GAUSSIAN = (
    "target.name=gaussian",
    "target.precision=2",
    "target.mean=0.5",
    "temperature=0.75",
    "friction=1.5",
)
WELL = ("target.name=double-well", "temperature=0.8", "friction=1.5", "target.tilt=0.3")


def subject_of(name: str, *settings: str) -> Subject:
    return make_subject(name, load_configuration(None, settings))


def start_of(subject: Subject) -> float:
    t, c = subject.target, subject.configuration
    return float((t.location_float64(c.temperature) + c.start * t.spread_float64(c.temperature))[0])


def transient(subject: Subject, length: int, start: float, *, h: float = H, **more: bool) -> Transient:
    parts = (subject.scheme, subject.target, subject.observable, subject.model_parameters)
    if subject.scheme.state == ("theta",):
        return LineTransient(*parts).average(h, length, start)
    return PlaneTransient(*parts).average(h, length, start, **more)


@pytest.mark.by_default(
    "sgld-euler-theta**2-zero",
    "sghmc-aboba-theta**2 - theta*p-zero",
    "sghmc-baoab-p**2 + theta-stationary",
    "sghmc-euler-theta-zero",
    "sghmc-euler-explicit-theta**2-zero",
)
@pytest.mark.parametrize(
    ("name", "phi", "momentum"),
    [
        ("sgld-euler", "theta**2", "zero"),
        ("sghmc-aboba", "theta**2 - theta*p", "zero"),
        ("sghmc-baoab", "p**2 + theta", "stationary"),
        ("sghmc-ubu", "theta**2", "zero"),
        ("sghmc-euler", "theta", "zero"),
        ("sghmc-euler-explicit", "theta**2", "zero"),
    ],
)
def test_a_gaussian_target_gives_what_the_affine_engine_proves(name: str, phi: str, momentum: str) -> None:
    subject = subject_of(name, *GAUSSIAN, f"test_function={phi}", f"start_momentum={momentum}")
    length, answers = 40, answers_for(subject.model)
    bias = answers.bias(fixed_step(H), length).value
    variance = answers.mean_square_error(fixed_step(H), length).value - bias**2
    more = {"stationary_momentum": True} if momentum == "stationary" else {}
    found = transient(subject, length, start_of(subject), **more)
    assert abs(found.mean - float(subject.truth) - bias) <= found.mean_error
    assert abs(found.variance - variance) <= found.variance_error + 1e-9
    assert max(found.mean_error, found.variance_error) < 1e-4 * variance
    assert found.left < 1e-8


def slope(x: np.ndarray) -> np.ndarray:
    return 4 * x * (x * x - 1) + 0.3


SMALL = 0.03
"""Euler's step: at H some paths of a tree are carried off."""


def euler(x: np.ndarray, z: np.ndarray, share: float = 1.0) -> tuple[np.ndarray]:
    return (x - share * SMALL * slope(x) + np.sqrt(2 * 0.8 * SMALL) * z,)


def baoab(x: np.ndarray, p: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    p = p - H / 2 * slope(x)
    x = x + H / 2 * p
    p = np.exp(-1.5 * H) * p + np.sqrt(0.8 * (1 - np.exp(-3 * H))) * z
    x = x + H / 2 * p
    return x, p - H / 2 * slope(x)


def aboba(x: np.ndarray, p: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x = x + H / 2 * p
    p = np.exp(-1.5 * H / 2) * p
    p = p - H * slope(x) + np.sqrt(2 * 1.5 * 0.8 * H) * z
    p = np.exp(-1.5 * H / 2) * p
    return x + H / 2 * p, p


def tree(step: Callable[..., tuple[np.ndarray, ...]], start: tuple[float, ...], length: int) -> list[float]:
    """Mean, variance and excess kurtosis of the average of theta^2, from every path of a Gauss-Hermite tree."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(32)
    state, chance, total = tuple(np.array([value]) for value in start), np.ones(1), np.zeros(1)
    for _ in range(length):
        moved = step(*(value[:, None] for value in state), nodes[None, :])
        state = tuple(value.ravel() for value in moved)
        chance = np.multiply.outer(chance, weights / weights.sum()).ravel()
        total = np.repeat(total, len(nodes)) + state[0] ** 2
    average = total / length
    mean = chance @ average
    variance = chance @ (average - mean) ** 2
    return [mean, variance, chance @ (average - mean) ** 4 / variance**2 - 3]


@pytest.mark.parametrize(
    ("name", "step"),
    [("sgld-euler", euler), ("sghmc-baoab", baoab), ("sghmc-aboba", aboba)],
)
def test_a_double_well_gives_what_every_path_of_a_tree_gives(name: str, step: Callable[..., tuple]) -> None:
    start = (0.7,) if name == "sgld-euler" else (0.7, 0.0)
    found = transient(subject_of(name, *WELL), 3, 0.7, h=SMALL if step is euler else H)
    mean, variance, kurtosis = tree(step, start, 3)
    assert abs(found.mean - mean) <= found.mean_error < 1e-5
    assert abs(found.variance - variance) <= found.variance_error < 1e-5
    assert found.kurtosis == pytest.approx(kurtosis, rel=1e-4)


def test_another_slope_is_told_from_this_one() -> None:
    """The oracle can fail: a drift of nine tenths is far beyond the bound."""
    found = transient(subject_of("sgld-euler", *WELL), 3, 0.7, h=SMALL)
    wrong = tree(lambda x, z: euler(x, z, 0.9), (0.7,), 3)
    assert abs(found.mean - wrong[0]) > 1e3 * found.mean_error


def test_minibatches_are_averaged_over_in_every_step() -> None:
    """Two steps of SGLD with one of three data each: nine pairs of minibatches, two draws of noise."""
    data = [(1.0, 1.0), (-0.5, 1.0), (2.0, 0.0)]
    subject = subject_of(
        "sgld-euler",
        "target.name=logistic-regression",
        f"target.data={[list(row) for row in data]}",
        "gradient.kind=iid",
        "gradient.batch=1",
    )

    def kernel(x: np.ndarray, z: np.ndarray, row: tuple[float, float]) -> np.ndarray:
        a, y = row
        return x - H * (x + 3 * (a / (1 + np.exp(-a * x)) - y * a)) + np.sqrt(2 * H) * z

    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    mean = square = 0.0
    for first, second in product(data, data):
        one = kernel(np.array(1.2), nodes, first)
        two = kernel(one[:, None], nodes[None, :], second)
        average = (one[:, None] ** 2 + two**2) / 2
        mean += weights @ average @ weights / 9
        square += weights @ average**2 @ weights / 9
    parts = (subject.scheme, subject.target, subject.observable, subject.model_parameters)
    found = LineTransient(*parts, estimates_of(subject)).average(H, 2, 1.2)
    assert found.mean == pytest.approx(mean, abs=1e-9)
    assert found.variance == pytest.approx(square - mean**2, abs=1e-9)


def test_one_gaussian_step_has_the_moments_of_a_normal_law() -> None:
    subject = subject_of("sgld-euler", *GAUSSIAN, "test_function=theta")
    found = transient(subject, 1, 1.0)
    assert found.mean == pytest.approx(1 - H * 2 * 0.5)
    assert found.variance == pytest.approx(2 * 0.75 * H)
    assert found.kurtosis == pytest.approx(0, abs=1e-9)


def test_a_chain_that_escapes_is_seen_to_leave() -> None:
    found = LineTransient(
        (subject := subject_of("sgld-euler", *WELL)).scheme,
        subject.target,
        subject.observable,
        {"T": Fraction(4, 5)},
    ).average(0.25, 100, 0.7)
    assert found.left > 0.5


def test_a_sparse_operator_is_the_dense_one(monkeypatch: pytest.MonkeyPatch) -> None:
    subject, found = subject_of("sgld-euler", *WELL), []
    for filled in (0.0, 1.0):
        monkeypatch.setattr("tests.self_checks.line_transient._FILLED", filled)
        found.append(transient(subject, 20, 0.4))
    assert found[0].mean == pytest.approx(found[1].mean, rel=1e-13)
    assert found[0].variance == pytest.approx(found[1].variance, rel=1e-12)


def test_what_no_grid_holds_is_out_of_reach() -> None:
    with pytest.raises(Unreached, match="dim=2"):
        transient(subject_of("sghmc-baoab", "target.name=double-well", "target.dim=2"), 3, 0.0)
    with pytest.raises(Unreached, match="xi"):
        transient(subject_of("sgnht-euler", "target.name=double-well"), 3, 0.0)


@pytest.mark.parametrize("stencil", [10, 16])
def test_polynomials_are_interpolated_as_far_as_the_points_on_either_side_allow(stencil: int) -> None:
    grid = np.arange(40.0)
    position = np.linspace(0, 39, 157)
    first, shares = centred(position, 40, stencil)
    cell = np.clip(np.floor(position), 0, 38)
    degrees = 2 * np.minimum(np.minimum(cell + 1, 39 - cell), stencil // 2) - 1
    for degree in range(stencil):
        values = ((grid - 20) / 20) ** degree
        got = np.array([s @ values[f : f + stencil] for f, s in zip(first, shares, strict=True)])
        reached = degrees >= degree
        assert np.abs(got - ((position - 20) / 20) ** degree)[reached].max() < 1e-10
    assert not centred(np.array([-0.5, 39.5, np.nan]), 40, stencil)[1].any()
