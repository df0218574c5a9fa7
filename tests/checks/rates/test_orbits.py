"""What is said of orbits that were followed, and of chains of which none was."""

from __future__ import annotations

import pytest
import torch

from sgverify.checks import verify
from sgverify.checks.readings import AFFINE, escape_of, orbits_of, told_of_orbits
from sgverify.configuration import load_configuration
from sgverify.schemes import langevin, scheme, sqrt
from sgverify.schemes.torch_step import torch_step
from sgverify.subject.binding import make_subject


@scheme(langevin, order=1)
def thermal(theta, *, h, grad, noise, T):
    """Its drift is the cube of the likelihood's force."""
    force = grad.likelihood(theta)
    return theta - h * grad(theta) - h * h * force * force * force + sqrt(2 * T * h) * noise()


def test_a_chain_whose_step_is_an_affine_map_is_told_by_its_spectral_radius() -> None:
    subject = make_subject("sghmc-aboba", load_configuration())
    assert orbits_of(subject) == AFFINE and escape_of(subject) is None
    assert told_of_orbits(AFFINE) == ""


@torch_step(langevin, order=1)
def code(theta, *, h, grad, T):
    return theta - h * grad(theta) + (2 * T * h) ** 0.5 * torch.randn_like(theta)


def test_where_nothing_was_followed_it_is_said_to_be_open() -> None:
    found = orbits_of(make_subject(code, load_configuration()))
    assert "no start far out was followed" in told_of_orbits(found)


@pytest.mark.power  # 1.0 s
def test_what_conforms_says_what_was_followed_and_that_it_is_no_proof() -> None:
    found = verify("sgld-euler", checks=["chen2015/theorem-4"], target={"name": "mixture"})
    (bias,) = [evidence for evidence in found if evidence.check == "stationary-bias"]
    assert bias.verdict == "conforms"
    assert "not proved" in bias.reason and "54 starts" in bias.reason


@pytest.mark.parametrize(("clip", "escapes"), [(None, True), (1.0, False)])
def test_a_force_is_followed_as_it_is_clipped(clip: float | None, escapes: bool) -> None:
    target = {"name": "gaussian-mean", "data": [1.0, 2.0], "dim": 1}
    gradient = {"clip": clip} if clip else {}
    subject = make_subject(thermal, load_configuration(target=target, gradient=gradient))
    assert (escape_of(subject) is not None) is escapes
