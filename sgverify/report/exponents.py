"""How is the exponent fitted to a rate's points put into words, with its limits, and how does it compare with exact ones?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sgverify.evidence import Evidence, Point, Study, Table
from sgverify.rates import Sample, regress, regress_exact
from sgverify.report.wording import OF_THE_LAW, found_text, gradient_text, predicted_text, rate_text, variable

EXACT = "range of local slopes"
BENT = 0.01
"""The p-value of the residuals below which the points are said to bend."""


def fitted_line(evidence: Evidence) -> Mapping[str, Any] | None:
    """The regression on the points of a rate from the certificate; None if there is none, or if it has no exponent."""
    line = evidence.certificate.get("regression")
    return line if isinstance(line, Mapping) and line.get("exponent") is not None else None


def fitted_text(evidence: Evidence) -> str:
    """A few sentences about the exponent that the points of a rate show; "" without a regression."""
    line = evidence.certificate.get("regression")
    if not isinstance(line, Mapping):
        return ""
    if line.get("exponent") is None:
        return f"no exponent is fitted to the points: {line.get('why_none')}"
    name = variable(evidence)
    where = _over(line, name)
    exact = line["interval"] == EXACT
    slope, low, high = (f"{line[key]:.{3 if exact else 2}f}" for key in ("exponent", "low", "high"))
    slope = f"{name}^{slope}" if line["exponent"] >= 0 else f"{name}^({slope})"
    if exact:
        said = f"fitted to the points over {where}: {slope}"
        local = f"their local slopes go from {low} to {high}, which is no confidence interval"
        return "; ".join([said, local, *_beside_the_limit(evidence, line)])
    said = f"fitted over {where}: {slope} [{low}, {high}] at 95 %, an effective exponent there and no limit"
    residuals = ", ".join(f"{value:.1f}" for value in line["residuals"])
    parts = [said, f"residuals {residuals} standard errors"]
    if line["lack_of_fit"] < BENT:
        parts.append(f"no power describes them (p = {line['lack_of_fit']:.1g})")
    if line["left_out"]:
        parts.append("left out: " + ", ".join(f"{place} ({why})" for place, why in line["left_out"].items()))
    return "; ".join([*parts, *_beside_the_verdict(evidence, line)])


def _over(line: Mapping[str, Any], name: str) -> str:
    places: Sequence[float] = line[name]
    count = len(places) + len(line["left_out"])
    many = f"{len(places)} points" if count == len(places) else f"{len(places)} of {count} points"
    return f"{name}={min(places):.3g} to {max(places):.3g} ({many})"


def _beside_the_limit(evidence: Evidence, line: Mapping[str, Any]) -> list[str]:
    """A sentence if the exact points have not reached the limit (h -> 0 or L -> infinity) that defines the exponent."""
    limit = evidence.found.exponent
    if limit is None or round(line["low"], 3) <= limit <= round(line["high"], 3):
        return []
    end = "h -> 0" if variable(evidence) == "h" else "L to infinity"
    return [f"{rate_text(limit, variable(evidence))} is that of {end}, where these points are not yet"]


def _beside_the_verdict(evidence: Evidence, line: Mapping[str, Any]) -> list[str]:
    """A sentence with the reason why the verdict differs from the one that the interval suggests, if it does."""
    predicted = evidence.predicted.exponent
    if predicted is None or evidence.verdict not in ("conforms", "violates"):
        return []
    # For decaying errors, a smaller exponent of h is slower, and a greater exponent of L is slower.
    sign = 1 if variable(evidence) == "h" else -1
    fastest = max(sign * line["low"], sign * line["high"])
    slowest = min(sign * line["low"], sign * line["high"])
    claimed = predicted_text(evidence)
    if evidence.verdict == "conforms" and fastest < sign * predicted:
        return [f"that is slower than {claimed}, by terms that the test of the slower orders allows for"]
    if evidence.verdict == "violates" and slowest >= sign * predicted:
        return [
            f"that is not slower than {claimed}: the slower part shows in the test, and at smaller errors"
        ]
    return []


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
    """One study with a row for each piece of evidence that has exact and sampled points; empty if there is none."""
    rows: dict[tuple[str, str, tuple[Point, ...]], tuple[str | float | None, ...]] = {}
    for item in evidence:
        sampled = [p for p in item.points if p.kind == "sampled" and p.value is not None and p.standard_error]
        if item.method == "exact" and item.found.exponent is not None and sampled:
            # Evidence on a printed and on a corrected claim may have the same points.
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
    """The points as an independent sample with known errors, since each is an average over hundreds of chains."""
    errors = [float(point.standard_error or 0.0) for point in points]
    return Sample.of([float(point.value or 0.0) for point in points], standard_errors=errors)
