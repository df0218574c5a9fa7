"""The report as Markdown: counts, matrices and one line for each piece of evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sgverify.claims import claims
from sgverify.evidence import Document, Erratum, Evidence, Study
from sgverify.report.answer import answers_of, assumed, untested
from sgverify.report.errata import HEADINGS, by_severity, certificate_lines, counted, word
from sgverify.report.errata import MEANINGS as WEIGHTS
from sgverify.report.matrix import Group, groups
from sgverify.report.studies import cell_text, remarks, sections
from sgverify.report.text import counts, limits_of_refutations, sampled_together
from sgverify.report.wording import (
    MEANINGS,
    SYMBOLS,
    claim_order,
    compared_text,
    found_text,
    method_text,
    symbol,
)


def render_markdown(
    document: Document, studies: Sequence[Study] = (), formulas: Sequence[Erratum] = ()
) -> str:
    """The whole document as text, with the studies' tables and notes and the errata; the same input gives the same bytes."""
    evidence = document.evidence
    blocks = ["# Rate conformance report", _counted(evidence)]
    if sampled_together(evidence):
        blocks.append(f"{_text(sampled_together(evidence))}.")
    blocks += _answer(evidence)
    for title, name in (("Refuted as printed", "refuted"), ("Violations", "fail")):
        found = [item for item in evidence if item.outcome == name]
        if found:
            limits = limits_of_refutations(evidence) if name == "refuted" else []
            blocks += [
                f"## {title}",
                *("\n".join(f"- {_text(line)}" for line in limits),) * bool(limits),
                _listed(found),
            ]
    for group in groups(evidence):
        if group.judged:
            blocks += [f"## {_text(group.title)}", _matrix(group)]
    unspoken = [item for item in evidence if item.outcome == "not-applicable"]
    if unspoken:
        blocks += ["## Claims that do not apply", _listed(unspoken)]
    for title, shown in sections(studies).items():
        blocks.append(f"## {title}")
        for study in shown:
            blocks += _study(study)
    failing = by_severity(formulas)
    if failing:
        blocks += ["## Errata of the paper", f"{counted(formulas)}."]
    for severity, rows in failing.items():
        blocks += [
            f"### {HEADINGS[severity][1].capitalize()}",
            f"{WEIGHTS[severity].capitalize()}.",
            _errata(rows),
        ]
    blocks.append("## Claims and evidence")
    for claim in sorted({item.claim for item in evidence}, key=claim_order):
        blocks += _claim(claim, [item for item in evidence if item.claim == claim])
    made = document.provenance
    blocks.append(
        f"Made by sgverify {made.version} (Python {made.python}, torch {made.torch}, {_text(made.platform)}) with "
        f"{_code(made.command)} in {made.seconds:.1f} s."
    )
    return "\n\n".join(blocks) + "\n"


def _counted(evidence: Sequence[Evidence]) -> str:
    rows = [["outcome", "count", "meaning"]]
    for name, number in counts(evidence).items():
        rows.append([f"{SYMBOLS[name]} {name}", str(number), MEANINGS[name]])
    return _table(rows)


def _answer(evidence: Sequence[Evidence]) -> list[str]:
    rows = [["integrator", "answer", "cause, and what it takes", "refuted as printed, and judged by"]]
    known = claims()
    for answer in answers_of(evidence):
        causes = [f"{_text(item.claim)}: {_text(item.reason)}" for item in answer.causes]
        fallen = [f"{id}, by {known[id].corrected}" if id in known else id for id in answer.refuted]
        rows.append(
            [
                _text(answer.scheme),
                f"{SYMBOLS[answer.outcome]} {answer.word}, {answer.asked} questions",
                "<br>".join([*causes, *[f"and {answer.more} more"] * bool(answer.more)]) or "none",
                _text("; ".join(fallen)) or "none",
            ]
        )
    blocks = ["## Answer", _table(rows)] if evidence else []
    lines = [f"- {_text(item.claim)}: {_text(item.why)}" for item in untested(evidence)]
    lines += [
        f"- assumed: {_text(text)} ({_text(', '.join(ids))})" for text, ids in assumed(evidence).items()
    ]
    return [*blocks, "## What was not tested", "\n".join(lines)] if lines else blocks


def _matrix(group: Group) -> str:
    rows = [["claim", *map(_text, group.schemes)]]
    for claim in group.judged:
        cells = [group.answers(scheme, claim) for scheme in group.schemes]
        rows.append([_text(claim), *("<br>".join(map(_cell, items)) or "·" for items in cells)])
    return _table(rows)


def _cell(item: Evidence) -> str:
    return f"{symbol(item)} {item.outcome}, {_text(found_text(item))} ({method_text(item)})"


def _claim(id: str, items: Sequence[Evidence]) -> list[str]:
    card = claims().get(id)
    blocks = [f"### {_text(id)}" + (f": {card.title}" if card else "")]
    if card is not None:
        blocks.append(f"> {_text(card.statement)}\n>\n> {_text(str(card.source))}")
    blocks.append(_listed(items))
    return blocks


def _study(study: Study) -> list[str]:
    blocks = [f"### {_text(study.title)}", f"> {_text(study.source)}", _text(study.summary)]
    for table in study.tables:
        rows = [list(map(_text, table.columns))]
        rows += [[_text(cell_text(cell)) for cell in row] for row in table.rows]
        blocks += [f"**{_text(table.title)}**", _table(rows)]
    notes = [
        *study.notes,
        *(f"{panel.title}: {remark}" for panel in study.panels for remark in remarks(panel)),
    ]
    if notes:
        blocks.append("\n".join(f"- {_text(note)}" for note in notes))
    return blocks


def _errata(formulas: Sequence[Erratum]) -> str:
    rows = [["where", "printed", "read as", "holds", "affects", "what tells them apart"]]
    rows += [
        [
            f"{_text(item.where)}<br>{_text(item.id)}: {word(item)}"
            + (f"<br>one error with others: {_text(item.root)}" if item.root != item.id else ""),
            f'"{_text(item.printed)}"',
            _text(item.read_as),
            _text(item.holds) + (f"<br>right elsewhere: {_text(item.elsewhere)}" if item.elsewhere else ""),
            f"{_text(item.affects)}<br>{_text(item.because)}",
            _text(dict(certificate_lines(item.certificate))["difference"]),
        ]
        for item in formulas
    ]
    return _table(rows)


def _listed(items: Iterable[Evidence]) -> str:
    return "\n".join(
        f"- {symbol(item)} **{item.outcome}** {_text(item.scheme)}, {_text(item.claim)} ({item.check}): "
        f"{', '.join([*[_text(compared_text(item))] * bool(compared_text(item)), method_text(item)])}. {_text(item.reason)}"
        + (f" Replay: {_code(item.replay)}" if item.replay else "")
        for item in items
    )


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = rows
    lines = [head, ["---"] * len(head), *rest]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _text(text: str) -> str:
    """Prose without Markdown's own signs: `h^2`, `*` and `_` come out as written."""
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{' '.join(text.split())}{fence}"
