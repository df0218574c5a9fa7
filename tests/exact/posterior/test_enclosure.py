"""Certified enclosures against closed forms and mpmath at 50 digits; each step that is left out is seen."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from flint import acb, arb, arb_poly
from mpmath import mpf

from sgverify.errors import DefinitionError, Unreached
from sgverify.exact.posterior import panels
from sgverify.exact.posterior import tails as enclosure
from sgverify.exact.posterior.panels import Balls
from sgverify.exact.posterior.reference import reference_average
from sgverify.exact.posterior.tails import Bounds, Tails, beyond, enclosed_average, enclosed_moments, exactly
from sgverify.schemes.definition.mathematics import exp, log, softplus
from sgverify.targets import Target, Vector, build_target, constant, coordinate, parse_observable
from sgverify.targets.line import find_frame


def build(name: str, **keys: Any) -> Target:
    return build_target(SimpleNamespace(name=name, **keys))


def enclosed(target: Target, power: int, temperature: Any = 1) -> arb:
    return enclosed_average(target, {(power,): Fraction(1)}, Fraction(temperature))


def holds(ball: arb, truth: Any) -> bool:
    """Whether the ball holds the number, which is known to 40 digits."""
    with flint.ctx.workprec(192), mpmath.workdps(45):
        return bool(ball.overlaps(arb(mpmath.nstr(mpf(truth), 40)) + arb(0, abs(float(truth)) * 1e-38)))


def quartic(power: int) -> Any:
    with mpmath.workdps(50):
        return mpmath.gamma(mpf(power + 1) / 4) / mpmath.gamma(mpf(1) / 4)


def test_the_quartic_by_gamma_functions() -> None:
    # U = x^4: E x^2 = Gamma(3/4)/Gamma(1/4) = 0.33798912003364...
    target = build("quartic", strength=4.0, tilt=0.0)
    for power in (2, 4, 6, 8):
        found = enclosed(target, power)
        assert holds(found, quartic(power))
        assert float(found.rad()) < 1e-14 * float(found)
    assert enclosed(target, 3).contains(0)


def test_a_symmetric_double_well_by_parabolic_cylinder_functions() -> None:
    # (x^2 - 1)^2/T: int e^(-(x^4 - 2 x^2)/T) by U(a, -2/sqrt(2 T)), DLMF 12.5.1.
    target = build("double-well", tilt=0.0, height=1.5)
    with mpmath.workdps(50):
        z = -2 * mpf("1.5") / mpmath.sqrt(2 * mpf("1.5"))
        scale = 1 / mpmath.sqrt(2 * mpf("1.5"))
        # s = x^2 has the density s^(-1/2) e^(-1.5 s^2 + 3 s).
        ratio = scale * mpmath.gamma(1.5) * mpmath.pcfu(1, z) / (mpmath.gamma(0.5) * mpmath.pcfu(0, z))
    assert holds(enclosed(target, 2), ratio)


def test_a_logistic_posterior_by_mpmath() -> None:
    target = build("logistic-regression", data=[[0.5, 1.0], [-1.5, 0.0], [2.0, 1.0], [3.0, 0.0]])
    with mpmath.workdps(50):
        data = [(mpf(float(x)), int(y)) for x, y in target.data]  # type: ignore[union-attr]

        def weight(x: Any, k: int) -> Any:
            scores = [a * x if y else -a * x for a, y in data]
            return x**k * mpmath.exp(-(x**2) / 2) / mpmath.fprod(1 + mpmath.exp(-s) for s in scores)

        points = [-mpmath.inf, -4, -1, 0, 1, 2, 4, mpmath.inf]
        first, norm = (mpmath.quad(lambda x, k=k: weight(x, k), points) for k in (1, 0))
        truth = first / norm
    assert holds(enclosed(target, 1), truth)


@pytest.mark.power  # 1.3 s
def test_a_thousand_data_neither_overflow_nor_widen() -> None:
    # e^(-U) is about e^(-500) here: nothing but the scaled integrand has a float.
    target = build("logistic-regression", size=1000)
    assert target.energy_float64(np.zeros((1, 1)))[0] > 600
    found = enclosed(target, 2)
    assert float(found.rad()) < 1e-15 * float(found)
    by_quadrature = reference_average(target, parse_observable("theta**2", 1), 1)
    assert by_quadrature.method == "certified"
    assert abs(float(by_quadrature) - float(found)) <= by_quadrature.error_bound + float(found.rad())


@pytest.mark.parametrize(
    "name",
    ["double-well", "quartic", "mixture", "logistic-regression", "gamma-poisson", "beta-bernoulli"],
)
def test_it_lies_within_the_bound_of_quadrature(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sgverify.exact.posterior import reference

    target, observable = build(name), parse_observable("theta**3 - theta", 1)
    certified = reference_average(target, observable, Fraction(3, 2))
    assert certified.error_bound <= 1e-15 * max(1.0, abs(float(certified)))
    monkeypatch.setattr(reference, "_enclosed", lambda *given: None)
    rough = reference_average(target, observable, Fraction(3, 2))
    assert abs(float(certified) - float(rough)) <= certified.error_bound + rough.error_bound


# The bounds beyond a cut, against mpmath, on both sides.
@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(
    "name", ["double-well", "quartic", "mixture", "logistic-regression", "gamma-poisson", "beta-bernoulli"]
)
def test_tails_are_bounded_and_not_far_from_what_they_are(name: str, side: int) -> None:
    target = build(name)
    frame = find_frame(target.energy_of_coordinate(0))
    energy = enclosure.read_energy(target, 0, Fraction(1), Tails, exactly(arb(0)), arb(frame.lowest))
    cut = frame.centre + side * 3 * frame.scale
    bounds = beyond(energy, arb(cut), side, 2)
    assert bounds is not None
    line = target.energy_of_coordinate(0)

    def density(t: Any) -> float:
        return float(np.exp(frame.lowest - line(np.array([cut + side * float(t)]))[0]))

    for k, bound in enumerate(bounds):
        with mpmath.workdps(15):
            truth = mpmath.quad(
                lambda t, k=k: abs(cut + side * float(t)) ** k * density(t),
                [0, frame.scale / 2, 8 * frame.scale],
            )
        assert truth <= float(bound) * (1 + 1e-9)
        # Tangents at the cut: right to a small factor, so that cuts stay close.
        assert float(bound) < 30 * truth


def test_a_tail_without_growth_has_no_bound() -> None:
    assert beyond(lambda x: softplus(x), arb(0), -1, 0) is None
    assert beyond(lambda x: x * x - x * x, arb(0), 1, 0) is None
    # -x^2 falls: not a density.
    assert beyond(lambda x: -(x * x), arb(1), 1, 0) is None
    with pytest.raises(Unreached, match="tails"):
        enclosure.find_cut(lambda x: log(exactly(arb(2))) + 0 * x, arb(0), arb(1), 1, 2, 6.0)


def test_bounds_hold_on_the_whole_half_line() -> None:
    """Each function of a potential on v = c + b t + a t^2, at points up to t = 50."""
    for c, b, a in [(0.5, 1.0, 0.25), (-2.0, -1.5, 0.0), (1.0, 2.0, -0.5), (-1.0, -1.0, 1.0)]:
        polynomial = exactly(arb_poly([c, b, a]))
        for function, plain in ((exp, np.exp), (softplus, lambda v: np.logaddexp(0, v))):
            found: Bounds = function(polynomial)
            for t in (0.0, 0.3, 1.0, 4.0, 20.0):
                value = plain(c + b * t + a * t * t)
                low = sum(float(k) * t**j for j, k in enumerate(found.lower.coeffs()))
                assert low <= value * (1 + 1e-12) + 1e-12
                if found.upper is not None:
                    assert (
                        value
                        <= sum(float(k) * t**j for j, k in enumerate(found.upper.coeffs())) * (1 + 1e-12)
                        + 1e-12
                    )
            flipped = -found
            assert float(flipped.lower[0]) == (
                -float("inf") if found.upper is None else -float(found.upper[0])
            )


def test_a_box_on_the_cut_of_the_logarithm_has_no_value() -> None:
    assert not softplus(acb(arb(0, 0.5), arb(3, 0.5))).is_finite()
    assert not log(acb(arb(-1, 0.5), arb(0, 0.5))).is_finite()
    inside = softplus(acb(arb(1, 0.5), arb(0, 0.5)))
    assert inside.is_finite()
    for x in (0.6, 1.4):
        for y in (-0.45, 0.45):
            value = complex(np.log(1 + np.exp(complex(x, y))))
            right = softplus(acb(arb(x), arb(y)))
            assert abs(complex(float(right.real), float(right.imag)) - value) < 1e-14
            assert inside.real.contains(arb(value.real)) and inside.imag.contains(arb(value.imag))


# What each ingredient is for: without it the closed form is outside the ball, or there is no ball.
def test_a_series_that_flint_cuts_short_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import nullcontext

    monkeypatch.setattr(panels, "_series_length", lambda terms: nullcontext())
    target = build("mixture", weights=[3, 1], means=[-1.0, 1.5], scales=[0.5, 0.75])
    truth = mpf(3) / 4 * (1 + mpf(1) / 4) + mpf(1) / 4 * (mpf(9) / 4 + mpf(9) / 16)
    assert not (_answers(target) and holds(enclosed(target, 2), truth))


def test_tails_that_are_dropped_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = enclosure.find_cut

    def near(*given: Any) -> Any:
        _, bounds = kept(*given)
        centre, width, side = given[1:4]
        return centre + side * 3 * width, bounds

    monkeypatch.setattr(enclosure, "find_cut", near)
    assert not holds(enclosed(build("quartic", strength=4.0, tilt=0.0), 2), quartic(2))


def test_an_error_of_the_taylor_polynomial_that_is_dropped_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    target = build("mixture", weights=[3, 1], means=[-1.0, 1.5], scales=[0.5, 0.75])
    truth = mpf(3) / 4 * (1 + mpf(1) / 4) + mpf(1) / 4 * (mpf(9) / 4 + mpf(9) / 16)
    assert holds(enclosed(target, 2), truth)
    monkeypatch.setattr(panels, "_missed", lambda *given: arb(0))
    assert not (_answers(target) and holds(enclosed(target, 2), truth))


def test_a_jacobian_that_is_missing_is_seen() -> None:
    # log rate of Gamma(a, b): E theta = psi(a) - log b.
    data = [3, 0, 4, 2]
    target = build("gamma-poisson", data=data, shape=1.5, rate=0.5)
    with mpmath.workdps(45):
        truth = mpmath.psi(0, mpf("1.5") + 9) - mpmath.log(mpf("4.5"))
    assert holds(enclosed(target, 1), truth)
    wrong = Target(
        "wrong", 1, lambda theta: target.prior(theta) + coordinate(theta, 0), target.likelihood, target.data
    )
    assert not holds(enclosed(wrong, 1), truth)


def test_without_the_scaling_by_the_mode_there_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    target = build("quartic", strength=4.0, tilt=0.0)
    shifted = Target("shifted", 1, lambda theta: target.prior(theta) + 5000, None, None)
    assert holds(enclosed(shifted, 2), quartic(2))
    kept = enclosure.read_energy
    monkeypatch.setattr(enclosure, "read_energy", lambda *given: kept(*given[:-1], arb(0)))
    found = enclosed(shifted, 2) if _answers(shifted) else None
    assert found is None or not float(found.rad()) < 1e-12


def _answers(target: Target) -> bool:
    try:
        enclosed(target, 2)
    except Unreached:
        return False
    return True


def test_many_data_and_black_boxes_are_left_to_quadrature() -> None:
    with pytest.raises(Unreached, match="more than 2000 different data"):
        enclosed_moments(build("logistic-regression", size=2001), 0, Fraction(1), 2)

    plain = build("quartic")

    def black(theta: Any) -> Any:
        if isinstance(theta, Balls | Tails):
            raise DefinitionError("a function of torch tensors")
        return plain.prior(theta)

    with pytest.raises(Unreached, match="torch"):
        enclosed_moments(Target("black", 1, black), 0, Fraction(1), 2)


@pytest.mark.parametrize(
    ("name", "keys", "temperature"),
    [
        ("mixture", {"means": [-50.0, 50.0]}, 2),
        ("gamma-poisson", {"shape": 0.02, "data": [0.0]}, 1),
        ("double-well", {"height": 1000.0, "width": 100.0}, 1),
        ("logistic-regression", {"prior_mean": 100.0}, 3),
    ],
)
def test_far_modes_and_lopsided_tails_are_within_reach(
    name: str, keys: dict[str, Any], temperature: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sgverify.exact.posterior import reference

    target, observable = build(name, **keys), parse_observable("theta**2 - theta", 1)
    monkeypatch.setattr(reference, "conjugate_law", lambda *given: None)
    certified = reference_average(target, observable, temperature)
    assert certified.method == "certified"
    assert certified.error_bound <= 1e-15 * abs(float(certified))
    monkeypatch.setattr(reference, "_enclosed", lambda *given: None)
    rough = reference_average(target, observable, temperature)
    assert abs(float(certified) - float(rough)) <= certified.error_bound + rough.error_bound


def test_data_that_are_alike_are_counted() -> None:
    rows = [[0.5, 1.0], [2.0, 0.0]]
    apart = build("logistic-regression", data=[rows[0], rows[1], rows[0], rows[0]])
    weighted = Target(
        "weighted",
        1,
        lambda theta: apart.prior(theta) + 3 * _of_datum(apart, theta, 0) + _of_datum(apart, theta, 1),
    )
    once = build("logistic-regression", data=rows)
    assert enclosed(apart, 2).overlaps(enclosed(weighted, 2))
    assert not enclosed(apart, 2).overlaps(enclosed(once, 2))


def _of_datum(target: Target, theta: Any, row: int) -> Any:
    assert target.data is not None and target.likelihood is not None
    values = target.data[row]
    datum = (
        values if isinstance(theta, np.ndarray) else constant(theta, Vector(map(Fraction, values.tolist())))
    )
    return target.likelihood(theta, datum)


def test_constants_meet_balls_exactly() -> None:
    third = constant(Balls([arb(1)]), Balls([Fraction(1, 3)])).entries[0]
    assert third.contains(arb(1) / 3) and float((Balls([arb(1)]) / 3).entries[0]) == 1 / 3
