"""Exponents of sampled points beside the exact ones, for the questions of a report that have both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sgverify.evidence import Evidence, Point, Study, Table
from sgverify.rates import Sample, regress, regress_exact
from sgverify.report.wording import OF_THE_LAW, found_text, gradient_text, variable

COLUMNS = (
    "scheme",
    "gradients",
    "rate of",
    "exact",
    "local slopes there",
    "sampled [95 %]",
    "lack of fit",
    "points",
)


def sampled_beside_exact(evidence: Sequence[Evidence]) -> list[Study]:
    """One study with a row for each question whose curve has exact and sampled points; none where there is no such question."""
    rows: dict[tuple[str, str, tuple[Point, ...]], tuple[str | float | None, ...]] = {}
    for item in evidence:
        sampled = [p for p in item.points if p.kind == "sampled" and p.value is not None and p.standard_error]
        if item.method == "exact" and item.found.exponent is not None and sampled:
            # A printed and a corrected claim may be asked on the same points.
            rows.setdefault((item.scheme, item.check, tuple(sampled)), _row(item, sampled))
    if not rows:
        return []
    table = Table("Effective exponents of the sampled points, and exact ones", COLUMNS, tuple(rows.values()))
    return [
        Study(
            id="sgverify/sampled-beside-exact",
            title="Sampled exponents beside exact ones",
            source="Regression of log|error| on log h or log L: weighted least squares (statsmodels)",
            summary="The exact exponent is that of h -> 0 or L to infinity, from an expansion. The sampled one describes chains of "
            "moderate length at the steps that were sampled, with an interval for their noise; it is effective there, and "
            "decides nothing. Points count that lie more than 3 standard errors from 0 and have one sign; where "
            "fewer than 3 do, there is no exponent. Local slopes are those between neighbouring exact points at the same places: "
            "where the sampled interval misses the exact exponent, they say whether noise or the distance from the limit is why.",
            tables=(table,),
        )
    ]


def _row(item: Evidence, sampled: Sequence[Point]) -> tuple[str | float | None, ...]:
    name = "step" if item.check in OF_THE_LAW else "length"
    ordered = sorted(sampled, key=lambda point: float(getattr(point, name)), reverse=name == "step")
    places = np.array([float(getattr(point, name)) for point in ordered])
    line = regress(places, _sample(ordered))
    used = set(places[list(line.used)].tolist()) or set(places.tolist())
    there = sorted(
        (p for p in item.points if p.kind == "exact" and p.value and float(getattr(p, name)) in used),
        key=lambda point: float(getattr(point, name)),
    )
    exact = regress_exact(
        np.array([float(getattr(point, name)) for point in there]),
        np.array([point.value for point in there], dtype=np.float64),
        np.array([point.error_bound or 0.0 for point in there]),
        fewest=2,
    )
    slopes = "—" if exact.low is None else f"{exact.low:.2f} to {exact.high:.2f}"
    shown = "none: " + line.why
    if line.exponent is not None:
        shown = f"{variable(item)}^({line.exponent:.2f}) [{line.low:.2f}, {line.high:.2f}]"
    return (
        item.scheme,
        gradient_text(item.configuration),
        item.check,
        found_text(item),
        slopes,
        shown,
        line.lack_of_fit,
        f"{len(line.used)} of {len(places)}",
    )


def _sample(points: Sequence[Point]) -> Sample:
    """The points as independent ones with known errors: those of hundreds of chains each."""
    errors = [float(point.standard_error or 0.0) for point in points]
    return Sample.of([float(point.value or 0.0) for point in points], standard_errors=errors)
