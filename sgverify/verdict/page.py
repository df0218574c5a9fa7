"""The whole answer about one integrator as one HTML page that opens from disk, with nothing from outside."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from sgverify.advice.comparison.comparing import comparable, compare_subject
from sgverify.advice.comparison.model import SchemeComparison
from sgverify.checks.check import Matter
from sgverify.claims import claims
from sgverify.errors import NotExpandableError, Unreached, UserError
from sgverify.evidence import Document, Evidence, Provenance
from sgverify.evidence.crash import Crash
from sgverify.exact.readings.formula import formula, text_of
from sgverify.report.answer import assumed, badge
from sgverify.report.drawing import draw
from sgverify.report.figures import figures
from sgverify.report.formulas import with_formulas
from sgverify.report.matrix import Group, groups
from sgverify.report.page.environment import page_of
from sgverify.report.page.pages import choices, sections_of_claims
from sgverify.report.page.story import story_of
from sgverify.report.text import counts, sampled_together
from sgverify.report.wording import exponent_text, gradient_text
from sgverify.schemes import Scheme, TorchStep
from sgverify.schemes.composites import Composite
from sgverify.schemes.torch_step import written
from sgverify.subject.subject import Subject
from sgverify.verdict.block import ClosingBlock
from sgverify.verdict.findings import (
    MATTERS,
    Finding,
    findings_of,
    folded,
    gradient_of,
    matter_of,
    place_in_lines,
    said,
)
from sgverify.verdict.lines import introduced

if TYPE_CHECKING:
    from sgverify.advice.size.model import HowLarge

WORDS = {
    "h^": "h^2: the error falls with the square of the step size h, as h tends to 0",
    "L^": "L^(-1/2): the error of an average over L steps falls as 1/sqrt(L), with the step size that suits L best",
    "log L": "log L: a factor besides that grows slowly with L",
    "escape": "before escape: chains leave in the end; the law that they keep for long until then (quasi-stationary) is judged",
}
"""What the signs in findings mean, told under those that have them."""

OF_THE_ORDER = ("local-order", "invariant-order")
"""The quantities that are orders of the scheme; the first that was answered is shown on its badge."""


@dataclass(frozen=True)
class PrintedSource:
    """The Python text of one function of a step, and where it stands."""

    title: str
    text: str
    place: str = ""


@dataclass(frozen=True)
class FindingRow:
    """A finding as a row of the page; `follows` says that it is a consequence of the one above."""

    evidence: tuple[Evidence, ...]
    said: str
    gradients: str
    inside: str
    follows: bool

    @property
    def first(self) -> Evidence:
        """The evidence that is shown for all."""
        return self.evidence[0]


def badge_of(verdict: ClosingBlock) -> str:
    """The outcome, with the order that was found, as SVG."""
    return badge(verdict.scheme, verdict.outcome.lower(), _order(verdict))


def render_answer(
    verdict: ClosingBlock,
    subjects: Sequence[Subject],
    how_large: Mapping[str, HowLarge],
    provenance: Provenance,
    attempted: Callable[[Callable[[], Any]], Any],
) -> str:
    """The page: verdict, step, findings, claims, rates, cost, what was not tested, evidence.

    `subjects` are the scheme under each gradient estimator that was judged, `how_large` its biases by estimator. `attempted`
    answers a question or returns the `Crash` that it ended with: a picture that cannot be drawn ends no page.
    """
    from markupsafe import Markup

    evidence, subject = verdict.evidence, verdict.subject
    sections = sections_of_claims(evidence)
    refuted = [claim for claim in sections if all(item.outcome == "refuted" for item in claim["items"])]
    parts = [part for part in groups(evidence) if part.judged]
    judged = dict.fromkeys(claim for part in parts for claim in part.judged)
    step = None if subject is None else _asked(subject)
    findings = list(_findings(verdict, [matter for matter in MATTERS if matter != "paper"]))
    told = " ".join(row.said for _, rows in findings for row in rows)
    values: dict[str, Any] = {
        "document": Document(evidence, provenance),
        "outcome": verdict.outcome,
        "scheme": verdict.scheme,
        "introduction": introduced(verdict.scheme, step).partition(": ")[2] if step else "",
        "summary": getattr(step, "summary", ""),
        "badge": Markup(badge_of(verdict)),
        "finding": verdict.finding,
        # What a paper prints is told in its own section, and is no finding about the scheme.
        "rows": _grouped([(label, text) for label, text in verdict.rows() if label != "paper"]),
        "counts": counts(evidence),
        "choices": choices(evidence),
        "equations": None if subject is None else attempted(partial(_printed, subject)),
        "sources": [] if step is None else list(_sources(step)),
        "findings": findings,
        "words": [meaning for sign, meaning in WORDS.items() if sign in told],
        "of_the_paper": list(_findings(verdict, ["paper"])),
        "sampled": sampled_together(evidence),
        "story": story_of(evidence),
        "columns": [with_formulas(part.title) for part in parts],
        "cells": _cells(parts, judged),
        "figures": [
            {
                "title": f"{figure.title}: {figure.group[:1].lower()}{figure.group[1:]}",
                "svg": Markup(draw(figure).embedded(f"f{number}")),
            }
            for number, figure in enumerate(figures(evidence), start=1)
        ],
        "costs": list(_costs(subjects, attempted)),
        "bias": [(kind, size.lines()) for kind, size in how_large.items()],
        "untested": verdict.untested,
        "assumed": assumed(evidence),
        "sections": [claim for claim in sections if claim not in refuted],
        "refuted": refuted,
        "shown": {item.claim for item in evidence},
        "titles": {item.id: part.title for part in groups(evidence) for item in part.evidence},
        "cards": claims(),
    }
    if isinstance(values["equations"], Crash):
        values["equations"] = None
    return page_of("integrator.html", contents=_contents(values), **values)


def _contents(values: dict[str, Any]) -> list[tuple[str, str]]:
    """The sections of the page, those that have something in them."""
    named = (
        ("step", "The step", values["equations"] or values["sources"]),
        ("findings", "Findings", True),
        ("matrix", "Claim by gradient", len(values["columns"]) > 1),
        ("rates", "Rates", values["figures"]),
        ("cost", "What an error costs", True),
        ("bias", "How large the bias is", values["bias"]),
        ("untested", "What was not tested", True),
        ("claims", MATTERS["paper"], values["story"].rows or values["of_the_paper"]),
        ("evidence", "Evidence", True),
        ("provenance", "Provenance", True),
    )
    return [(anchor, title) for anchor, title, shown in named if shown]


def _grouped(rows: Sequence[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """The rows of the block: one without a label, and one with the label before, go with that before."""
    found: list[tuple[str, list[str]]] = []
    for label, text in rows:
        if found and label in ("", found[-1][0]):
            found[-1][1].append(text)
        else:
            found.append((label, [text]))
    return found


def _asked(subject: Subject) -> Scheme | TorchStep | Composite:
    """What was asked about: the composite, where there is one."""
    return subject.composite or subject.scheme


def _order(verdict: ClosingBlock) -> str | None:
    """The order of the scheme that was asked about, as found; None where none was."""
    own = [item for item in verdict.evidence if item.scheme == verdict.scheme and item.outcome != "refuted"]
    found = [item.found.exponent for check in OF_THE_ORDER for item in own if item.check == check]
    return next((exponent_text(exponent) for exponent in found if exponent is not None), None)


def _printed(subject: Subject) -> str | None:
    """The printed formula of the scheme; None for torch code, which has none."""
    if subject.black_box:
        return None
    try:
        return formula(subject.scheme)
    except NotExpandableError:
        return None


def _sources(step: Scheme | TorchStep | Composite) -> Iterator[PrintedSource]:
    """The Python text of the step: of a splitting its letters, in the order of its word."""
    if isinstance(step, Composite):
        yield from _sources(step.scheme)
        return
    if isinstance(step, TorchStep):
        functions = [(step.name, written(step.function))]
    elif step.word is None:
        functions = [(step.name, step.function)]
    else:
        letters = step.word.alphabet.letters
        shares = ", ".join(map(str, step.word.shares))
        yield PrintedSource("The word, with the shares of the step", f"{step.word.text}\n{shares}")
        functions = [(f"letter {name}", letters[name].function) for name in dict.fromkeys(step.word.text)]
    for title, function in functions:
        found = _source(title, inspect.unwrap(function))
        if found is not None:
            yield found


def _source(title: str, function: Any) -> PrintedSource | None:
    made = text_of(function)
    if made is not None:
        return PrintedSource(title, made)
    try:
        lines, first = inspect.getsourcelines(function)
        file = Path(inspect.getsourcefile(function) or "")
    except (OSError, TypeError):
        return None
    return PrintedSource(title, dedent("".join(lines)).strip(), f"{file.name}:{first}" if file.name else "")


def _cells(parts: Sequence[Group], judged: Iterable[str]) -> list[tuple[str, list[list[Evidence]]]]:
    """The answers that judge the scheme, claim by gradient: what is refuted as printed is told with its paper."""
    rows = (
        (id, [[item for item in part.answers_on(id) if item.outcome != "refuted"] for part in parts])
        for id in judged
    )
    return [(id, cells) for id, cells in rows if any(cells)]


def _findings(verdict: ClosingBlock, matters: Sequence[Matter]) -> Iterator[tuple[str, list[FindingRow]]]:
    """The groups of findings, failures before their consequences."""
    for matter in matters:
        asked = sorted(
            (item for item in verdict.evidence if matter_of(item) == matter),
            key=lambda item: place_in_lines(item.check),
        )
        found = folded(findings_of(asked))
        rows = [
            _row(finding, verdict.scheme, number > 0)
            for cause in found
            for number, finding in enumerate((cause, *cause.consequences))
        ]
        if rows:
            yield MATTERS[matter], rows


def _row(finding: Finding, asked: str, follows: bool) -> FindingRow:
    kinds = ", ".join(dict.fromkeys(map(gradient_of, finding.evidence)))
    inside = "" if finding.first.scheme == asked else f"{finding.first.scheme} "
    return FindingRow(finding.evidence, said(finding.first), kinds, inside, follows)


def _costs(
    subjects: Sequence[Subject], attempted: Callable[[Callable[[], Any]], Any]
) -> Iterator[dict[str, Any]]:
    """The scheme beside the catalogue under each gradient estimator that was judged; the reason where nothing can be compared."""
    from markupsafe import Markup

    for number, subject in enumerate(subjects, start=1):
        gradient = gradient_text(subject.configuration.model_dump())
        found = attempted(partial(_compared, subject))
        if isinstance(found, SchemeComparison) and found.panel is not None:
            svg = Markup(found.picture().embedded(f"w{number}"))
            yield {"gradient": gradient, "why": "", "comparison": found, "svg": svg}
            continue
        why = found if isinstance(found, str) else f"{found.exception} ({found.place})"
        yield {"gradient": gradient, "why": why}


def _compared(subject: Subject) -> SchemeComparison | str:
    """The scheme beside those of the catalogue of its dynamics, or the reason why there is no curve."""
    try:
        if subject.configuration.schedule.kind != "fixed":
            return "the step size changes during the run"
        found = compare_subject(subject, comparable(subject), brief=True)
    except (Unreached, UserError) as why:
        return str(why)
    return found if found.panel is not None else "; ".join(found.marks)
