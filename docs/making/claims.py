"""The page of claims: every card with its status, counted from the committed reports."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache

from docs.making.markdown import page, plain, table
from docs.making.places import ROOT
from sgverify.claims import Claim, claims
from sgverify.evidence import METHODS, Evidence, read_evidence
from sgverify.papers.paper import papers
from sgverify.report.wording import claim_order, gradient_text

OPENING = """\
# Claims and their status

Each claim is a card, a file of data: a statement, its source, its hypotheses and the rate that it predicts. No card holds a
verdict. The status below counts the answers of the committed reports{reports}, each about one scheme under one setting, and
names the methods of the answers. Counts are no proof of a theorem: an answer by `proof` is about every smooth potential, one
by `exact` about the target and the settings of its report.

`conforms`: at least as fast as predicted. `refuted`: the claim as printed fails there, and its corrected card judges the
scheme. `sgverify list claims` lists the cards, and `sgverify verify SCHEME --checks CLAIM` asks one of them of a scheme of
yours."""

HEADS = {"sgverify": "What sgverify claims of every scheme, of running code and of runs"}
"""The headings of prefixes that are no paper's."""


@cache
def reported() -> dict[str, tuple[Evidence, ...]]:
    """The evidence of the committed reports, by the paper's id."""
    folders = {paper.id: ROOT / "reports" / paper.id / "report.json" for paper in papers()}
    return {id: tuple(read_evidence(file).evidence) for id, file in folders.items() if file.is_file()}


def claims_page() -> str:
    """Every claim: by paper, with statement, source, status and correction."""
    evidence = [item for items in reported().values() for item in items]
    limits = {line.partition(": ")[0]: line.partition(": ")[2] for line in limits_of_refutations(evidence)}
    answers: defaultdict[str, list[Evidence]] = defaultdict(list)
    for item in evidence:
        answers[item.claim].append(item)
    sections: dict[str, list[Claim]] = {}
    for claim in claims().values():
        sections.setdefault(_printed(claim).partition("/")[0], []).append(claim)
    reports = ", ".join(f"[{id}](../reports/{id}/report.md)" for id in reported())
    parts = [OPENING.format(reports=f" ({reports})")]
    order = [paper.id for paper in papers()]
    for prefix in sorted(
        sections, key=lambda name: (name in HEADS, order.index(name) if name in order else len(order))
    ):
        cards = sections[prefix]
        parts += [f"## {HEADS.get(prefix) or plain(_paper(cards))}", _summary(cards, answers)]
        for claim in cards:
            parts += _claim(claim, answers[claim.id], limits.get(claim.id, ""))
    return page(*parts)


FEW = 4
"""The most schemes of a setting that are named."""


def limits_of_refutations(evidence: Sequence[Evidence]) -> list[str]:
    """For each printed claim refuted somewhere: the number of refuting answers, and the gradients and schemes that conform."""
    refuted = Counter(item.claim for item in evidence if item.refuted)
    lines = []
    for claim in sorted(refuted, key=claim_order):
        settings: dict[str, dict[str, None]] = {}
        conforms = [item for item in evidence if item.claim == claim and item.verdict == "conforms"]
        for item in conforms:
            settings.setdefault(gradient_text(item.configuration), {})[item.scheme] = None
        where = "; ".join(f"{gradient} ({_few(list(schemes))})" for gradient, schemes in settings.items())
        lines.append(
            f"{claim}: refuted in {refuted[claim]}, conforms in {len(conforms)}{f' with {where}' if where else ''}"
        )
    return lines


def _few(names: Sequence[str]) -> str:
    """All names if they are few; else the first names and the number of the others."""
    shown = ", ".join(names[:FEW])
    return f"{shown} and {len(names) - FEW} more" if len(names) > FEW else shown


def status(claim: Claim, answers: Sequence[Evidence]) -> str:
    """The status in a few words, from the answers about the claim."""
    if claim.left_out:
        return "not judged"
    count = Counter(item.verdict if not item.refuted else "refuted" for item in answers)
    words = [
        ("refuted", "refuted"),
        ("violates", "violated"),
        ("conforms", "conforms"),
        ("inconclusive", "open"),
    ]
    told = [f"{word} in {count[verdict]}" for verdict, word in words if count[verdict]]
    if claim.vacuous:
        told.append("a bound that holds of everything")
    return ", ".join(told) or "asked in no committed report"


def _claim(claim: Claim, answers: Sequence[Evidence], limits: str) -> list[str]:
    judged = [item for item in answers if item.verdict != "not-applicable"]
    methods = [method for method in METHODS if any(item.method == method for item in judged)]
    told = [
        f"**Status**: {plain(limits or status(claim, answers))}"
        + (f", by {', '.join(methods)}." if methods else ".")
    ]
    if claim.left_out:
        told.append(f"Not judged: {plain(claim.left_out)}.")
    if claim.corrected:
        told.append(f"Where it fails, [{claim.corrected}](#{_anchor(claim.corrected)}) judges in its place.")
    if claim.corrects:
        told.append(f"Corrects [{claim.corrects}](#{_anchor(claim.corrects)}).")
    if claim.assumes:
        told.append(f"Assumed, and not computed: {plain('; '.join(claim.assumes))}.")
    checks = ", ".join(f"[{quantity}](checks.md#{quantity})" for quantity in claim.quantities)
    return [
        f"### {claim.id}: {plain(claim.title)} {{ #{_anchor(claim.id)} }}",
        f"> {plain(claim.statement)}",
        f"Source: {plain(str(claim.source))}." + (f" Judged by {checks}." if checks else ""),
        " ".join(told),
    ]


def _summary(cards: Sequence[Claim], answers: dict[str, list[Evidence]]) -> str:
    rows = [
        [f"[{claim.id}](#{_anchor(claim.id)})", plain(claim.title), status(claim, answers[claim.id])]
        for claim in cards
    ]
    return table(["claim", "what it says", "status"], rows)


def _printed(claim: Claim) -> str:
    """The id of the printed claim, of a correction that of the corrected one."""
    return claim.corrects or claim.id


def _paper(cards: Sequence[Claim]) -> str:
    return next(card.source.paper for card in cards if not card.corrects)


def _anchor(id: str) -> str:
    return id.replace("/", "-")
