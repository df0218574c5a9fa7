"""Spectral radii and stability limits against numpy and against formulas on the back of an envelope."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from flint import arb_mat

from sgverify import Alphabet, exp, expm1, scheme, sqrt
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.affine.stability import (
    Stability,
    _jury,
    eigenvalues_of,
    spectral_radii,
    stability_limit,
    stability_of,
)
from sgverify.schemes import Scheme, find_scheme, kinetic, langevin
from sgverify.schemes.catalogue.kinetic import drift, kick
from tests.tables import each_row
from tests.zoo.affine_models import floats, gaussian, model_of
from tests.zoo.schemes import frictionless, uphill

GIVEN = {"T": Fraction(1), "D": Fraction(3, 2)}
PRECISION = [[2.0, 0.5], [0.5, 5.0]]


def bath(theta, p, *, t, noise, D, T):
    return theta, exp(-D * t) * p + sqrt(-T * expm1(-2 * D * t)) * noise()


LETTERS = Alphabet("baths", kinetic, A=drift, B=kick, O=bath)


def two_leapfrogs(share: float) -> Scheme:
    """With a share of 1/4 it is leapfrog twice at h/2; other shares open a window of instability near 2 sqrt(2)."""
    outer, inner = repr(round(share, 6)), repr(round(1 - 2 * share, 6))
    return LETTERS.word("OBABABO", order=2, coefficients=["1/2", outer, "1/2", inner, "1/2", outer, "1/2"])


@each_row("name", ["sgld-euler", "sghmc-euler", "sghmc-euler-explicit", "sghmc-aboba", "sghmc-baoab"])
@each_row("step", [0.01, 0.3, 0.9, 3.0])
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


@pytest.mark.by_default(
    "sghmc-euler-explicit-1e7-rates0-2e-07",
    "sghmc-euler-explicit-1e-6-rates1-9.99000999000999e-10",
    "sghmc-euler-explicit-1e-12-rates2-1e-12",
    "sgld-euler-1-rates3-2e-08",
    "sghmc-baoab-1-rates4-0.0002",
)
@pytest.mark.parametrize(
    ("name", "friction", "rates", "limit"),
    [
        # 1 - h D > -1, and det M = 1 - h D + h^2 lambda < 1.
        ("sghmc-euler-explicit", "1e7", [1001.0], 2e-7),
        ("sghmc-euler-explicit", "1e-6", [1001.0], 1e-6 / 1001),
        ("sghmc-euler-explicit", "1e-12", [1.0], 1e-12),
        # |1 - h lambda| < 1, though 1 - h * 1e-8 rounds to 1.
        ("sgld-euler", "1", [1e-8, 1e8], 2e-8),
        ("sghmc-baoab", "1", [1e-8, 1e8], 2e-4),
        ("sghmc-baoab", "1", [1e-12], 2e6),
        ("sghmc-baoab", "1e-9", [1.0], 2.0),
    ],
)
def test_a_radius_that_rounds_to_one_is_decided_in_balls(
    name: str, friction: str, rates: list[float], limit: float
) -> None:
    given = {"T": Fraction(1), "D": Fraction(friction)}
    found = stability_limit(find_scheme(name), given, rates)
    assert found == pytest.approx(limit, rel=1e-10)
    assert stability_of(find_scheme(name), given, rates, found / 2) is Stability.CONTRACTS
    assert stability_of(find_scheme(name), given, rates, found * (1 + 1e-12)) is Stability.EXPANDS


@pytest.mark.by_default("0.245-1e-4-rates0")
@pytest.mark.parametrize(
    ("share", "friction", "rates"),
    [
        # Every share meets both frictions and both spectra.
        (0.245, "1e-4", [1.0]),
        (0.245, "1e-7", [0.9, 1.7**2]),
        (0.2495, "1e-4", [0.9, 1.7**2]),
        (0.2495, "1e-7", [1.0]),
        (0.2499, "1e-4", [1.0]),
        (0.2499, "1e-7", [0.9, 1.7**2]),
    ],
)
def test_narrow_windows_of_instability_are_found(share: float, friction: str, rates: list[float]) -> None:
    """The window is 2 % wide or less, between points of any coarse grid; a dense one shows where it opens."""
    item, given = two_leapfrogs(share), {"T": Fraction(1), "D": Fraction(friction)}
    found = stability_limit(item, given, rates)
    slow = math.sqrt(max(rates))
    dense = np.linspace(2.7, 2.9, 20001) / slow
    unstable = dense[spectral_radii(item, given, rates, dense) > 1 + 1e-9]
    assert unstable.size
    assert unstable[0] - 1e-5 <= found < unstable[0]


def test_a_window_that_friction_closes_is_not_reported() -> None:
    """Equal leapfrogs touch the unit circle at -1 and part from it again; friction keeps them inside."""
    given = {"T": Fraction(1), "D": Fraction(1, 10000)}
    assert stability_limit(two_leapfrogs(0.25), given, [1.0]) == pytest.approx(4, rel=1e-9)


@scheme(langevin)
def slow_and_then_unstable(theta, *, h, noise, T):
    """The factor is below 1 by exp(-20 h) h up to h = 100, and above it from there on."""
    return theta * (1 - exp(-20 * h) * h * (1 - h / 100)) + sqrt(2 * T * h) * noise()


def test_a_radius_that_tends_to_one_is_no_limit() -> None:
    """ABOBA's tends to 1 - exp(-D h/2) r h^2/2, which floats and 1024 bits lose; a limit further out is not overlooked."""
    given = {"T": Fraction(1), "D": Fraction(20)}
    aboba = find_scheme("sghmc-aboba")
    assert stability_limit(aboba, given, [101.0]) == math.inf
    assert stability_of(aboba, given, [101.0], 50.0) is Stability.CONTRACTS
    assert stability_limit(slow_and_then_unstable, given, [1.0]) < 100


