"""The first screen of a report: which paper, one sentence that says what came out, a picture, and one row for each printed claim.

Everything is computed from evidence: a claim fails somewhere if a scheme and a setting that it speaks of refute it; how much that
weighs is the judgement that its card holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sgverify.claims import claims
from sgverify.claims.claim import Publication
from sgverify.evidence import Erratum, Evidence
from sgverify.evidence.erratum import SEVERITIES
from sgverify.gradients import ESTIMATORS
from sgverify.report.answer import OURS
from sgverify.report.errata import severity_said
from sgverify.report.figures import Figure, figures
from sgverify.report.matrix import groups
from sgverify.report.wording import (
    ORDER,
    claim_order,
    exponent_text,
    found_text,
    gradient_text,
    predicted_text,
    predicts_rate,
    variable,
)

ORDINALS = {"1": "first", "2": "second", "3": "third", "4": "fourth"}
FAILING = ("refuted", "fail")


@dataclass(frozen=True)
class ClaimRow:
    """One printed claim: what it says, what was found, and what holds in its place.

    `printed` and `found` are rates, or first clauses of reasons where no rate is claimed, where it fails, else where it holds:
    in `number` of `asked` answers.
    """

    id: str
    title: str
    statement: str
    outcome: str
    weighs: str
    printed: tuple[str, ...]
    found: tuple[str, ...]
    number: int
    asked: int
    where: tuple[str, ...]
    corrected: str
    corrected_title: str
    corrected_rates: tuple[str, ...]
    corrected_outcomes: Mapping[str, int]


@dataclass(frozen=True)
class Story:
    """The paper, the sentence, and the rows of its printed claims; the chief of those that fail, if any."""

    publication: Publication | None
    sentence: str
    rows: tuple[ClaimRow, ...]
    chief: str


def story_of(
    evidence: Sequence[Evidence], formulas: Sequence[Erratum] = (), publication: Publication | None = None
) -> Story:
    """The first screen, from the evidence and the errata of a report."""
    rows = tuple(_row(id, evidence) for id in _printed(evidence))
    failing = [row for row in rows if row.outcome in FAILING]
    chief = _chief(failing, formulas)
    finding = _finding(chief, formulas, evidence) if chief else ""
    return Story(publication, _sentence(rows, failing, chief, finding), rows, chief.id if chief else "")


def pictures_of(story: Story, evidence: Sequence[Evidence]) -> list[Figure]:
    """At most two figures of the chief claim's quantity, exact points alone: where the claim holds, and where it fails."""
    refuting = [item for item in evidence if item.claim == story.chief and item.outcome in FAILING]
    titles = {item.id: group.title for group in groups(evidence) for item in group.evidence}
    drawn = figures(evidence)
    for quantity, _ in Counter(item.check for item in refuting).most_common():
        failing = {titles[item.id] for item in refuting if item.check == quantity}
        wrong = [figure for figure in drawn if figure.quantity == quantity and figure.group in failing]
        right = [figure for figure in drawn if figure.quantity == quantity and figure.group not in failing]
        if wrong:
            return [_exact(figure) for figure in (*right[:1], wrong[0])]
    return [_exact(figure) for figure in drawn[:1]]


def _exact(figure: Figure) -> Figure:
    """The figure with the exact points alone, where a curve has some."""
    curves = []
    for curve in figure.curves:
        exact = tuple(point for point in curve.points if point.kind == "exact")
        curves.append(replace(curve, points=exact or curve.points))
    return replace(figure, curves=tuple(curves))


def _printed(evidence: Iterable[Evidence]) -> list[str]:
    """The claims of papers, as printed, that were judged."""
    judged = {item.claim for item in evidence if item.verdict != "not-applicable"}
    return sorted((id for id in judged if id.partition("/")[0] not in OURS), key=claim_order)


def _row(id: str, evidence: Sequence[Evidence]) -> ClaimRow:
    card = claims().get(id)
    items = [item for item in evidence if item.claim == id and item.verdict != "not-applicable"]
    failing = [item for item in items if item.outcome in FAILING]
    undecided = [item for item in items if item.outcome == "undecided"]
    shown = failing or undecided or items
    outcome = next(
        name for name in ("refuted", "fail", "undecided", "pass") if any(i.outcome == name for i in items)
    )
    instead = card.corrected if card and card.corrected and failing else ""
    cases = {(item.scheme, item.check, _setting(item)) for item in failing}
    judging = [
        item
        for item in evidence
        if item.claim == instead and (item.scheme, item.check, _setting(item)) in cases
    ]
    known = claims().get(instead)
    return ClaimRow(
        id=id,
        title=card.title if card else "",
        statement=card.statement if card else "",
        outcome=outcome,
        weighs=card.weighs if card and failing else "",
        printed=tuple(
            dict.fromkeys(_rate(item, predicted_text(item)) for item in shown if predicts_rate(item))
        ),
        found=tuple(dict.fromkeys(_found(item) for item in shown)),
        number=len(shown),
        asked=len(items),
        where=tuple(dict.fromkeys(gradient_text(item.configuration) for item in shown)),
        corrected=instead,
        corrected_title=known.title if known else "",
        corrected_rates=tuple(
            dict.fromkeys(_rate(item, predicted_text(item)) for item in judging if predicts_rate(item))
        ),
        corrected_outcomes=Counter(item.outcome for item in judging),
    )


def _setting(item: Evidence) -> str:
    """What distinguishes settings but for the schedule, which a claim chooses itself."""
    chosen = item.configuration
    return repr((chosen.get("gradient"), chosen.get("target"), chosen.get("test_function")))


