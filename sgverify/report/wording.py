"""Words for verdicts, configurations and exponents, predicted and fitted ones; shared by every form of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sgverify.claims import claims
from sgverify.evidence import Evidence, Point, Study, Table
from sgverify.gradients import ESTIMATORS
from sgverify.rates.fit import regress, regress_exact
from sgverify.rates.sample import Sample

ORDER = "order"
SYMBOLS = {"pass": "✓", "fail": "✗", "refuted": "⚑", "undecided": "?", "not-applicable": "○"}
MEANINGS = {
    "pass": "the claim holds for the scheme and setting shown",
    "fail": "the claim does not hold for the scheme and setting shown",
    "refuted": "the claim as printed fails for the scheme and setting shown, by an error of its own, be it a misprint or "
    "one reading of several; the corrected claim judges",
    "undecided": "not answered by what was computed",
    "not-applicable": "a hypothesis of the claim does not hold",
}
LARGEST_DENOMINATOR = 99

OF_THE_LAW = ("stationary-bias", "covariance", "wasserstein-2")
"""The quantities of the invariant law, whose rates are powers of h."""


def error_name(evidence: Evidence) -> str:
    """The name of the errors of points that are not sampled: "error bound" or "error estimate".

    They are estimates by quadrature, since two agreeing rules are no enclosure, and wherever the check says so, as on grids.
    """
    return "error estimate" if evidence.method == "quadrature" or _estimated(evidence) else "error bound"


def method_text(evidence: Evidence) -> str:
    """The method; `exact, errors estimated` for deterministic values with estimated errors, as on a grid."""
    return (
        f"{evidence.method}, errors estimated"
        if evidence.method == "exact" and _estimated(evidence)
        else evidence.method
    )


def _estimated(evidence: Evidence) -> bool:
    return str(evidence.certificate.get("error_bounds_are", "")).startswith("estimate")


def symbol(evidence: Evidence) -> str:
    """One sign per outcome; always shown together with the word."""
    return SYMBOLS[evidence.outcome]


def exponent_text(exponent: float | Fraction | None) -> str:
    """An exponent as a reader writes it: `2`, `-2/3`, `1.37`; an em dash where there is none."""
    if exponent is None:
        return "—"
    near = Fraction(exponent).limit_denominator(LARGEST_DENOMINATOR)
    return str(near) if float(near) == float(exponent) else f"{float(exponent):.3g}"


def rate_text(exponent: float | Fraction | None, variable: str) -> str:
    """`h^2`, `L^(-2/3)` or `order 2`."""
    text = exponent_text(exponent)
    if exponent is None:
        return text
    if variable == ORDER:
        return f"{ORDER} {text}"
    return f"{variable}^{text}" if text.isdigit() else f"{variable}^({text})"


def variable(evidence: Evidence) -> str:
    """The variable whose power a rate is: h for errors of the invariant law, L along a schedule, delta for gradient bias.

    Every other exponent is an order.
    """
    if evidence.check == "gradient-bias":
        return "delta"
    if evidence.check in ("bias", "mse", "consistency"):
        return "L"
    return "h" if evidence.check in OF_THE_LAW else ORDER


def logarithm_text(evidence: Evidence, side: str) -> str:
    """The factor of log L that the check names in its certificate for `side`, "found" or "predicted"."""
    named = evidence.certificate.get("logarithm")
    power = named.get(side) if isinstance(named, Mapping) else None
    return "" if not power else " log L" if power == 1 else f" log^{power} L"


def vanishes(evidence: Evidence) -> bool:
    """Was the quantity found to be identically zero: conforming evidence without an exponent?

    Sampled points that do not exceed their noise have no exponent either, but are not known to be zero, and as little
    an error of which an order is proved at least, or what is read of a black box, within bounds.
    """
    noise = evidence.method == "monte-carlo" and "regression" in evidence.certificate
    noise = noise or evidence.method == "quadrature"
    nothing = (
        evidence.verdict == "conforms" and evidence.found.exponent is None and evidence.found.low is None
    )
    return nothing and not noise and variable(evidence) != ORDER


def predicts_rate(evidence: Evidence) -> bool:
    """Is a rate predicted? A card on an identity, an inequality or a limit holds the order 0, and no order is found."""
    predicted = evidence.predicted.exponent
    return predicted is not None and not (
        predicted == 0 and evidence.found.exponent is None and variable(evidence) == ORDER
    )


def kind_text(evidence: Evidence) -> str:
    """`or faster` for an upper bound, `exactly` for a sharp prediction; empty where no rate is predicted."""
    if not predicts_rate(evidence) or predicts_limit(evidence):
        return ""
    if evidence.predicted.kind == "sharp":
        return "exactly"
    return "or higher" if variable(evidence) == ORDER else "or faster"


def predicts_limit(evidence: Evidence) -> bool:
    """Is the prediction that errors tend to 0, at whatever rate? It is stored as an exponent below 0."""
    return evidence.check == "consistency" and evidence.predicted.exponent == 0


def meets(evidence: Evidence) -> bool:
    """Is the rate that was found as fast as an upper bound asks? A failure that meets it failed by something else."""
    found, predicted = evidence.found.exponent, evidence.predicted.exponent
    if found is None or predicted is None or predicts_limit(evidence):
        return False
    if found == predicted:
        return logarithm_text(evidence, "found") == logarithm_text(evidence, "predicted")
    return evidence.predicted.kind == "upper" and (
        found < predicted if variable(evidence) == "L" else found > predicted
    )


def predicted_text(evidence: Evidence) -> str:
    """The prediction with its kind: `h^2 or faster`, `h^1 exactly`, `tends to 0`; an em dash where no rate is predicted."""
    if not predicts_rate(evidence):
        return "—"
    if predicts_limit(evidence):
        return "tends to 0"
    rate = rate_text(evidence.predicted.exponent, variable(evidence))
    return f"{rate}{logarithm_text(evidence, 'predicted')} {kind_text(evidence)}".rstrip()


def found_text(evidence: Evidence) -> str:
    """The exponent found, with its interval where that is wider than a point; `zero` where the quantity vanishes.

    A rate in L of which only a bound is known reads `L^(-1/2) at most`, a power of h that is bounded below `h^2 or faster`; of a
    black box nothing is known to vanish.
    """
    if vanishes(evidence):
        return "zero"
    found = evidence.found
    if found.exponent is None and found.low is not None and variable(evidence) == "h":
        return f"{rate_text(found.low, 'h')} or faster"
    seen = variable(evidence) == ORDER or evidence.verdict != "conforms" or found.exponent is not None
    if evidence.method == "quadrature" and not seen:
        return "not told from zero"
    if evidence.method == "monte-carlo" and found.exponent is not None:
        # A slope of sampled points depends on their positions; it is not an order and not shown as a fraction.
        ends = f" [{found.low:.3g}, {found.high:.3g}]" if None not in (found.low, found.high) else ""
        return f"effective {variable(evidence)}^({found.exponent:.3g}){ends}"
    text = rate_text(found.exponent, variable(evidence)) + logarithm_text(evidence, "found")
    if found.exponent is None or (found.low == found.exponent == found.high):
        return text
    if found.low is None and found.high is None:
        return text
    if found.low is None and found.high == found.exponent and variable(evidence) == "L":
        return f"{text} at most"
    return f"{text} [{_end(found.low, '-inf')}, {_end(found.high, 'inf')}]"


def compared_text(evidence: Evidence) -> str:
    """`h^1 for h^2 or faster`: the rate found and the rate predicted; "" where neither is a rate."""
    found, predicted = found_text(evidence), predicted_text(evidence)
    return "" if (found, predicted) == ("—", "—") else f"{found} for {predicted}"


def gradient_text(configuration: Mapping[str, Any]) -> str:
    """`full gradients`, `independent (iid) minibatches of 10`."""
    table = configuration.get("gradient") or {}
    kind = str(table.get("kind", "full"))
    label = ESTIMATORS[kind].label if kind in ESTIMATORS else kind
    return label.format(batch=table.get("batch", "?"))


def claim_order(id: str) -> tuple[int, str]:
    """Cards in their own order, other claims after them by name."""
    known = list(claims())
    return (known.index(id), id) if id in known else (len(known), id)


def number_text(value: float | None) -> str:
    """A computed number in a table."""
    return "—" if value is None else f"{value:.6g}"


def _end(value: float | Fraction | None, open_end: str) -> str:
    return open_end if value is None else exponent_text(value)


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
    return Sample.of([float(point.value or 0.0) for point in points], errors)
