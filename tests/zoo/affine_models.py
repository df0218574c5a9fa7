"""Models for the tests of the affine reading, built from a configuration as the checks build theirs."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np

from sgverify.configuration import load_configuration
from sgverify.exact.affine.model import Model
from sgverify.exact.affine.noise import gradient_noise
from sgverify.exact.posterior.polynomials import posterior_average
from sgverify.schemes import Scheme, exact, find_scheme
from sgverify.targets import build_target, parse_observable


def model_of(scheme: Scheme | str, **settings: Any) -> Model:
    """The exact model of a scheme under `settings`, keys of the configuration."""
    found = find_scheme(scheme) if isinstance(scheme, str) else scheme
    c = load_configuration(settings)
    target = build_target(c.target)
    text = c.test_function if target.dim == 1 or "test_function" in settings else "theta[0]**2"
    observable = parse_observable(text, target.dim, found.dynamics.state)
    temperature = exact(c.temperature)
    return Model(
        scheme=found,
        target=target,
        observable=observable,
        truth=posterior_average(target, observable, temperature),
        noise=gradient_noise(c.gradient, target),
        temperature=temperature,
        friction=exact(c.friction),
        start=exact(c.start),
        stationary_momentum=c.start_momentum == "stationary",
    )


def gaussian(precision: Any, mean: Any = 0.0) -> dict[str, Any]:
    """The target table of a bare quadratic potential."""
    return {"name": "gaussian", "precision": precision, "mean": mean}


def floats(matrix: Any) -> np.ndarray:
    """A flint matrix as float64; every ball must be far narrower than a float."""
    rows = []
    for i in range(matrix.nrows()):
        row = []
        for j in range(matrix.ncols()):
            entry = flint.arb(matrix[i, j])
            assert float(entry.rad()) <= 1e-25 * (1 + abs(float(entry.mid())))
            row.append(float(entry.mid()))
        rows.append(row)
    return np.array(rows)
