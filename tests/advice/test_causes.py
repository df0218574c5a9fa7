"""Is the cause of a wrong definition named, with its numbers, and none of a right one?"""

from __future__ import annotations

import pytest

from sgverify.advice.diagnosis.causes import named_cause
from sgverify.configuration import load_configuration
from sgverify.exact.readings.formula import plant
from sgverify.schemes import find_scheme
from sgverify.schemes.loading import load_scheme
from sgverify.subject.binding import make_subject
from tests.mutants.planting import planted_scheme
from tests.mutants.registry import find_mutant

PLANTED = (
    ("sgld-euler", "sqrt(2*T*h)", "sqrt(T*h)", "diffusion-scaled", "T/2 where langevin has T: the noise is too small by sqrt(2)"),
    ("sghmc-aboba", "sqrt(2*D*T*h)", "sqrt(6*D*T*h)", "diffusion-scaled", "3 D T where kinetic has D T: the noise is too large"),
    ("sgld-euler", "sqrt(2*T*h)", "h*sqrt(2*T)", "diffusion-power-of-h", "2 T h^2 where 2 T h is due"),
    ("sgld-euler", "sqrt(2*T*h)", "sqrt(2*T)", "diffusion-power-of-h", "the variance 2 T, whatever h is"),
    ("sgld-euler", "h*grad(theta)", "h/2*grad(theta)", "drift-scaled", "-U'/2 where langevin has -U'"),
    ("sgld-euler", "- h*grad", "+ h*grad", "drift-sign", "U' where langevin has -U'"),
    ("sgld-euler", "sqrt(2*T*h)", "sqrt(2*h)", "temperature-missing", "1 where langevin has T"),
    ("sgld-euler", "sqrt(2*T*h)", "T*sqrt(2*h)", "temperature-misplaced", "T^2 where langevin has T"),
    ("sghmc-obabo", "*z2", "*z1", "noise-shared", "one draw is used 2 times"),
    ("sgld-euler", "z1 = noise()", "z1 = noise.scalar()", "noise-shared", "theta1 and theta2 have the covariance 2 T h"),
    ("sghmc-euler", "h*D*p", "2*h*D*p", "friction-wrong", "-2 D p where kinetic has -D p"),
    ("sghmc-euler", "h*D*p", "D*p", "friction-wrong", "without the step size"),
    ("sghmc-aboba", "theta2 = theta1 + h/2*p3", "theta2 = theta1", "substep-wrong", "1/2 h in all"),
    ("sghmc-baoab", "p3 = p2 - h/2*grad", "p3 = p2 - h/4*grad", "substep-wrong", "3/4 h in all"),
    ("sgnht-euler", "dot(p1, p1)/dim", "dot(p1, p1)", "thermostat-dimension", "in dimension 2, and right in one"),
    ("sgnht-euler", "xi + h*", "xi - h*", "thermostat-wrong", "-p^2 + T where thermostat has p^2 - T"),
    ("sghmc-oabao", "grad(theta1)", "grad(theta)", "gradient-at-old-point", "0 of the motion of theta where 1/2"),
    ("sghmc-baoab", "exp(-D*h)", "(1 - D*h)", "letter-not-exact", "0 at h^2 where D^2 p/2 is due"),
    ("sgrld-euler", "metric.root(theta, z1)", "z1", "metric-wrong", "T where riemannian_langevin has T B^2"),
)  # fmt: skip
"""Edits of printed formulas, the cause of each, and what its sentence must hold."""


def cause_of(scheme):
    return named_cause(
        make_subject(scheme, load_configuration({"target": {"data": [[0.0, 1.0], [2.0, 0.5]]}})), []
    )


@pytest.mark.parametrize(("scheme", "was", "now", "name", "says"), PLANTED, ids=lambda item: str(item)[:24])
def test_the_cause_of_a_planted_edit_is_named_with_its_numbers(scheme, was, now, name, says):
    found = cause_of(plant(find_scheme(scheme), was, now))
    assert found.name == name
    assert says in found.sentence


@pytest.mark.by_default(
    "sghmc-aboba", "sghmc-baoab", "sghmc-euler", "sghmc-oabao", "sghmc-obabo", "sgld-euler", "sgnht-euler"
)
@pytest.mark.parametrize("scheme", sorted({row[0] for row in PLANTED}))
def test_a_right_scheme_has_no_cause(scheme):
    assert cause_of(find_scheme(scheme)).name == "not-named"


@pytest.mark.parametrize(
    ("mutant", "name"),
    [
        ("prior-halved", "prior-scaled"),
        ("ubu-noises-uncorrelated", "noise-correlated"),
        ("heun-corrector-without-noise", "gradient-of-wrong-argument"),
        ("sgnht-aboba-friction-of-old-thermostat", "old-value"),
        ("aba-friction-unsplit", "word-not-symmetric"),
        ("euler-claimed-of-order-2", "claimed-order"),
    ],
)
def test_the_cause_of_a_catalogued_bug_is_named_and_not_of_the_scheme_that_it_was_planted_in(mutant, name):
    bug = find_mutant(mutant)
    assert cause_of(planted_scheme(bug)).name == name
    assert cause_of(load_scheme(bug.scheme)).name == "not-named"
