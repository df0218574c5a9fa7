"""Poisson's equation in the plane: its solution, and its generator against derivatives that are written out."""

from __future__ import annotations

import numpy as np
import pytest

from sgverify.configuration import load_configuration
from sgverify.exact.transfer.plane.interpreter import support
from sgverify.exact.transfer.plane.poisson import PoissonPlane
from sgverify.targets import build_target


def test_poissons_equation_is_solved_and_the_generator_is_that_of_the_dynamics() -> None:
    target = build_target(load_configuration(settings=["target.name=double-well"]).target)
    temperature, friction = 0.8, 1.5
    ends = support(target, temperature, 66.0)
    plane = PoissonPlane(target, temperature, friction, ends=ends, points=128, modes=60)
    # L(theta^2 p) = 2 theta p^2 - theta^2 (U' + D p), written out.
    slope = plane.potential[1]
    expected = 2 * plane.power(1, 2) - friction * plane.power(2, 1)
    expected[0] -= plane.theta**2 * slope * plane.root
    assert np.allclose(generate(plane, plane.power(2, 1)), expected, atol=1e-9)
    right = plane.power(2, 0)
    psi = plane.solve(right)
    centred = right.copy()
    centred[0] -= plane.root * (plane.root @ right[0])
    # The modes beyond the last are missing there, and only there.
    assert np.abs(generate(plane, psi) - centred)[:-1].max() < 1e-9
    assert plane.root @ psi[0] == pytest.approx(0.0, abs=1e-12)


def generate(plane: PoissonPlane, function: np.ndarray) -> np.ndarray:
    """L f, as the hierarchy of modes has it."""
    modes = np.sqrt(np.arange(plane.modes))[:, None]
    left = -plane.friction * modes**2 * function
    left[1:] += modes[1:] * (function[:-1] @ plane.raising.T)
    left[:-1] -= modes[1:] * (function[1:] @ plane.raising)
    return left
