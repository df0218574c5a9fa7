"""The spectral radius of one step on a harmonic potential of frequency 1, by friction and step size; and the stability limit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from sgverify.exact.affine.stability import spectral_radii, stability_limit
from sgverify.schemes import find_scheme

DRAWN = ("sghmc-euler", "sghmc-euler-explicit", "sghmc-aboba", "sghmc-baoab", "sghmc-oabao", "sghmc-ubu")
"""Schemes with a momentum whose regions differ; OBABO, BAOAB and NOGIN share one."""

FRICTIONS = tuple(float(f"{value:.4g}") for value in np.geomspace(0.05, 20, 40))
STEPS = tuple(float(f"{value:.4g}") for value in np.geomspace(0.05, 20, 60))
"""h in units of 1/omega, D in units of omega."""


def measured(scheme: str) -> dict[str, Any]:
    """Radii, one row for each friction, and the limit at each friction (None: stable at every step)."""
    found = find_scheme(scheme)
    radii, limits = [], []
    for friction in FRICTIONS:
        given = {"D": Fraction(str(friction)), "T": Fraction(1)}
        radii.append([float(f"{r:.5g}") for r in spectral_radii(found, given, [1.0], STEPS)])
        limit = stability_limit(found, given, [1.0])
        limits.append(float(f"{limit:.6g}") if np.isfinite(limit) else None)
    return {"scheme": scheme, "radii": radii, "limits": limits}
