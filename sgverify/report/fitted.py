"""The regression on a rate's points in words, so that it is taken for no more than it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sgverify.evidence import Evidence
from sgverify.report.wording import predicted_text, rate_text, variable

EXACT = "range of local slopes"
BENT = 0.01
"""The chance of residuals as large as these below which the points are said to bend."""


def fitted_line(evidence: Evidence) -> Mapping[str, Any] | None:
    """The regression on the points of a rate, as its certificate holds it; None where there is none, or no exponent."""
    line = evidence.certificate.get("regression")
    return line if isinstance(line, Mapping) and line.get("exponent") is not None else None


def fitted_text(evidence: Evidence) -> str:
    """What the points of a rate show by themselves, in a few sentences; empty where no regression was asked for."""
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
    """That exact points are not in the limit yet in which the exponent is defined, where they are not."""
    limit = evidence.found.exponent
    if limit is None or round(line["low"], 3) <= limit <= round(line["high"], 3):
        return []
    end = "h -> 0" if variable(evidence) == "h" else "L to infinity"
    return [f"{rate_text(limit, variable(evidence))} is that of {end}, where these points are not yet"]


def _beside_the_verdict(evidence: Evidence, line: Mapping[str, Any]) -> list[str]:
    """Why the verdict may differ from what the interval suggests, where it does."""
    predicted = evidence.predicted.exponent
    if predicted is None or evidence.verdict not in ("conforms", "violates"):
        return []
    # Of decaying errors: in h a smaller exponent is slower, in L a greater one.
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
