"""The report as Markdown: the story, its tables and figures, and each finding once, with the schemes and settings that show it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sgverify.claims import claims
from sgverify.claims.claim import Publication
from sgverify.errors import printable
from sgverify.evidence import Document, Erratum, Evidence, Study, Table
from sgverify.report.answer import answers_of, assumed, untested
from sgverify.report.errata import HEADINGS, by_severity, certificate_lines, counted, refuted_by_weight, word
from sgverify.report.errata import MEANINGS as WEIGHTS
from sgverify.report.forms.lines import cell_text
from sgverify.report.formulas import in_a_line
from sgverify.report.matrix import PROOFS, Group, groups
from sgverify.report.page.pages import UNTITLED
from sgverify.report.page.story import Story, story_of
from sgverify.report.studies import notes_of, sections
from sgverify.report.text import counts, sampled_together
from sgverify.report.wording import (
    MEANINGS,
    SYMBOLS,
    claim_order,
    compared_text,
    found_text,
    method_text,
    symbol,
)

Pictures = Mapping[str, Sequence[tuple[str, str]]]
"""{id of a study, or "" for the head of the report: (title, path) of its figures}."""


def render_markdown(
    document: Document,
    studies: Sequence[Study] = (),
    formulas: Sequence[Erratum] = (),
    publication: Publication | None = None,
    pictures: Pictures | None = None,
    title: str = "",
) -> str:
    """The whole document as text, with figures as links to files; the same input gives the same bytes.

    Its heading is the publication's title, or else the `title`.
    """
    evidence, pictures = document.evidence, pictures or {}
    story = story_of(evidence, formulas, publication)
    blocks = [f"# {as_text(publication.title if publication else title or UNTITLED)}"]
    if publication:
        published = f". {as_text(publication.published)}" if publication.published else ""
        blocks.append(f"{as_text(', '.join(publication.authors))}, {publication.year}{published}")
    blocks += [f"**{as_text(story.sentence)}**"] * bool(story.sentence)
    blocks += [*_pictures(pictures.get("", ())), _counted(evidence)]
    if sampled_together(evidence):
        blocks.append(f"{as_text(sampled_together(evidence))}.")
    # Whoever asks about integrators of their own reads about these first, and then about papers.
    told = [_claims(story), _answer(evidence)]
    blocks += [block for part in (told if publication else told[::-1]) for block in part]
    for group in groups(evidence):
        if group.judged:
            blocks += [f"## {as_text(group.title)}", _matrix(group)]
    for title, shown in sections(studies).items():
        blocks.append(f"## {title}")
        for study in shown:
            blocks += study_blocks(study, pictures.get(study.id, ()))
    failing = by_severity(formulas)
    if failing:
        blocks += ["## Errata of the paper", f"{counted(formulas)}."]
    for severity, rows in failing.items():
        blocks += [
            f"### {HEADINGS[severity][1].capitalize()}",
            f"{WEIGHTS[severity].capitalize()}.",
            _errata(rows),
        ]
    if evidence:
        blocks += [
            "## Claims and evidence",
            "Each finding once, with one of the commands that repeat it; those of the others differ in the scheme and the "
            "settings named, and are in report.json.",
        ]
    titles = {item.id: group.title for group in groups(evidence) for item in group.evidence}
    for claim in sorted({item.claim for item in evidence}, key=claim_order):
        blocks += _claim(claim, [item for item in evidence if item.claim == claim], titles)
    blocks.append(_made(document))
    return "\n\n".join(blocks) + "\n"


def _made(document: Document) -> str:
    made = document.provenance
    known = (
        f" {made.version} (Python {made.python}, torch {made.torch}, {as_text(made.platform)})"
        if made.version
        else ""
    )
    extensions = f"; with {as_text(', '.join(made.extensions))}" if made.extensions else ""
    reused = f" {made.reused}." if made.reused else ""
    return (
        f"Made by sgverify{known} with {as_code(made.command)} in {made.seconds:.1f} s{extensions}.{reused}"
    )


def _pictures(found: Iterable[tuple[str, str]]) -> list[str]:
    return [f"![{as_text(title)}]({path})" for title, path in found]


def _counted(evidence: Sequence[Evidence]) -> str:
    rows = [["outcome", "count", "meaning"]]
    for name, number in counts(evidence).items():
        weighed = refuted_by_weight(evidence) if name == "refuted" else ""
        meaning = f"{MEANINGS[name]}: {weighed}" if weighed else MEANINGS[name]
        rows.append([f"{SYMBOLS[name]} {name}", str(number), meaning])
    return table_of(rows)


def _claims(story: Story) -> list[str]:
    if not story.rows:
        return []
    rows = [["claim", "printed", "found", "corrected"]]
    for row in story.rows:
        outcomes = ", ".join(f"{number} {name}" for name, number in row.corrected_outcomes.items())
        instead = [
            *row.corrected_rates,
            f"{row.corrected}: {outcomes or 'not asked in these settings'}",
        ] * bool(row.corrected)
        instead += [row.weighs] * bool(row.weighs)
        rows.append(
            [
                f"{SYMBOLS[row.outcome]} {as_text(row.id)}<br>{as_text(row.title)}",
                "<br>".join(map(as_text, row.printed)) or "as stated below",
                "<br>".join(
                    [
                        *map(as_text, row.found),
                        f"in {row.number} of {row.asked}"
                        + (f"; not for {as_text('; '.join(row.spared))}" if row.spared else ""),
                    ]
                ),
                "<br>".join(map(as_text, instead))
                or ("holds as printed" if row.outcome == "pass" else "none"),
            ]
        )
    return ["## Claim by claim", table_of(rows)]


def _answer(evidence: Sequence[Evidence]) -> list[str]:
    rows = [["integrator", "answer", "by what", "refuted as printed"]]
    for answer in answers_of(evidence):
        causes = list(dict.fromkeys(f"{item.claim} ({item.check})" for item in answer.causes))
        rows.append(
            [
                as_text(answer.scheme),
                f"{SYMBOLS[answer.outcome]} {answer.word}, {answer.asked} questions",
                "<br>".join([*map(as_text, causes), *[f"and {answer.more} more"] * bool(answer.more)]) or "—",
                as_text(", ".join(id.partition("/")[2] for id in answer.refuted)) or "none",
            ]
        )
    blocks = ["## Integrator by integrator", table_of(rows)] if evidence else []
    lines = [f"- {as_text(item.claim)}: {as_text(item.why)}" for item in untested(evidence)]
    lines += [
        f"- assumed: {as_text(text)} ({as_text(', '.join(ids))})" for text, ids in assumed(evidence).items()
    ]
    return [*blocks, "## What was not tested", "\n".join(lines)] if lines else blocks


def _matrix(group: Group) -> str:
    rows = [["claim", *map(as_text, group.schemes)]]
    for claim in group.judged:
        cells = [group.answers(scheme, claim) for scheme in group.schemes]
        rows.append([as_text(claim), *("<br>".join(map(_cell, items)) or "·" for items in cells)])
    return table_of(rows)


def _cell(item: Evidence) -> str:
    return f"{symbol(item)} {item.outcome}, {as_text(found_text(item))} ({method_text(item)})"


def _claim(id: str, items: Sequence[Evidence], titles: Mapping[str, str]) -> list[str]:
    card = claims().get(id)
    blocks = [f"### {as_text(id)}" + (f": {as_text(card.title)}" if card else "")]
    if card is not None:
        blocks.append(f"> {as_text(card.statement)}\n>\n> {as_text(str(card.source))}")
    blocks.append(_listed(items, titles))
    return blocks


def _listed(items: Iterable[Evidence], titles: Mapping[str, str]) -> str:
    """One line for each finding: outcome, check, rates, method and reason, then who shows it, and one command."""
    findings: dict[tuple[str, ...], list[Evidence]] = {}
    for item in items:
        key = (item.outcome, item.check, compared_text(item), method_text(item), item.reason)
        findings.setdefault(key, []).append(item)
    lines = []
    for (outcome, check, compared, method, reason), shown in findings.items():
        replay = next((f" Replay: {as_code(item.replay)}" for item in shown if item.replay), "")
        said = ", ".join([*[as_text(compared)] * bool(compared), method])
        lines.append(
            f"- {SYMBOLS[outcome]} **{outcome}** {check}: {said}. {as_text(reason)} [{as_text(_shown(shown, titles))}]{replay}"
        )
    return "\n".join(lines)


def _shown(items: Sequence[Evidence], titles: Mapping[str, str]) -> str:
    """The schemes under each setting, settings with the same schemes together."""
    schemes: dict[str, dict[str, None]] = {}
    for item in items:
        schemes.setdefault(titles[item.id], {})[item.scheme] = None
    settings: dict[str, list[str]] = {}
    for title, names in schemes.items():
        settings.setdefault(", ".join(names), []).append(
            "" if title == PROOFS else title[:1].lower() + title[1:]
        )
    return "; ".join(
        f"{names}: {'; '.join(where)}" if any(where) else names for names, where in settings.items()
    )


def study_blocks(study: Study, pictures: Sequence[tuple[str, str]]) -> list[str]:
    """The blocks of a study: its summary, figures as links to files, tables, notes and remarks on missing values."""
    blocks = [
        f"### {as_text(study.title)}",
        f"> {as_text(study.source)}",
        as_text(study.summary),
        *_pictures(pictures),
    ]
    for table in study.tables:
        blocks += table_blocks(table)
    notes = notes_of(study)
    if notes:
        blocks.append("\n".join(f"- {as_text(note)}" for note in notes))
    return blocks


def table_blocks(table: Table) -> list[str]:
    """The blocks of a table: its title, and its rows."""
    rows = [[as_text(cell_text(cell)) for cell in row] for row in (table.columns, *table.rows)]
    return [f"**{as_text(table.title)}**", table_of(rows)]


def _errata(formulas: Sequence[Erratum]) -> str:
    """The rows of one severity; of rows that are one error, what it affects and why stand in the first."""
    rows = [["where", "printed", "read as", "holds", "affects", "what tells them apart"]]
    told: dict[tuple[str, str, str], str] = {}
    for item in formulas:
        first = told.setdefault((item.root, item.affects, item.because), item.id)
        affects = (
            f"{as_text(item.affects)}<br>{as_text(item.because)}"
            if first == item.id
            else f"as {as_text(first)}"
        )
        rows.append(
            [
                f"{as_text(item.where)}<br>{as_text(item.id)}: {word(item)}"
                + (f"<br>one error with others: {as_text(item.root)}" if item.root != item.id else ""),
                f'"{as_text(item.printed)}"',
                as_text(item.read_as),
                as_text(item.holds)
                + (f"<br>right elsewhere: {as_text(item.elsewhere)}" if item.elsewhere else ""),
                affects,
                as_text(dict(certificate_lines(item.certificate))["difference"])
                + (f"<br>{as_text(str(item.family))}" if item.family else "")
                + (f"<br>what fails takes no limit: {as_text(item.finite)}" if item.finite else ""),
            ]
        )
    return table_of(rows)


def table_of(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as a table; the first row is its head."""
    head, *rest = rows
    lines = [head, ["---"] * len(head), *rest]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def as_text(text: str) -> str:
    """Prose with its formulas in one line, as `θ²`, and without Markdown's own signs: `*` and `_` come out as written."""
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", printable(" ".join(in_a_line(text).split())))


def as_code(text: str) -> str:
    """Text as code in a line."""
    line = printable(" ".join(text.split()))
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    room = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{room}{line}{room}{fence}"
