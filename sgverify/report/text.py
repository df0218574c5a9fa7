"""How is evidence printed on a terminal: one line each, or the long form of `--explain`? Plain text; the caller adds colour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import indent
from typing import Any

from sgverify.claims import claims
from sgverify.errors import filled, printable
from sgverify.evidence import OUTCOMES, Evidence
from sgverify.rates.sample import chance_of_any
from sgverify.report.wording import (
    compared_text,
    fitted_text,
    found_text,
    method_text,
    predicted_text,
    symbol,
)

FEW, MANY = 4, 12
"""The most records and the most values of a certificate that are shown."""


def counts(evidence: Iterable[Evidence]) -> dict[str, int]:
    """How often each outcome occurs, all of them named."""
    found = Counter[str](item.outcome for item in evidence)
    return {name: found[name] for name in OUTCOMES}


def sampled_together(evidence: Sequence[Evidence]) -> str:
    """A text with the number of sampled verdicts, a bound of the probability of a false violation, and of what the rest may miss.

    "" if no verdict was sampled.
    """
    sampled = [item for item in evidence if item.method == "monte-carlo" and "level" in item.certificate]
    if not sampled:
        return ""
    chance = chance_of_any([item.certificate["level"] for item in sampled])
    said = [
        f"{len(sampled)} sampled answers: the chance that any of them violates though nothing is wrong is at most "
        f"{chance:.2g}, the sum of their levels"
    ]
    conforming = [item.certificate for item in sampled if item.verdict == "conforms"]
    rates = [found for found in conforming if "margin" in found]
    if rates:
        allowed = max(found["margin"] for found in rates)
        said.append(
            f"{_many(len(rates), 'conforms')} by the share of slower terms, of which up to {allowed:.0%} of the error are allowed; "
            "more is missed with the chance of its level at most, unless a large term beyond the fits hides it"
        )
    return ". ".join(said)


def _many(count: int, singular: str) -> str:
    """`1 conforms`, `2 conform`."""
    return f"{count} {singular if count == 1 else singular.removesuffix('s')}"


def tallied(evidence: Sequence[Evidence]) -> str:
    """The number of answers with each outcome that occurs, in one line."""
    found = ", ".join(f"{number} {name}" for name, number in counts(evidence).items() if number)
    return f"{len(evidence)} answers: {found}"


def summarise(evidence: Evidence) -> str:
    """One line: outcome, scheme, claim, check, the rates found and predicted, the method, and the reason."""
    compared = compared_text(evidence)
    return (
        f"{symbol(evidence)} {evidence.outcome:<14} {evidence.scheme}  {evidence.claim}  {evidence.check}  "
        f"{f'{compared}  ' if compared else ''}[{method_text(evidence)}]  {evidence.reason}"
    )


def explain(evidence: Evidence) -> str:
    """The long form: claim and source, prediction, finding, reason, certificate and the command that replays it."""
    lines = [
        printable(
            f"{symbol(evidence)} {evidence.outcome}: {evidence.scheme}, {evidence.claim} ({evidence.check})"
        )
    ]
    card = claims().get(evidence.claim)
    if card is not None:
        lines.append(_field("claim", card.statement))
        lines.append(_field("source", str(card.source)))
    rates = bool(compared_text(evidence))
    if rates:
        lines.append(_field("predicted", predicted_text(evidence)))
    found = [found_text(evidence)] * rates + ["sharp"] * evidence.sharp
    lines.append(_field("found", f"{', '.join([*found, f'by {method_text(evidence)}'])}"))
    if fitted_text(evidence):
        lines.append(_field("fitted", fitted_text(evidence)))
    if evidence.found.note:
        lines.append(_field("note", evidence.found.note))
    lines.append(_field("reason", evidence.reason))
    if evidence.scope:
        lines.append(_field("scope", str(evidence.scope)))
    if evidence.certificate:
        lines.append("  certificate")
        lines += _told(evidence.certificate, " " * 4)
    if evidence.replay:
        lines.append(printable(f"  replay      {evidence.replay}"))
    lines.append(_field("id", evidence.id))
    return "\n".join(lines)


def _told(certificate: Mapping[str, Any], margin: str) -> Iterator[str]:
    """The entries of a certificate in lines: a name in words and its value, formulas as they are printed."""
    for key, value in certificate.items():
        name = f"{margin}{key.replace('_', ' ')}"
        if isinstance(value, Mapping):
            yield name
            yield from _told(value, f"{margin}  ")
        elif isinstance(value, str) and "\n" in value:
            yield name
            yield indent(value, f"{margin}  ")
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            yield f"{name}: {len(value)} entries"
            for item in value[:FEW]:
                yield from _told(item if isinstance(item, Mapping) else {"value": item}, f"{margin}  ")
            if len(value) > FEW:
                yield f"{margin}  {len(value) - FEW} more: --json FILE"
        else:
            yield filled(f"{name}: {_value(value)}", rest=f"{margin}    ")


def _value(value: Any) -> str:
    """A value of a certificate as a reader writes it."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, list):
        shown = ", ".join(map(_value, value[:MANY]))
        return f"{shown}, and {len(value) - MANY} more" if len(value) > MANY else shown or "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _field(name: str, text: str) -> str:
    return filled(text, f"  {name:<12}")
