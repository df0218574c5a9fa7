"""The exponent that the exact points of evidence show, by regression."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sgverify.checks.registry import CHECKS
from sgverify.evidence import Evidence, Point
from sgverify.rates import regress_exact


def with_regression(evidence: Evidence) -> Evidence:
    """The evidence with the regression on its points in the certificate; sampled evidence already holds its own fit."""
    name = "length" if CHECKS[evidence.check].along_schedule else "step"
    points = sorted(
        (p for p in evidence.points if p.kind == "exact" and getattr(p, name) is not None and not p.diverged),
        key=lambda point: float(getattr(point, name)),
    )
    if "regression" in evidence.certificate or evidence.predicted.exponent is None or not points:
        return evidence
    places = np.array([float(getattr(point, name)) for point in points])
    line = regress_exact(places, *_values(points))
    certificate = line.certificate(places.tolist(), "L" if name == "length" else "h")
    return replace(evidence, certificate={**evidence.certificate, "regression": certificate})


def _values(points: list[Point]) -> tuple[np.ndarray, np.ndarray]:
    """The values of the points and the error bound of each; the bound of a point without a value is infinite."""
    values = np.array([0.0 if point.value is None else point.value for point in points])
    bounds = np.array([np.inf if p.value is None or p.error_bound is None else p.error_bound for p in points])
    return values, bounds
