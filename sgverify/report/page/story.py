"""The first screen of a report: which paper, one sentence that says what came out, a picture, and one row for each printed claim.

Everything is computed from evidence and errata: errors are counted once each, by what they weigh, which is a judgement that cards
and errata hold; the chief one is told with the schemes and gradients that were asked, and those that it spares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sgverify.claims import claims
from sgverify.claims.claim import Publication
from sgverify.evidence import Erratum, Evidence
from sgverify.evidence.erratum import SEVERITIES
from sgverify.gradients import ESTIMATORS
from sgverify.report.answer import OURS, answers_of
from sgverify.report.errata import HEADINGS, by_weight, roots, severity_said
from sgverify.report.figures import Figure, figures
from sgverify.report.matrix import groups
from sgverify.report.wording import (
    ORDER,
    claim_order,
    found_text,
    gradient_text,
    predicted_text,
    predicts_rate,
    variable,
)

FAILING = ("refuted", "fail")


@dataclass(frozen=True)
class ClaimRow:
    """One printed claim: what it says, what was found, and what holds in its place.

    `printed` and `found` are rates, or first clauses of reasons where no rate is claimed, where it fails, else where it holds:
    in `number` of `asked` answers. `spared` are the schemes that pass where others fail, with the gradients.
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
    spared: tuple[str, ...]
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

    @property
    def papers(self) -> list[str]:
        """The papers whose claims are among the rows."""
        return list(dict.fromkeys(claims()[row.id].source.paper for row in self.rows if row.id in claims()))

    @property
    def failing(self) -> tuple[int, str]:
        """The number of claims that do not hold as printed, and how many of them weigh what."""
        judgements = [row.weighs for row in self.rows if row.outcome == "refuted"]
        return len(judgements), by_weight(judgements)


def story_of(
    evidence: Sequence[Evidence], formulas: Sequence[Erratum] = (), publication: Publication | None = None
) -> Story:
    """The first screen, from the evidence and the errata of a report: of a paper, or of integrators where none is named."""
    rows = tuple(_row(id, evidence) for id in _printed(evidence))
    faults = _faults([row for row in rows if row.outcome in FAILING], formulas)
    chief = next((fault.claims[0].id for fault in faults if fault.claims), "")
    sentence = _sentence(rows, faults, formulas, evidence) if publication else _integrators(evidence)
    return Story(publication, sentence, rows, chief)


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
        spared=tuple(_spared(items, failing)),
        corrected=instead,
        corrected_title=known.title if known else "",
        corrected_rates=tuple(
            dict.fromkeys(_rate(item, predicted_text(item)) for item in judging if predicts_rate(item))
        ),
        corrected_outcomes=Counter(item.outcome for item in judging),
    )


def _spared(items: Sequence[Evidence], failing: Sequence[Evidence]) -> Iterator[str]:
    """`a and b with full gradients`: the schemes that pass, of which no answer fails, where the same question fails for others."""
    asked = {(item.check, gradient_text(item.configuration)) for item in failing}
    for gradients in dict.fromkeys(gradient_text(item.configuration) for item in failing):
        wrong = {item.scheme for item in failing if gradient_text(item.configuration) == gradients}
        right = dict.fromkeys(
            item.scheme
            for item in items
            if item.outcome == "pass"
            and item.scheme not in wrong
            and (item.check, gradient_text(item.configuration)) in asked
            and gradient_text(item.configuration) == gradients
        )
        if right:
            yield f"{_and(list(right))} with {gradients[:1].lower()}{gradients[1:]}"


def _setting(item: Evidence) -> str:
    """The keys that distinguish settings but for the schedule, which a claim chooses itself."""
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


@dataclass(frozen=True)
class _Fault:
    """One error of a paper: the claims that it refutes, the chief one first, what it affects, and how much it weighs.

    An error that no claim shows, as in an algorithm, has the name of its statement.
    """

    claims: tuple[ClaimRow, ...]
    names: tuple[str, ...]
    said: str
    weight: int
    shown: int

    @property
    def sentence(self) -> str:
        """`theorem 4, and with it theorems 2 and 3: the rate is lost`, and of a lighter one `lemma 4 fails by a slip: ...`."""
        first, *rest = self.names
        named = f"{_listed([first])}{f', and with it {_listed(rest)}' if rest else ''}"
        if self.weight in (0, len(SEVERITIES)) or not self.claims:
            return f"{named}: {self.said}"
        judged = self.claims[0].weighs
        verb = (
            f"{'are' if rest else 'is'}"
            if judged.startswith("ambiguous")
            else f"fail{'' if rest else 's'} by"
        )
        return f"{named} {verb} {judged.partition('; ')[0]}"


