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
    assert np.allclose(plane.generate(plane.power(2, 1)), expected, atol=1e-9)
    right = plane.power(2, 0)
    left = plane.generate(plane.solve(right))
    # The modes beyond the last are missing there, and only there.
    assert np.abs(left - plane.centred(right))[:-1].max() < 1e-9
    assert plane.mean(plane.solve(right)) == pytest.approx(0.0, abs=1e-12)
