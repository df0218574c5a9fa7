"""How are verdicts, exponents and configurations put into words? Shared by every form of the report."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sgverify.claims import claims
from sgverify.evidence import Evidence
from sgverify.gradients import ESTIMATORS

ORDER = "order"
SYMBOLS = {"pass": "✓", "fail": "✗", "refuted": "⚑", "undecided": "?", "not-applicable": "○"}
MEANINGS = {
    "pass": "the claim holds for the scheme and setting shown",
    "fail": "the claim does not hold for the scheme and setting shown",
    "refuted": "the claim as printed fails for the scheme and setting shown; the corrected claim judges the scheme",
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