def _found(item: Evidence) -> str:
    """The rate found with its quantity; the reason's first clause where no rate is claimed."""
    return _rate(item, found_text(item)) if predicts_rate(item) else _clause(item)


def _rate(item: Evidence, text: str) -> str:
    return text if variable(item) == ORDER else f"{item.check}: {text}"


def _clause(item: Evidence) -> str:
    """The reason's first clause, which stands alone."""
    card = claims().get(item.claim)
    reason = item.reason.removesuffix(f" ({card.weighs})") if card else item.reason
    return reason.partition("; ")[0].partition(": ")[0]


def _chief(failing: Sequence[ClaimRow], formulas: Sequence[Erratum]) -> ClaimRow | None:
    """The claim that the error which shows in most statements refutes: of the gravest errors, and of theorems where there are.

    Which statements one error shows in is said by the errata; without errata the gravest claims are compared. Of several claims
    the one that most answers refute is named, the first in the paper where that leaves several.
    """
    if not failing:
        return None
    gravest = min(map(_weight, failing))
    candidates = [row for row in failing if _weight(row) == gravest]
    often = Counter(
        formula.root
        for formula in formulas
        if formula.fails and SEVERITIES.index(formula.severity) == gravest
    )
    for root, _ in often.most_common():
        rows = [formula for formula in formulas if formula.root == root]
        of_it = [row for row in candidates if any(_shows(formula, row) for formula in rows)]
        if of_it:
            candidates = of_it
            break
    theorems = [row for row in candidates if _named(row.id).startswith("theorem")]
    return max(theorems or candidates, key=lambda row: row.number)


def _weight(row: ClaimRow) -> int:
    said = severity_said(row.weighs)
    return SEVERITIES.index(said) if said else len(SEVERITIES)


def _sentence(
    rows: Sequence[ClaimRow], failing: Sequence[ClaimRow], chief: ClaimRow | None, finding: str
) -> str:
    """`10 of 14 printed claims fail somewhere, chiefly theorem 4: with fresh minibatches every scheme is of first order.`"""
    if not rows:
        return ""
    many = f"{len(rows)} printed claim{'s' * (len(rows) != 1)}"
    if chief is None:
        none = f"None of {many} fails" if len(rows) > 1 else "The printed claim does not fail"
        undecided = sum(row.outcome == "undecided" for row in rows)
        return f"{none} where it was tried{f', {undecided} undecided' if undecided else ''}."
    fail = "fails" if len(failing) == 1 else "fail"
    return (
        f"{len(failing)} of {many} {fail} somewhere, chiefly {_named(chief.id)}: {finding}{_judged(chief)}."
    )


def _judged(chief: ClaimRow) -> str:
    """The judgement in brackets where the failure is no error of consequence."""
    return f" ({chief.weighs})" if chief.weighs and severity_said(chief.weighs) != SEVERITIES[0] else ""


def _named(id: str) -> str:
    return id.partition("/")[2].replace("-", " ")


def _finding(chief: ClaimRow, formulas: Sequence[Erratum], evidence: Sequence[Evidence]) -> str:
    """What is found of the schemes with the gradients that refute a rate; of other claims what the error affects.

    Where no erratum says that, the first clause of the reason.
    """
    refuting = [item for item in evidence if item.claim == chief.id and item.outcome in FAILING]
    check = Counter(item.check for item in refuting).most_common(1)[0][0]
    refuting = [item for item in refuting if item.check == check]
    if variable(refuting[0]) not in ("h", "L"):
        grave = (
            formula for formula in formulas if _shows(formula, chief) and formula.severity == SEVERITIES[0]
        )
        return next((formula.affects.partition("; ")[0] for formula in grave), _clause(refuting[0]))
    kinds = {_gradient(item) for item in refuting}
    asked = [
        item
        for item in evidence
        if (item.claim, item.check) == (chief.id, check)
        and _gradient(item) in kinds
        and item.verdict != "not-applicable"
    ]
    gradients = _gradients(kinds, refuting)
    rates = {item.found.exponent for item in asked}
    if len(rates) > 1 or None in rates:
        short, tried = (len({item.scheme for item in items}) for items in (refuting, asked))
        return f"with {gradients} {short} of {tried} schemes are slower"
    exponent = exponent_text(rates.pop())
    if variable(asked[0]) == "h" and exponent in ORDINALS:
        return f"with {gradients} every scheme is of {ORDINALS[exponent]} order"
    return f"with {gradients} the {asked[0].check} of every scheme is {found_text(asked[0])}"


def _gradient(item: Evidence) -> str:
    return str((item.configuration.get("gradient") or {}).get("kind", "full"))


def _shows(formula: Erratum, row: ClaimRow) -> bool:
    """Is the erratum one of the claim: by the claim's own id, or by that and the part that it is about?"""
    return formula.fails and (formula.id == row.id or formula.id.startswith(f"{row.id}-"))


def _gradients(kinds: Iterable[str], refuting: Sequence[Evidence]) -> str:
    """`fresh minibatches` where every minibatch is drawn anew, else the estimators' own names."""
    found = [ESTIMATORS.get(kind) for kind in kinds]
    if all(
        kind and kind.draws_data and not kind.exchangeable and kind.plain and not kind.memory
        for kind in found
    ):
        return "fresh minibatches"
    return " and ".join(dict.fromkeys(gradient_text(item.configuration) for item in refuting))


__all__ = ["ClaimRow", "Story", "pictures_of", "story_of"]
