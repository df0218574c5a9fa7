"""Spectral radii and stability limits against numpy and against formulas on the back of an envelope."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from sgverify import scheme, sqrt
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.affine.stability import eigenvalues_of, spectral_radii, stability_limit
from sgverify.schemes import find_scheme, kinetic, langevin
from tests.exact.affine.models import floats, gaussian, model_of

GIVEN = {"T": Fraction(1), "D": Fraction(3, 2)}
PRECISION = [[2.0, 0.5], [0.5, 5.0]]


@pytest.mark.parametrize(
    "name", ["sgld-euler", "sghmc-euler", "sghmc-euler-explicit", "sghmc-aboba", "sghmc-baoab"]
)
@pytest.mark.parametrize("step", [0.01, 0.3, 0.9, 3.0])
def test_the_radius_is_that_of_the_dense_map(name: str, step: float) -> None:
    model = model_of(name, friction=1.5, target=gaussian(PRECISION))
    with flint.ctx.workprec(128):
        dense = floats(model.chain(fixed_step(step)()).map)
    expected = np.abs(np.linalg.eigvals(dense)).max()
    eigenvalues = eigenvalues_of(model.target.precision)
    (found,) = spectral_radii(model.scheme, GIVEN, eigenvalues, [step])
    # Eigenvalues of a nonsymmetric 2 x 2 matrix near a double root are good to half the digits.
    assert found == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        # |1 - h lambda| < 1.
        ("sgld-euler", lambda rate, d: 2 / rate),
        # The half-angle of leapfrog, h < 2/sqrt(lambda), friction or not.
        ("sghmc-baoab", lambda rate, d: 2 / math.sqrt(rate)),
        ("sghmc-obabo", lambda rate, d: 2 / math.sqrt(rate)),
        # det M = 1 - h D + h^2 lambda must stay below 1.
        ("sghmc-euler-explicit", lambda rate, d: d / rate),
        # 1 + det M > |tr M|: 2 - h D > |2 - h D - h^2 lambda| gives h^2 lambda < 4 - 2 h D.
        ("sghmc-euler", lambda rate, d: (-d + math.sqrt(d * d + 4 * rate)) / rate),
    ],
)
@pytest.mark.parametrize("rates", [[0.25, 4.0], [9.0], [1001.0]])
def test_limits_by_hand(name: str, limit, rates: list[float]) -> None:
    found = stability_limit(find_scheme(name), GIVEN, rates)
    # Bisection ends at neighbouring floats, but next to a double root the radius is good to 1e-8 only.
    assert found == pytest.approx(limit(max(rates), 1.5), rel=1e-7)


@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-aboba", "sghmc-oabao", "sghmc-euler"])
def test_below_the_limit_it_contracts_and_above_it_does_not(name: str) -> None:
    rates = [0.5, 1001.0]
    item = find_scheme(name)
    limit = stability_limit(item, GIVEN, rates)
    below, above = spectral_radii(item, GIVEN, rates, [limit * (1 - 1e-6), limit * (1 + 1e-6)])
    assert below < 1 <= above


def test_aboba_at_the_step_of_the_paper_needs_a_large_friction() -> None:
    """theory.md, printed settings: ABOBA at h = .1 on the paper's model needs D > 31."""
    at = {
        D: spectral_radii(find_scheme("sghmc-aboba"), {"T": Fraction(1), "D": Fraction(D)}, [1001.0], [0.1])[
            0
        ]
        for D in (30, 31, 32)
    }
    assert at[30] > 1 and at[32] < 1


def test_no_limit_and_no_stable_step() -> None:
    @scheme(langevin)
    def implicit(theta, *, h, grad, noise, T):
        return theta / (1 + h) + sqrt(2 * T * h) * noise() + 0 * grad(theta)

    assert stability_limit(implicit, GIVEN, [1.0]) == math.inf

    @scheme(langevin)
    def growing(theta, *, h, grad, noise, T):
        return theta + h * grad(theta) + sqrt(2 * T * h) * noise()

    assert stability_limit(growing, GIVEN, [1.0]) == 0.0


def test_a_step_that_divides_by_zero_is_never_stable() -> None:
    @scheme(kinetic)
    def broken(theta, p, *, h, grad, noise, D, T):
        return theta + h * p, p / (h - h) - h * grad(theta) + sqrt(2 * D * T * h) * noise()

    assert spectral_radii(broken, GIVEN, [1.0], [0.1]) == [math.inf]


def test_eigenvalues() -> None:
    precision = [[Fraction(x) for x in row] for row in PRECISION]
    found = eigenvalues_of(precision)
    assert sum(found) == pytest.approx(7, rel=1e-15) and math.prod(found) == pytest.approx(9.75, rel=1e-14)