def _faults(failing: Sequence[ClaimRow], formulas: Sequence[Erratum]) -> list[_Fault]:
    """The errors behind the failing claims and the gravest errata, the gravest first, then those that show in most statements.

    Which statements one error shows in is said by the errata, and without errata by what the cards say that it weighs.
    """
    claims_of: dict[str, list[ClaimRow]] = {}
    for row in failing:
        claims_of.setdefault(_root(row, formulas), []).append(row)
    rows_of: dict[str, list[Erratum]] = {}
    for formula in formulas:
        if formula.fails:
            rows_of.setdefault(formula.root, []).append(formula)
    grave = [root for root, rows in rows_of.items() if any(row.severity == SEVERITIES[0] for row in rows)]
    return sorted(
        (
            _fault(claims_of.get(root, []), rows_of.get(root, []))
            for root in dict.fromkeys([*claims_of, *grave])
        ),
        key=lambda fault: (fault.weight, -fault.shown, -sum(row.number for row in fault.claims)),
    )


def _root(row: ClaimRow, formulas: Sequence[Erratum]) -> str:
    """The gravest error that an erratum shows in the claim; without one what its card says of it, or the claim itself."""
    shown = [formula for formula in formulas if _shows(formula, row)]
    gravest = min(shown, key=lambda formula: SEVERITIES.index(formula.severity), default=None)
    return gravest.root if gravest else row.weighs or row.id


def _fault(rows: Sequence[ClaimRow], statements: Sequence[Erratum]) -> _Fault:
    """The error that these claims and these statements show; of the claims the most refuted theorem is the chief one."""
    ordered = sorted(rows, key=lambda row: (not _named(row.id).startswith("theorem"), -row.number))
    ordered[1:] = sorted(ordered[1:], key=lambda row: claim_order(row.id))
    grave = min(statements, key=lambda formula: SEVERITIES.index(formula.severity), default=None)
    if grave is not None:
        said, weight = grave.affects.partition("; ")[0], SEVERITIES.index(grave.severity)
    else:
        judged = ordered[0].weighs
        said = judged.partition(": ")[2].partition("; ")[0] or judged or ordered[0].found[0]
        weight = [*SEVERITIES, ""].index(severity_said(judged))
    names = [_named(row.id) for row in ordered] or [_statement(grave.id) for grave in statements[:1]]
    return _Fault(tuple(ordered), tuple(names), said, weight, len(statements))


def _statement(id: str) -> str:
    """`algorithm 1` of vr-resgld/algorithm-1-variance."""
    return " ".join(id.partition("/")[2].split("-")[:2])


def _sentence(
    rows: Sequence[ClaimRow],
    faults: Sequence[_Fault],
    formulas: Sequence[Erratum],
    evidence: Sequence[Evidence],
) -> str:
    """The errors of consequence by what they are, each once, and the number of the others by their weight.

    Of the chief one also for which schemes it shows, with which gradients, and which of those asked are spared.
    """
    if not rows:
        return ""
    many = f"{len(rows)} printed claim{'s' * (len(rows) != 1)}"
    if not faults:
        none = f"None of {many} fails" if len(rows) > 1 else "The printed claim does not fail"
        undecided = sum(row.outcome == "undecided" for row in rows)
        return f"{none} where it was tried{f', {undecided} undecided' if undecided else ''}."
    grave = [fault for fault in faults if fault.weight in (0, len(SEVERITIES))]
    lighter = [fault for fault in faults if fault not in grave]
    parts = [fault.sentence for fault in grave]
    if parts and grave[0].claims:
        parts[1:1] = [_asked(grave[0].claims[0], evidence)]
    if not grave:
        parts = ["no error of consequence was found", *(fault.sentence for fault in lighter)]
    if besides := _besides(lighter if grave else [], formulas):
        parts.append(f"besides: {besides}" if grave else f"among the errata: {besides}")
    return " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts)


