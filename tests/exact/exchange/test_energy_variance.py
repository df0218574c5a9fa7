"""The variance of reduced energies along a chain, against every minibatch and plain recursions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, arb_mat

from sgverify.configuration import load_configuration
from sgverify.exact.exchange.acceptance import (
    CONTROL,
    FULL,
    HERE,
    MEANS,
    EnergyShare,
    Steps,
    ages,
    reduced_variance,
)
from sgverify.exact.numbers.ball import column
from sgverify.schemes.composites.composite import reduced_energy
from sgverify.subject.binding import make_subject

DATA = [-1.0, 1.0, 4.0]
SETTINGS = {
    "gradient": {"kind": "iid", "batch": 2},
    "target": {"data": DATA, "prior_precision": 2.0, "prior_mean": 1.0},
    "temperature": 0.5,
    "start": 3.0,
}


def variance(refreshed, age, h):
    model = make_subject("sgld-euler", load_configuration(SETTINGS)).model
    noise = arb_mat(model.noise.covariance)
    combined = reduced_energy(HERE, CONTROL, FULL)
    return reduced_variance(
        model.chain(arb(h)), noise, column(model.target.mean), combined, refreshed=refreshed, age=age
    )


def test_it_is_the_mean_over_all_minibatches_of_a_simulated_plan():
    """Two steps, all 9 x 9 minibatches of the chain and all 9 of the energy; normal numbers by Gauss-Hermite nodes."""
    h, T, x = 0.05, 0.5, np.array(DATA)
    mean = (2.0 + x.sum()) / 5
    start = mean + 3.0 * np.sqrt(T / 5)
    nodes, weights = np.polynomial.hermite_e.hermegauss(4)
    weights = weights / weights.sum()
    batches = [np.array(b) for b in itertools.product(range(3), repeat=2)]

    def energies(theta):
        return np.array([1.5 * ((x[b] - theta) ** 2 / 2).sum() for b in batches])

    total = 0.0
    for (b1, b2), (z1, w1), (z2, w2) in itertools.product(
        itertools.product(batches, batches),
        zip(nodes, weights, strict=True),
        zip(nodes, weights, strict=True),
    ):
        theta = start
        for b, z in ((b1, z1), (b2, z2)):
            gradient = 2 * (theta - 1) + 1.5 * (theta - x[b]).sum()
            theta = theta - h * gradient + np.sqrt(2 * T * h) * z
        total += w1 * w2 / 81 * np.var(energies(theta) - energies(start))
    assert float(variance(0, 2, h).mid()) == pytest.approx(total, rel=1e-10)


def test_it_vanishes_at_the_control_and_grows_from_there():
    found = [variance(3, age, 0.01) for age in (0, 1, 2, 4, 8)]
    assert found[0] == 0 and all(a < b for a, b in itertools.pairwise(found))


def test_what_is_left_of_the_rule_is_the_way_since_the_refresh():
    assert reduced_energy(HERE, CONTROL, FULL) == EnergyShare(0, 1, -1)
    assert reduced_energy(*MEANS) == MEANS[0]
    kept = reduced_energy(HERE, CONTROL, FULL, coefficient=Fraction(-1, 2))
    assert kept.constant == Fraction(1, 2)
    model = make_subject("sgld-euler", load_configuration(SETTINGS)).model
    with pytest.raises(ValueError, match="1/2 of the constant part"):
        reduced_variance(model.chain(arb(0.1)), arb_mat(1, 1), arb_mat(1, 1), kept, refreshed=0, age=1)


def test_steps_by_doubling_are_steps_one_by_one():
    one = Steps(arb_mat([[0.5, 0.1], [0, 0.9]]), arb_mat([[1], [2]]), arb_mat([[1, 0], [0, 0.5]]))
    by_one = Steps.none(2)
    for _ in range(11):
        by_one = by_one.then(one)
    doubled = one.times(11)
    for a, b in zip(doubled.covariance.entries(), by_one.covariance.entries(), strict=True):
        assert float(a.mid()) == pytest.approx(float(b.mid()), rel=1e-12)


def test_ages_double_up_to_the_step_before_the_next_refresh():
    assert list(ages(10)) == [1, 2, 4, 8, 9] and list(ages(1)) == [1] and list(ages(9)) == [1, 2, 4, 8]
