"""The answer about each scheme: its outcome, the causes, the correction, what was not tested; the outcome as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from sgverify.claims import claims
from sgverify.errors import printable
from sgverify.evidence import Evidence, whole_outcome
from sgverify.report.wording import claim_order

FEW = 4
"""The most causes that are shown for a scheme; the others are counted here and shown below."""

_WORDS = {"fail": "fails", "undecided": "undecided", "pass": "passes"}
"""The words for the outcome of a whole answer, the failing ones first."""

OURS = ("sgverify", "corrected")
"""The prefixes of claims that belong to no paper."""


@dataclass(frozen=True)
class Answer:
    """The answer about one scheme: its `word`, its outcome, its causes, and the claims refuted as printed."""

    scheme: str
    word: str
    outcome: str
    asked: int
    causes: tuple[Evidence, ...]
    more: int
    refuted: tuple[str, ...]


@dataclass(frozen=True)
class Untested:
    """A claim without an answer, and the reason: it was not tested, or it rests on an assumption that is not computed."""

    claim: str
    why: str


def answers_of(evidence: Sequence[Evidence]) -> list[Answer]:
    """One answer for each scheme, failing schemes first."""
    found = []
    for scheme in dict.fromkeys(item.scheme for item in evidence):
        items = [item for item in evidence if item.scheme == scheme]
        outcome = whole_outcome(items)
        causes = _causes(items, outcome)
        refuted = sorted({item.claim for item in items if item.refuted}, key=claim_order)
        asked = sum(item.verdict != "not-applicable" for item in items)
        found.append(
            Answer(
                scheme,
                _WORDS[outcome],
                outcome,
                asked,
                tuple(causes[:FEW]),
                len(causes[FEW:]),
                tuple(refuted),
            )
        )
    order = list(_WORDS)
    return sorted(found, key=lambda answer: order.index(answer.outcome))


def untested(evidence: Iterable[Evidence]) -> list[Untested]:
    """The claims of the papers concerned without evidence, each with its reason."""
    evidence = tuple(evidence)
    asked = {item.claim for item in evidence if item.verdict != "not-applicable"}
    papers = {item.claim.partition("/")[0] for item in evidence}.difference(OURS)
    found = []
    for id, card in claims().items():
        if id.partition("/")[0] not in papers or id in asked:
            continue
        reasons = [item.reason for item in evidence if item.claim == id]
        why = card.left_out or (
            "it speaks of none of these settings" if reasons else "no question of this suite is about it"
        )
        found.append(Untested(id, why))
    return sorted(found, key=lambda item: claim_order(item.claim))


def assumed(evidence: Iterable[Evidence]) -> dict[str, list[str]]:
    """The assumptions that no computation decides, each with the claims that were judged under it."""
    found: dict[str, list[str]] = {}
    known = claims()
    for id in sorted({item.claim for item in evidence if item.verdict != "not-applicable"}, key=claim_order):
        for text in known[id].assumes if id in known else ():
            found.setdefault(text, []).append(id)
    return found


def _causes(items: Sequence[Evidence], outcome: str) -> list[Evidence]:
    """The evidence that decides the outcome, each claim and check once; empty for a pass."""
    if outcome == "pass":
        return []
    distinct: dict[tuple[str, str], Evidence] = {}
    for item in items:
        if item.outcome == outcome:
            distinct.setdefault((item.claim, item.check), item)
    return sorted(distinct.values(), key=lambda item: claim_order(item.claim))


LABEL = "sgverify"

COLOURS = {"pass": "#1a7f37", "fail": "#b3202c", "undecided": "#7d5700"}
"""Grounds of the word in white, each of a contrast above 4.5 to 1."""

GROUND, WHITE = "#3d4349", "#ffffff"
HEIGHT, SIZE, MARGIN = 20, 11, 7

ADVANCE = 6.6
"""The width of a letter that the text is set in, whatever font a viewer has: `textLength` makes it so."""


def badge(scheme: str, outcome: str, order: str | None = None) -> str:
    """An `<svg>` element: `sgverify | pass, order 2`, with the scheme in its title, for those who hear or point at it.

    `outcome` is pass, fail or undecided; `order` the order that was found, None where none was.

    >>> print(badge("mine.py:heun", "pass", "1").partition("</title>")[0].partition("<title>")[2])
    mine.py:heun: pass, order 1 (sgverify)
    """
    message = outcome if order is None else f"{outcome}, order {order}"
    left, right = (round(len(text) * ADVANCE) + 2 * MARGIN for text in (LABEL, message))
    title = escape(printable(f"{scheme}: {message} ({LABEL})"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HEIGHT}" '
        f'viewBox="0 0 {left + right} {HEIGHT}" role="img" aria-label="{title}">\n'
        f"<title>{title}</title>\n"
        f'<rect width="{left + right}" height="{HEIGHT}" rx="3" fill="{GROUND}"/>\n'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v{HEIGHT - 6}a3 3 0 0 1-3 3h-{right - 3}z" fill="{COLOURS[outcome]}"/>\n'
        f"{_text(LABEL, 0, left)}{_text(message, left, right)}</svg>\n"
    )


def _text(words: str, start: int, width: int) -> str:
    """White words in the middle of a part of the badge."""
    return (
        f'<text x="{start + MARGIN}" y="14" textLength="{width - 2 * MARGIN}" lengthAdjust="spacingAndGlyphs" '
        f'font-family="Verdana,DejaVu Sans,sans-serif" font-size="{SIZE}" fill="{WHITE}">{escape(words)}</text>\n'
    )