def _integrators(evidence: Sequence[Evidence]) -> str:
    """`mine.py:wrong: fail; mine.py:heun and mine.py:aboba: pass.`"""
    found: dict[str, list[str]] = {}
    for answer in answers_of(evidence):
        found.setdefault(answer.outcome, []).append(answer.scheme)
    parts = [f"{_and(schemes)}: {outcome}" for outcome, schemes in found.items()]
    return f"{'; '.join(parts)}." if parts else ""


def _besides(lighter: Sequence[_Fault], formulas: Sequence[Erratum]) -> str:
    """`2 slips or gaps in proofs and 1 misprint`: the errors of the errata, and without errata of the claims, each once."""
    counted = {name: len(found) for name, found in roots(formulas).items()}
    if not formulas:
        counted = {
            name: sum(fault.weight == place for fault in lighter) for place, name in enumerate(SEVERITIES)
        }
    parts = [
        f"{number} {HEADINGS[name][number != 1]}"
        for name, number in counted.items()
        if number and name != SEVERITIES[0]
    ]
    return _and(parts)


def _and(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1])] * (len(parts) > 1) + list(parts[-1:]))


def _listed(names: Sequence[str]) -> str:
    """`theorems 2 and 3 and remark 9`."""
    kinds: dict[str, list[str]] = {}
    for name in names:
        kind, _, number = name.partition(" ")
        kinds.setdefault(kind if number else name, []).append(number)
    return _and([f"{kind}{'s' * (len(found) > 1)} {_and(found)}".strip() for kind, found in kinds.items()])


def _named(id: str) -> str:
    return id.partition("/")[2].replace("-", " ")


def _asked(row: ClaimRow, evidence: Sequence[Evidence]) -> str:
    """`theorem 4, asked with fresh minibatches, fails for a and b; spared: c; undecided: d; it holds with full gradients`.

    A scheme that fails and passes with these gradients, under two test functions, is among those that fail.
    """
    asked = [item for item in evidence if item.claim == row.id and item.verdict != "not-applicable"]
    kinds = {_gradient(item) for item in asked if item.outcome in FAILING}
    here = [item for item in asked if _gradient(item) in kinds]
    schemes: dict[str, str] = {}
    for outcomes, word in ((FAILING, "fails"), (("undecided",), "undecided"), (("pass",), "spared")):
        for item in here:
            if item.outcome in outcomes:
                schemes.setdefault(item.scheme, word)
    order = [scheme for scheme in dict.fromkeys(item.scheme for item in here) if scheme in schemes]
    failing = _and([name for name in order if schemes[name] == "fails"])
    parts = [f"{_named(row.id)}, asked with {_gradients(kinds, here)}, fails for {failing}"]
    parts += [
        f"{word}: {_and([name for name in order if schemes[name] == word])}"
        for word in ("spared", "undecided")
        if word in schemes.values()
    ]
    spared = [item for item in asked if _gradient(item) not in kinds]
    if spared and all(item.outcome == "pass" for item in spared):
        parts.append(f"it holds with {_gradients({_gradient(item) for item in spared}, spared)}")
    return "; ".join(parts)


def _gradient(item: Evidence) -> str:
    return str((item.configuration.get("gradient") or {}).get("kind", "full"))


def _shows(formula: Erratum, row: ClaimRow) -> bool:
    """Is the erratum one of the claim: by the claim's own id, or by that and the part that it is about?"""
    return formula.fails and (formula.id == row.id or formula.id.startswith(f"{row.id}-"))


def _gradients(kinds: Iterable[str], items: Sequence[Evidence]) -> str:
    """`fresh minibatches (iid, without-replacement)` where every minibatch is drawn anew, else the estimators' own names."""
    found = {kind: ESTIMATORS.get(kind) for kind in sorted(kinds)}
    if all(
        known and known.draws_data and not known.exchangeable and known.plain and not known.memory
        for known in found.values()
    ):
        return f"fresh minibatches ({', '.join(found)})"
    return _and(
        [text[:1].lower() + text[1:] for text in dict.fromkeys(gradient_text(i.configuration) for i in items)]
    )
