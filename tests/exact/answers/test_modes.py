"""Stationary answers in the eigenvectors of the precision, against the chain as a whole in fractions and balls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import flint
import pytest
from flint import arb

from benchmarks.dimensions import dense_target
from sgverify.errors import InstabilityError
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import QuadraticAnswers, answers_for
from sgverify.exact.answers.modes import ModeAnswers, common_noise
from sgverify.exact.answers.normal_modes import NormalModes, Turned, stationary_average
from sgverify.exact.numbers.ball import PrecisionLostError, number
from tests.zoo.affine_models import model_of

STEP = fixed_step(0.05)
JOINT = "theta[0]*p[1] + p[0]**2 + 0.5*theta[2] - 1 + theta[1]*theta[2]"


def coupled(dim: int) -> dict[str, Any]:
    """A noise that no eigenvector of the precision decouples."""
    rows = [[(1 + i / 3) * (i == j) + 0.1 for j in range(dim)] for i in range(dim)]
    return {"kind": "additive", "covariance": rows}


def settings(dim: int, **more: Any) -> dict[str, Any]:
    return {"target": {**dense_target(dim), "mean": [0.1 * i for i in range(dim)]}, **more}


CASES = [
    ("sghmc-aboba", settings(5)),
    ("sghmc-aboba", settings(5, test_function=JOINT, gradient={"kind": "additive", "covariance": 0.5})),
    ("sghmc-euler", settings(4, test_function=JOINT, gradient=coupled(4))),
    ("sgld-euler", settings(6, test_function="theta[0]*theta[1] + theta[2]**2", gradient=coupled(6))),
    ("sghmc-ubu", settings(4, friction=0.7)),
]


@pytest.mark.parametrize(("scheme", "chosen"), CASES)
def test_modes_agree_with_the_chain_as_a_whole(scheme: str, chosen: dict[str, Any]) -> None:
    """Two enclosures of one number meet, to 20 digits; expansions in fractions agree digit by digit."""
    model = model_of(scheme, **chosen)
    modes, whole = ModeAnswers(model), QuadraticAnswers(model)
    one, other = modes.stationary_bias(STEP), whole.stationary_bias(STEP)
    assert one.ball.overlaps(other.ball)
    assert float(one.ball.rad()) < 1e-20
    assert modes.expansion == whole.expansion
    assert modes.expansion.exact == (common_noise(model) is not None or whole.expansion.exact)


def test_twenty_coordinates_agree_with_balls_of_the_whole_chain() -> None:
    """At dimension 20 the whole chain is solved in balls; the modes' zeros are proved, those are balls that contain 0."""
    model = model_of("sghmc-aboba", **settings(20))
    modes, whole = answers_for(model), QuadraticAnswers(model)
    assert isinstance(modes, ModeAnswers)
    assert modes.stationary_bias(STEP).ball.overlaps(whole.stationary_bias(STEP).ball)
    assert modes.expansion.exact
    assert modes.expansion.texts[:2] == ("0", "0")
    assert modes.arithmetic is not None


def test_a_precision_beyond_the_stated_defect_is_seen() -> None:
    """The basis of a precision that differs by 1e-18 gives another value: by its own defect it would be off its bound."""
    model = model_of("sghmc-aboba", **settings(8))
    with flint.ctx.workprec(192):
        turned = Turned.of(model)
        h = number(0.05)
        right = stationary_average(NormalModes(turned, h))
        values = (turned.basis.values[0] + arb(1e-18), *turned.basis.values[1:])
        wrong = replace(turned, basis=replace(turned.basis, values=values))
        assert not stationary_average(NormalModes(wrong, h)).overlaps(right)
        # With the defect that such values have, the bound covers the true value.
        honest = replace(wrong, basis=replace(wrong.basis, defect=turned.basis.defect + arb(1e-18)))
        covered = stationary_average(NormalModes(honest, h))
        assert covered.overlaps(right)
        assert float(covered.rad()) > float(right.rad())


def test_an_unstable_mode_is_refused_with_its_spectral_radius() -> None:
    with pytest.raises(InstabilityError, match="spectral radius"):
        ModeAnswers(model_of("sgld-euler", **settings(8))).stationary_bias(fixed_step(3.0))


def test_eigenvectors_that_are_not_found_leave_the_chain_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect that no bound survives at any precision falls back, and says nothing wrong."""
    model = model_of("sghmc-aboba", **settings(8))
    of = Turned.of

    def poor(given: Any) -> Turned:
        found = of(given)
        return replace(found, basis=replace(found.basis, defect=arb(1)))

    monkeypatch.setattr(Turned, "of", poor)
    found = ModeAnswers(model).stationary_bias(STEP)
    assert found.ball.overlaps(QuadraticAnswers(model).stationary_bias(STEP).ball)
    assert found.error_bound < 1e-15


def test_no_mode_is_passed_over_in_a_bound() -> None:
    modes = object.__new__(NormalModes)
    small, above = flint.arb_mat([[arb("0.25")]]), arb("0.25") + arb(2) ** -80
    with flint.ctx.workprec(192):
        bounds = []
        for maps in ([small, flint.arb_mat([[above]])], [flint.arb_mat([[above]])]):
            vars(modes)["maps"] = maps
            vars(modes).pop("summed_powers", None)
            bounds.append(modes.summed_powers)
        # Norms that are one number when rounded to floats.
        assert bounds[0] >= bounds[1]
        vars(modes).pop("summed_powers")
        vars(modes)["maps"] = [small, flint.arb_mat([[arb("nan")]])]
        with pytest.raises((InstabilityError, PrecisionLostError)):
            _ = modes.summed_powers
