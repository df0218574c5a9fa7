"""What is the answer about each scheme: its verdict, the causes, the correction, and the claims that were not tested?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sgverify.claims import claims
from sgverify.evidence import Evidence, exit_code
from sgverify.report.wording import claim_order

FEW = 4
"""The most causes that are shown for a scheme; the others are counted here and shown below."""

_WORDS = {0: ("passes", "conforms"), 1: ("fails", "violates"), 3: ("undecided", "inconclusive")}

OURS = ("sgverify", "corrected")
"""The prefixes of claims that belong to no paper."""


@dataclass(frozen=True)
class Answer:
    """The answer about one scheme: its `word`, the verdict behind it, its causes, and the claims refuted as printed."""

    scheme: str
    word: str
    verdict: str
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
        word, verdict = _WORDS[exit_code(items)]
        causes = _causes(items, verdict)
        refuted = sorted({item.claim for item in items if item.refuted}, key=claim_order)
        asked = sum(item.verdict != "not-applicable" for item in items)
        found.append(
            Answer(scheme, word, verdict, asked, tuple(causes[:FEW]), len(causes[FEW:]), tuple(refuted))
        )
    order = [word for word, _ in (_WORDS[1], _WORDS[3], _WORDS[0])]
    return sorted(found, key=lambda answer: order.index(answer.word))


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


def _causes(items: Sequence[Evidence], verdict: str) -> list[Evidence]:
    """The evidence that decides the verdict, each claim and check once; empty if everything conforms."""
    if verdict == "conforms":
        return []
    distinct: dict[tuple[str, str], Evidence] = {}
    for item in items:
        if item.verdict == verdict and not item.refuted:
            distinct.setdefault((item.claim, item.check), item)
    return sorted(distinct.values(), key=lambda item: claim_order(item.claim))


__all__ = ["Answer", "Untested", "answers_of", "assumed", "untested"]
