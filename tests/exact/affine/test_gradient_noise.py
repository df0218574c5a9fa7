"""Cumulants of the estimators' noise, against every outcome of a small data set."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from flint import fmpq, fmpq_mat

from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError
from sgverify.exact.affine.noise import gradient_noise
from sgverify.targets import build_target
from tests.tables import each_row

DATA = [0.0, 1.0, 4.0, 5.0]


def noise_of(**gradient):
    c = load_configuration({"target": {"name": "gaussian-mean", "data": DATA}, "gradient": gradient})
    return gradient_noise(c.gradient, build_target(c.target))


def outcomes(draws) -> list[fmpq]:
    """N times the mean of a minibatch's gradients theta - x_i, less the full gradient."""
    mean = fmpq(10, 4)
    return [4 * sum((mean - fmpq(int(DATA[i])) for i in batch), fmpq(0)) / len(batch) for batch in draws]


@pytest.mark.parametrize(
    ("kind", "draws"),
    [("iid", list(product(range(4), repeat=2))), ("without-replacement", list(permutations(range(4), 2)))],
)
def test_cumulants_by_counting(kind: str, draws: list[tuple[int, int]]) -> None:
    values = outcomes(draws)
    moments = [sum((v**k for v in values), fmpq(0)) / len(values) for k in range(5)]
    found = noise_of(kind=kind, batch=2)
    assert found.covariance == fmpq_mat([[moments[2]]])
    assert found.third == fmpq_mat([[moments[3]]])
    assert found.fourth == fmpq_mat([[moments[4] - 3 * moments[2] ** 2]])
    assert found.noisy and not found.exchangeable and not found.each_evaluation


def test_a_reshuffled_epoch_has_no_noise_in_total() -> None:
    found = noise_of(kind="reshuffle", batch=2)
    assert found.exchangeable and not found.noisy and found.blocks == 2
    assert found.covariance + found.across * (found.blocks - 1) == fmpq_mat([[0]])
    assert found.covariance == noise_of(kind="without-replacement", batch=2).covariance


def test_estimators_without_noise() -> None:
    assert noise_of(kind="full").covariance is None and not noise_of(kind="full").noisy
    assert not noise_of(kind="without-replacement", batch=4).noisy
    assert noise_of(kind="iid", batch=4).noisy, "with replacement even N draws leave noise"


def test_additive() -> None:
    found = noise_of(kind="additive", covariance=0.3)
    assert found.covariance == fmpq_mat([[fmpq(3, 10)]]) and found.each_evaluation and found.third is None


@each_row(
    ("covariance", "good"),
    [
        ([[1, 1], [1, 1]], True),
        ([[0, 0], [0, 2]], True),
        ([1, 2], True),
        (0, True),
        ([[1, 2], [2, 1]], False),
        ([[0, 1], [1, 0]], False),
        ([[1, 2], [0, 9]], False),
        ([[-1, 0], [0, 1]], False),
        ([1, 2, 3], False),
        ([[1]], False),
        (-1, False),
    ],
)
def test_covariances_are_semidefinite(covariance: object, good: bool) -> None:
    c = load_configuration(
        {"target": {"name": "gaussian", "dim": 2}, "gradient": {"kind": "additive", "covariance": covariance}}
    )
    target = build_target(c.target)
    if good:
        assert gradient_noise(c.gradient, target).covariance.nrows() == 2
    else:
        with pytest.raises(ConfigurationError, match=r"gradient\.covariance="):
            gradient_noise(c.gradient, target)


@pytest.mark.parametrize(
    ("gradient", "says"),
    [
        ({"kind": "iid", "batch": 5}, "larger than the 4 data"),
        ({"kind": "reshuffle", "batch": 3}, "does not divide the 4 data"),
    ],
)
def test_refusals(gradient: dict, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        noise_of(**gradient)
