"""Which lines does an answer have? Evidence with one finding makes one line; the consequences of a failure are folded under it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from sgverify.checks.check import Matter
from sgverify.checks.registry import CHECKS
from sgverify.claims import claims
from sgverify.errors import COLUMNS
from sgverify.evidence import Evidence
from sgverify.report.errata import WORDS, severity_said
from sgverify.report.wording import (
    OF_THE_LAW,
    ORDER,
    exponent_text,
    found_text,
    kind_text,
    logarithm_text,
    meets,
    method_text,
    predicts_limit,
    predicts_rate,
    rate_text,
    symbol,
    vanishes,
    variable,
)

MATTERS: dict[Matter, str] = {
    "method": "Is the method right?",
    "code": "Does the code do what its definition says?",
    "paper": "Is the paper right?",
}
"""The three groups of findings, each with the question that it answers."""

RATES = (*OF_THE_LAW, "bias", "mse", "consistency")

_OUTCOME, _LABEL, _KINDS = 10, 18, 9
"""Columns of the outcome, the quantity and the gradients."""

FEW = 3
"""The most claims whose names a line shows."""


@dataclass(frozen=True)
class Finding:
    """One line of an answer: evidence on one quantity with one result, on which several claims may rest.

    `consequences` are the failures that follow from this one.
    """

    evidence: tuple[Evidence, ...]
    consequences: tuple[Finding, ...] = ()

    @property
    def first(self) -> Evidence:
        """The evidence that is shown for all."""
        return self.evidence[0]

    @property
    def folded(self) -> int:
        """The number of answers that are folded under this one."""
        return sum(len(item.evidence) for item in self.consequences)

    def line(self, width: int = COLUMNS, *, inside: str = "", gradients: bool = False) -> str:
        """One line of at most `width` columns, a second one for what has no room in it.

        `inside` is the scheme of a composite that the finding is about; with `gradients` the line names those of the finding.
        """
        item = self.first
        kinds = f" {', '.join(dict.fromkeys(map(gradient_of, self.evidence))):<{_KINDS}}" if gradients else ""
        label = f"{inside} {item.check}".strip()
        head = f"  {symbol(item)} {item.outcome.replace('not-applicable', 'n/a'):<{_OUTCOME}}{label:<{_LABEL}}{kinds} "
        text = said(item)
        # As many names of claims are shown as leave room for the finding, or as many clauses of it as leave room for the method.
        tails = [f"  [{method_text(item)}]{_claims(self.evidence, few)}" for few in range(FEW, -1, -1)]
        fits = [(text, tail) for tail in tails[:-1] if len(head + text + tail) <= width]
        for mark in ";:":
            parts = [(clauses(text, width - len(head + tail), mark), tail) for tail in tails[-2:]]
            fits += [(part, tail) for part, tail in parts if part]
        if fits:
            part, tail = fits[0]
            return head + part.ljust(width - len(head + tail)) + tail
        whole = f"{clauses(text, text.find('; ') if '; ' in text else len(text)) or text}{tails[-1]}"
        return "\n".join(
            wrap(whole, width, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False)
        )


def matter_of(evidence: Evidence) -> Matter:
    """Whose matter the evidence is: a refuted claim as printed is the paper's, and a check that is no more was about the code."""
    if evidence.outcome == "refuted":
        return "paper"
    return CHECKS[evidence.check].matter if evidence.check in {*CHECKS} else "code"


def place_in_lines(check: str) -> tuple[int, int]:
    """The place of a check's findings: those on the method before those on the code and on the paper."""
    known = list(CHECKS)
    if check not in known:
        return list(MATTERS).index("code"), len(known)
    return list(MATTERS).index(CHECKS[check].matter), known.index(check)


def gradient_of(evidence: Evidence) -> str:
    """The gradient estimator of the evidence."""
    return str(evidence.configuration.get("gradient", {}).get("kind", "full"))


def said(evidence: Evidence) -> str:
    """The finding: `found 2, required >= 2`, or the reason where no exponent decides, which names the paper that is refuted."""
    told = _said(evidence)
    card = claims().get(evidence.claim)
    if evidence.outcome != "refuted" or card is None or told != evidence.reason:
        return told
    weight = severity_said(card.weighs)
    return f"{WORDS[weight] if weight else 'error'} in {card.source.paper}: {told}"


