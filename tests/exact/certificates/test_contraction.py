"""Certificates are proved again by other means, beat no member of their class, and are refused where they are false."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from flint import arb_mat, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from sgverify.advice.certified.published import published_bounds
from sgverify.errors import Unreached, UserError
from sgverify.exact.certificates.contraction import (
    BITS,
    CertifiedContraction,
    CurvatureBounds,
    certified_contraction,
    contracts_between,
    proves,
    slowest_sequence,
)
from sgverify.exact.certificates.largest_step import fastest, fastest_friction, largest_step
from sgverify.exact.certificates.pair import read_pair
from sgverify.exact.certificates.semidefinite import closed_loop
from sgverify.exact.chain.lyapunov import floats
from sgverify.schemes import Scheme, exact, exp, expm1, find_scheme, sqrt
from sgverify.schemes.definition.mathematics import register
from sgverify.schemes.numbers.rounded import Rounded

# Another arithmetic for the same definitions: numbers of 50 digits, without flint.
register(mpmath.mpf, lambda function, value: getattr(mpmath, function.__name__)(value), (exp, expm1, sqrt))

SCHEMES = (
    "sgld-euler",
    "sghmc-euler",
    "sghmc-momentum",
    "sghmc-aboba",
    "sghmc-baoab",
    "sghmc-obabo",
    "sghmc-ubu",
)


def contraction(name: str, ratio: float, share: float, damping: float) -> CertifiedContraction:
    """The certificate at m = 1, L = `ratio`, D = `damping` sqrt(L), and a step of `share` of the time scale."""
    scale = 1 / ratio if name == "sgld-euler" else 1 / math.sqrt(ratio)
    return certified_contraction(
        find_scheme(name),
        exact(share * scale),
        {"T": Fraction(1), "D": exact(damping * math.sqrt(ratio))},
        CurvatureBounds(Fraction(1), exact(ratio)),
    )


def stepped(scheme: Scheme, step: Any, friction: Any) -> tuple[mpmath.matrix, mpmath.matrix]:
    """Rows of the step and of its places over (state, gradients), by running the definition on vectors of 50 digits."""
    n = len(scheme.state)
    width, places = n + 4, list[Any]()

    def unit(i: int) -> Any:
        row = np.array([mpmath.mpf(0)] * width, dtype=object)
        row[i] = mpmath.mpf(1)
        return row

    def grad(place: Any) -> Any:
        places.append(place)
        return unit(n + len(places) - 1)

    given = {"h": step, "T": mpmath.mpf(1), "D": friction}
    values = scheme.step(
        tuple(unit(i) for i in range(n)),
        grad=grad,
        noise=lambda *law: 0 * unit(0),
        dim=None,
        metric=None,
        **{k: v for k, v in given.items() if k == "h" or k in scheme.parameters},
    )
    width = n + len(places)
    return (
        mpmath.matrix([list(row[:width]) for row in values]),
        mpmath.matrix([list(row[:width]) for row in places]),
    )


def proved_again(found: CertifiedContraction, scheme: Scheme, friction: Fraction) -> bool:
    """L D L^T over the rationals, of entries in 50 digits; what 40 digits leave open is taken off the diagonal."""
    with mpmath.workdps(50):
        number = lambda x: mpmath.mpf(int(x.numerator)) / int(x.denominator)  # noqa: E731
        step, places = stepped(scheme, number(found.step), number(friction))
        n, k = step.rows, places.rows
        norm = mpmath.matrix([[number(x) for x in row] for row in found.norm.tolist()])
        kept = mpmath.zeros(n + k)
        for i in range(n):
            for j in range(n):
                kept[i, j] = norm[i, j]
        total = number(found.rate) ** 2 * kept - step.T * norm * step
        m, L = number(found.curvature.m), number(found.curvature.L)
        for i, factor in enumerate(found.multipliers):
            value = mpmath.zeros(1, n + k)
            value[n + i] = 1
            product = (value - m * places[i, :]).T * (L * places[i, :] - value)
            total -= number(factor) * (product + product.T) / 2
        return min(found.multipliers) >= 0 and positive(norm) and positive(total)


def positive(matrix: mpmath.matrix) -> bool:
    rows = [[Fraction(*mpmath.libmp.to_rational(x._mpf_)) for x in row] for row in matrix.tolist()]
    size = len(rows)
    for i in range(size):
        rows[i][i] -= size * Fraction(1, 10**40) * max(1, *(abs(x) for row in rows for x in row))
    for k in range(size):
        if rows[k][k] <= 0:
            return False
        for i in range(k + 1, size):
            for j in range(k + 1, size):
                rows[i][j] -= rows[i][k] * rows[k][j] / rows[k][k]
    return True


@pytest.mark.parametrize("name", SCHEMES)
@settings(max_examples=3)
@given(ratio=st.floats(1.5, 300.0), share=st.floats(0.02, 0.4), damping=st.floats(1.2, 2.2))
def test_certificates_are_proved_again_and_beat_no_member(
    name: str, ratio: float, share: float, damping: float
) -> None:
    found = contraction(name, ratio, share, damping)
    scheme, friction = find_scheme(name), exact(damping * math.sqrt(ratio))
    assert proved_again(found, scheme, friction)
    setting = (1.0, ratio, float(found.step), 1.0, float(friction))
    for published in published_bounds(name, *setting):
        assert published.decay is not None and published.decay <= float(1 - found.rate) * (1 + 1e-6)
    with flint.ctx.workprec(BITS):
        pair = read_pair(scheme, found.step, {"T": Fraction(1), "D": friction})
    draws = np.random.default_rng(0)
    step, places = floats(pair.step), floats(pair.places)
    quadratics = np.repeat(np.exp(draws.uniform(0, math.log(ratio), (200, 1))), len(places), axis=1)
    rates = np.abs(np.linalg.eigvals(closed_loop(step, places, quadratics))).max(axis=-1)
    assert rates.max() <= float(found.rate) * (1 + 1e-12)
    for length in draws.integers(1, 12, 50):
        curvatures = draws.choice([1.0, ratio, math.sqrt(ratio)], (length, len(places)))
        product = np.linalg.multi_dot(
            [np.eye(len(step)), *closed_loop(step, places, curvatures), np.eye(len(step))]
        )
        assert np.abs(np.linalg.eigvals(product)).max() ** (1 / length) <= float(found.rate) * (1 + 1e-12)


def test_a_curvature_that_varies_contracts_in_the_norm() -> None:
    """Two copies on U = theta^2/2 + 9 log cosh(theta), 1 <= U'' <= 10, driven by the same draws."""
    found = contraction("sghmc-baoab", 10.0, 0.5, 2.0)
    decay = math.exp(-float(exact(2 * math.sqrt(10))) * float(found.step))
    h, draws = float(found.step), np.random.default_rng(1)
    norm = floats(arb_mat(found.norm))
    grad = lambda x: x + 9 * np.tanh(x)  # noqa: E731
    theta, p = 3 * draws.standard_normal((2, 500)), 3 * draws.standard_normal((2, 500))
    before = np.array([theta[0] - theta[1], p[0] - p[1]])
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = decay * p + math.sqrt(1 - decay**2) * draws.standard_normal(500)
    theta = theta + h / 2 * p
    p = p - h / 2 * grad(theta)
    after = np.array([theta[0] - theta[1], p[0] - p[1]])
    size = lambda x: np.sqrt(np.einsum("ik,ij,jk->k", x, norm, x))  # noqa: E731
    assert (size(after) <= float(found.rate) * size(before)).all()


def test_false_certificates_are_refused() -> None:
    found = contraction("sghmc-baoab", 10.0, 0.3, 1.5)
    given = {"T": Fraction(1), "D": exact(1.5 * math.sqrt(10))}
    with flint.ctx.workprec(BITS):
        pair = read_pair(find_scheme("sghmc-baoab"), found.step, given)
        other = read_pair(find_scheme("sghmc-baoab"), 3 * found.step, given)
        parts = (found.curvature, found.rate, found.norm, found.multipliers)
        assert proves(pair, *parts)
        faster = 1 - (1 - found.rate) * Fraction(101, 100)
        assert not proves(pair, parts[0], faster, *parts[2:])
        assert not proves(other, *parts)
        wider = CurvatureBounds(found.curvature.m, found.curvature.L * Fraction(21, 10))
        assert not proves(pair, wider, *parts[1:])
        assert not proves(pair, *parts[:2], -found.norm, found.multipliers)


def test_a_negative_multiplier_proves_nothing() -> None:
    """Not even the rate 2, which every step of the class has: such an inequality is that of gradients outside of the class."""
    found = contraction("sghmc-baoab", 10.0, 0.3, 1.5)
    with flint.ctx.workprec(BITS):
        given = {"T": Fraction(1), "D": exact(1.5 * math.sqrt(10))}
        pair = read_pair(find_scheme("sghmc-baoab"), found.step, given)
        for signs in itertools.product((1, -1), repeat=pair.gradients):
            factors = tuple(sign * factor for sign, factor in zip(signs, found.multipliers, strict=True))
            assert proves(pair, found.curvature, Fraction(2), found.norm, factors) is (min(signs) > 0)


def test_a_form_that_is_no_norm_proves_nothing() -> None:
    """Every member of the class grows, so that minus the square shrinks."""
    with flint.ctx.workprec(BITS):
        pair = read_pair(find_scheme("sgld-euler"), Fraction(3), {"T": Fraction(1)})
        bounds = CurvatureBounds(Fraction(1), Fraction(3, 2))
        assert not proves(pair, bounds, Fraction(1, 2), fmpq_mat([[-1]]), (Fraction(1),))


def test_a_slow_sequence_has_the_rate_of_its_period() -> None:
    with flint.ctx.workprec(BITS):
        pair = read_pair(find_scheme("sghmc-aboba"), exact(0.05), {"T": Fraction(1), "D": Fraction(5)})
    slow = slowest_sequence(pair, 1.0, 100.0)
    matrices = closed_loop(floats(pair.step), floats(pair.places), np.array(slow.curvatures))
    product = np.linalg.multi_dot([np.eye(2), *matrices[::-1], np.eye(2)])
    radius = np.abs(np.linalg.eigvals(product)).max()
    assert slow.rate > 1 and slow.rate == pytest.approx(radius ** (1 / len(slow.curvatures)), rel=1e-9)


def test_a_class_without_a_norm_is_refused_with_its_reason() -> None:
    with pytest.raises(Unreached, match="switches between m and L"):
        contraction("sghmc-aboba", 100.0, 0.5, 0.5)
    with pytest.raises(Unreached, match="quadratic potential of curvature 10"):
        contraction("sgld-euler", 10.0, 2.5, 1.0)
    with pytest.raises(Unreached, match="state-dependent"):
        contraction("psgld", 10.0, 0.1, 1.0)


@pytest.mark.parametrize(
    ("m", "L", "said"), [(2, 1, "expected m <= L"), (0, 1, "strong convexity"), (-1, 1, "m > 0")]
)
def test_bounds_that_are_none_are_refused(m: int, L: int, said: str) -> None:
    with pytest.raises(UserError, match=said):
        CurvatureBounds(Fraction(m), Fraction(L))


def test_every_step_of_euler_up_to_two_over_the_largest_curvature_is_proved() -> None:
    euler, given = find_scheme("sgld-euler"), {"T": Fraction(1)}
    bounds = CurvatureBounds(Fraction(1), Fraction(7))
    first, last = largest_step(euler, given, bounds)
    assert first.step < last.step
    assert 2 / 7 * (1 - 1e-2) <= float(last.step) <= 2 / 7
    ends = float(first.step), float(last.step)
    best = fastest(lambda h: certified_contraction(euler, h, given, bounds), *ends)
    assert best is not None and float(best[0]) == pytest.approx(2 / 8, rel=2e-3)


def test_no_interval_of_steps_is_proved_that_has_one_without_contraction() -> None:
    """BAOAB near D = sqrt(L): the proof ends where a member of the class is slow, whatever lies beyond."""
    given, bounds = {"T": Fraction(1), "D": Fraction(4)}, CurvatureBounds(Fraction(1), Fraction(10))
    baoab = find_scheme("sghmc-baoab")
    ends = Rounded(exact(0.1), exact(0.105))
    assert contracts_between(baoab, ends, given, bounds)
    for low, high in ((0.1, 0.7), (0.6, 0.615)):
        assert not contracts_between(baoab, Rounded(exact(low), exact(high)), given, bounds)
    with flint.ctx.workprec(BITS):
        pair = read_pair(baoab, ends, given)
        within = read_pair(baoab, exact(0.1021), given)
        for ball, number in zip(pair.step.entries(), within.step.entries(), strict=True):
            assert ball.contains(number)


def test_the_best_friction_beats_its_neighbours() -> None:
    bounds, given = CurvatureBounds(Fraction(1), Fraction(23)), {"T": Fraction(1)}
    best = fastest_friction(find_scheme("sghmc-ubu"), exact(0.07), given, bounds)
    assert best is not None
    for factor in (Fraction(4, 5), Fraction(5, 4)):
        other = certified_contraction(
            find_scheme("sghmc-ubu"), exact(0.07), {**given, "D": best[0] * factor}, bounds
        )
        assert other.rate > best[1].rate
