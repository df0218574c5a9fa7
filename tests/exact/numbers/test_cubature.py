"""Rules for normal vectors against the moments of the normal law, and powers of h against functions that have them."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from sgverify.exact.numbers.quadrature import normal_cubature
from sgverify.rates.powers import powers_of_h


def moment(index) -> int:
    return math.prod(0 if n % 2 else math.prod(range(n - 1, 0, -2)) for n in index)


@pytest.mark.parametrize("dim", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("degree", [3, 5, 7, 9])
def test_polynomials_through_the_degree_are_exact_and_one_beyond_is_not(dim, degree):
    z, w = normal_cubature(dim, degree)
    assert z.shape == (len(w), dim) and w.sum() == pytest.approx(1, abs=1e-13)
    assert len({tuple(row) for row in z}) == len(z)
    for index in product(range(degree + 1), repeat=dim):
        if sum(index) <= degree:
            terms = np.prod(z ** np.array(index), axis=1)
            assert w @ terms == pytest.approx(moment(index), abs=1e-14 * np.abs(w) @ np.abs(terms))
    if dim:
        beyond = (degree + 1, *(0,) * (dim - 1))
        assert abs(w @ z[:, 0] ** (degree + 1) - moment(beyond)) > 0.5


def test_the_powers_of_a_function_are_found_within_their_bounds():
    h = 2.0 ** -np.arange(5, 12)
    values = np.stack([np.exp(h) - 1 - h, np.sin(3 * h), 1 / (1 - 2 * h), 0 * h], axis=1)
    found = powers_of_h(h, values, 2.0**-52 * np.ones_like(values))
    true = np.array([[0, 0, 1 / 2, 1 / 6], [0, 3, 0, -27 / 6], [1, 2, 4, 8], [0, 0, 0, 0]]).T
    off = np.abs(found.coefficients[:4] - true)
    assert (off <= found.bounds[:4]).all()
    # What is there is seen, and what is not there is not.
    seen = np.array([found.seen(power) for power in range(4)])
    assert (seen == (true != 0)).all()


def test_rounding_is_carried_into_the_bounds():
    h = 2.0 ** -np.arange(5, 12)
    rough = h**2 + 1e-9 * np.array([1, -1, 1, -1, 1, -1, 1])
    found = powers_of_h(h, rough[:, None], np.full((7, 1), 1e-9))
    assert abs(found.coefficients[2, 0] - 1) <= found.bounds[2, 0]
    assert abs(found.coefficients[0, 0]) <= found.bounds[0, 0] < 1e-6