def test_a_map_without_friction_is_undecided_and_a_growing_one_expands() -> None:
    given = {"T": Fraction(1), "D": Fraction(1)}
    assert stability_of(frictionless, given, [1.0], 0.1) is Stability.UNDECIDED
    assert stability_of(frictionless, given, [1.0], 3.0) is Stability.EXPANDS
    assert stability_limit(frictionless, given, [1.0]) == 0.0
    # Explicit Euler above D/lambda: rho^2 = 1 - h D + h^2 lambda, here 1 + 1e-20.
    explicit = find_scheme("sghmc-euler-explicit")
    assert stability_of(explicit, {**given, "D": Fraction("1e-10")}, [1.0], 2e-10) is Stability.EXPANDS


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_jury_criterion_agrees_with_the_eigenvalues(size: int) -> None:
    random = np.random.default_rng(size)
    for _ in range(50):
        matrix = random.normal(size=(size, size))
        for radius, verdict in ((1 - 1e-6, Stability.CONTRACTS), (1 + 1e-6, Stability.EXPANDS)):
            scaled = matrix * (radius / np.abs(np.linalg.eigvals(matrix)).max())
            with flint.ctx.workprec(256):
                assert _jury(arb_mat(scaled.tolist())) is verdict


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

    assert stability_limit(uphill, GIVEN, [1.0]) == 0.0


def test_a_step_that_divides_by_zero_is_never_stable() -> None:
    @scheme(kinetic)
    def broken(theta, p, *, h, grad, noise, D, T):
        return theta + h * p, p / (h - h) - h * grad(theta) + sqrt(2 * D * T * h) * noise()

    assert spectral_radii(broken, GIVEN, [1.0], [0.1]) == [math.inf]


def test_eigenvalues() -> None:
    precision = [[Fraction(x) for x in row] for row in PRECISION]
    found = eigenvalues_of(precision)
    assert sum(found) == pytest.approx(7, rel=1e-15) and math.prod(found) == pytest.approx(9.75, rel=1e-14)


@pytest.mark.power  # 0.6 s
@pytest.mark.parametrize("stages", [8, 64])
def test_many_gradients_one_after_the_other_do_not_cancel(stages: int) -> None:
    """(1 - h r/k)^k is below 1 until h r = 2k; multiplied out, its terms are 2^k times as large as their sum."""

    @scheme(langevin, order=1)
    def nested(theta, *, h, grad, noise, T):
        x = theta
        for _ in range(stages):
            x = x - h / stages * grad(x)
        return x + sqrt(2 * T * h) * noise()

    given, eigenvalues = {"T": Fraction(1)}, [2.0, 1001.0]
    assert stability_limit(nested, given, eigenvalues) == pytest.approx(2 * stages / 1001.0, rel=1e-6)
    (radius,) = spectral_radii(nested, given, eigenvalues, [0.9 * stages / 1001.0])
    assert radius == pytest.approx((1 - 0.9 * 2 / 1001) ** stages, rel=1e-9)
