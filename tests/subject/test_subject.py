"""Subjects whose target is not Gaussian: what they answer, and what they say they cannot."""

from __future__ import annotations

from typing import Any

import pytest

from sgverify.configuration import load_configuration
from sgverify.errors import DefinitionError
from sgverify.schemes import find_scheme, langevin, scheme, sqrt
from sgverify.subject.subject import Subject
from tests.zoo.schemes import noise_then_gradient

NAMES = ["double-well", "quartic", "mixture", "logistic-regression"]


def subject(scheme: str, **tree: Any) -> Subject:
    return Subject(find_scheme(scheme), load_configuration(tree), scheme)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scheme", ["sgld-euler", "sghmc-aboba", "sgnht-euler"])
def test_no_gaussian_law_is_asked_for(name: str, scheme: str) -> None:
    found = subject(scheme, target={"name": name})
    found.validate()
    assert not found.affine
    assert found.why_not_affine == f"the potential of target.name={name!r} is not quadratic"
    with pytest.raises(DefinitionError, match=f"{name!r}: U is not quadratic"):
        _ = found.truth
    assert found.reference_average.method in ("exact", "certified")
    assert found.reference_average.error_bound < 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_default_steps_follow_the_time_scales(name: str) -> None:
    with_momentum, without = (subject(s, target={"name": name}) for s in ("sghmc-aboba", "sgld-euler"))
    curvature = without.target.curvature_float64(1.0)
    assert without.step == pytest.approx(0.2 / curvature)
    assert with_momentum.step == pytest.approx(0.3 / curvature**0.5)
    assert with_momentum.scale == with_momentum.step
    assert subject("sgld-euler", target={"name": name}, schedule={"step": 0.5}).step == 0.5


def test_the_default_step_scales_with_the_target() -> None:
    # theta -> c theta makes U'' smaller by c^2: a step that did not follow would be unstable or slow.
    one, four = (
        subject("sgld-euler", target={"name": "double-well", "width": w, "tilt": 0.0}) for w in (1, 4)
    )
    assert four.step / one.step == pytest.approx(16, rel=1e-6)


@pytest.mark.parametrize(
    ("gradient", "noisy"),
    [
        ({"kind": "full"}, False),
        ({"kind": "iid"}, True),
        ({"kind": "without-replacement"}, True),
        ({"kind": "without-replacement", "batch": 20}, False),
        ({"kind": "reshuffle"}, False),
        ({"kind": "symmetric"}, False),
        ({"kind": "svrg"}, False),
        ({"kind": "additive"}, True),
    ],
)
def test_minibatches_make_noise_though_its_cumulants_are_not_known(gradient: Any, noisy: bool) -> None:
    found = subject("sghmc-aboba", target={"name": "logistic-regression", "size": 20}, gradient=gradient)
    found.validate()
    assert found.noise.noisy is noisy


def test_reasons_on_a_gaussian_target_are_those_of_the_step() -> None:
    assert subject("sghmc-aboba").why_not_affine is None
    assert "clipped gradient" in str(subject("sghmc-aboba", gradient={"clip": 1.0}).why_not_affine)
    thermostat = subject("sgnht-euler")
    assert not thermostat.affine and thermostat.why_not_affine
    assert thermostat.reference_average.method == "exact"


@scheme(langevin, order=1)
def two_leapfrogs(theta, *, h, grad, noise, T):
    t, p = sqrt(h / 2), sqrt(T) * noise()
    p = p - t / 2 * grad(theta)
    theta = theta + t * p
    return theta + t * (p - t * grad(theta))


def test_no_default_step_is_one_at_which_the_radius_touches_one() -> None:
    # The factor of the mean is T_2(1 - h P/4): -1 at h = 4/P, half of the limit 8/P, and inside (-1, 1) on both sides of it.
    found = Subject(two_leapfrogs, load_configuration({"target": {"name": "gaussian"}}), "two_leapfrogs")
    assert found.step_sizes.limit == pytest.approx(8.0)
    assert found.step_sizes.default == pytest.approx(2.0)
    found.validate()


def test_a_default_step_keeps_its_draws() -> None:
    """At half the limit a gradient step takes theta to the mode, and noise that came before it with it."""

    gaussian = load_configuration({"target": {"name": "gaussian"}})
    assert Subject(noise_then_gradient, gaussian, "mine").step == pytest.approx(0.5)
    # Where the noise comes last nothing is lost.
    assert Subject(find_scheme("sgld-euler"), gaussian, "sgld-euler").step == pytest.approx(1.0)