def _said(evidence: Evidence) -> str:
    found = evidence.found.exponent
    undecided = evidence.outcome in ("undecided", "not-applicable")
    # What decides a sampled rate is the share of slower terms; the slope of its points is none of them.
    sampled = evidence.method == "monte-carlo"
    bounded = found is None and evidence.found.low is not None and variable(evidence) == "h"
    if sampled or undecided or not predicts_rate(evidence):
        return evidence.reason
    if found is None and not (vanishes(evidence) or (bounded and evidence.outcome == "pass")):
        return evidence.reason
    asked = "required"
    if evidence.outcome == "refuted":
        # An author has not printed what is one reading of several.
        weighed = claims().get(evidence.claim)
        asked = "read as" if weighed and severity_said(weighed.weighs) == "reading" else "printed"
    name = variable(evidence)
    if evidence.outcome in ("fail", "refuted") and meets(evidence):
        return evidence.reason
    least = exponent_text(evidence.predicted.exponent)
    sharp = evidence.predicted.kind == "sharp"
    if name == ORDER:
        return f"found {exponent_text(found)}, {asked} {'=' if sharp else '>='} {least}"
    if predicts_limit(evidence):
        return f"found {found_text(evidence)}, {asked} to tend to 0"
    rate = rate_text(evidence.predicted.exponent, name) + logarithm_text(evidence, "predicted")
    text = found_text(evidence)
    card = claims().get(evidence.claim)
    if card is not None and card.escaping and evidence.outcome == "pass":
        return f"found {text}, {asked} {rate}, before escape"
    if evidence.outcome == "pass" and text in (rate, f"{rate} at most", f"{rate} or faster"):
        return f"found {text}, as {asked}"
    # A rate that fails an upper bound is slower than it; one that passes as a bound is at least as fast.
    kind = (
        "" if not sharp and (evidence.outcome != "pass" or text.endswith("at most")) else kind_text(evidence)
    )
    return f"found {text}, {asked} {rate} {kind}".rstrip()


def findings_of(evidence: Iterable[Evidence]) -> list[Finding]:
    """The findings in the order of the evidence: answers on one quantity that say the same are one finding.

    Checks of the running code that pass say the same under every gradient, whatever numbers they went by.
    """
    found: dict[tuple[str, ...], list[Evidence]] = {}
    for item in evidence:
        text = "" if item.outcome == "pass" and matter_of(item) == "code" else said(item)
        shown = (item.scheme, item.check, item.outcome, item.method, text)
        found.setdefault(shown, []).append(item)
    return [Finding(tuple(items)) for items in found.values()]


def folded(findings: Sequence[Finding]) -> list[Finding]:
    """The findings with the consequences of each failure folded under it (`follows`)."""
    causes: list[Finding] = []
    under: dict[int, list[Finding]] = {}
    for finding in findings:
        cause = cause_of(finding, causes)
        if cause is None:
            causes.append(finding)
        else:
            under.setdefault(id(cause), []).append(finding)
    return [replace(cause, consequences=tuple(under.get(id(cause), ()))) for cause in causes]


def cause_of(finding: Finding, others: Iterable[Finding]) -> Finding | None:
    """The first of the other findings that the finding is a consequence of; None where it stands for itself."""
    return next((other for other in others if follows(finding.first, other.first)), None)


def follows(item: Evidence, cause: Evidence) -> bool:
    """Does one failure follow from another of the same scheme?

    Every rate of a scheme fails whose step is not consistent (local order below 1), and the errors of averages fail where the
    invariant law under the same gradients is wrong. Where steps in a row have not one law, one step says nothing of a run.
    """
    if (item.outcome, cause.outcome) != ("fail", "fail") or item.scheme != cause.scheme or item is cause:
        return False
    if cause.check == "long-run":
        return True
    if item.check in RATES:
        if cause.check in ("local-order", "invariant-order", "stationarity"):
            return (cause.found.exponent or 0) < 1
        return cause.check in OF_THE_LAW and gradient_of(item) == gradient_of(cause)
    return False


def consequences(many: int) -> str:
    """So many consequences, in words."""
    return f"{many} consequence{'' if many == 1 else 's'}"


def clauses(text: str, width: int, mark: str = ";") -> str:
    """As many whole clauses of the text, which end at the `mark`, as fit in `width` columns; "" where the first is too long.

    >>> clauses("12 calls: equal arguments gave equal bits; no argument was written to", 50)
    '12 calls: equal arguments gave equal bits'
    """
    if len(text) <= width:
        return text
    ends = [place for place in range(width + 1) if text.startswith(f"{mark} ", place)]
    whole = [text[:end] for end in ends if text.count("(", 0, end) == text.count(")", 0, end)]
    # What stands before a colon says enough where it is a statement, and too little where it is a number and a noun.
    whole = [part for part in whole if mark == ";" or part.count(" ") > 1]
    return whole[-1] if whole else ""


def _claims(evidence: Sequence[Evidence], few: int) -> str:
    """The claims behind a finding by their short names, a few of them; none where the check has the same name."""
    if not few:
        return ""
    names = list(dict.fromkeys(item.claim.rpartition("/")[2] for item in evidence))
    more = f" and {len(names) - few} more" if len(names) > few else ""
    return "" if names == [evidence[0].check] else f" {', '.join(names[:few])}{more}"
