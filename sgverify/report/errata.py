"""How are errata shown to readers: their names, their number, their text on a terminal, and their certificates?"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from sgverify.claims import claims
from sgverify.errors import command_lines, filled
from sgverify.evidence import Erratum, Evidence
from sgverify.evidence.erratum import SEVERITIES
from sgverify.report.wording import SYMBOLS

FAILS, STANDS, OPEN = SYMBOLS["refuted"], SYMBOLS["pass"], SYMBOLS["undecided"]
WORDS = {
    "consequence": "error",
    "local": "slip or gap in a proof",
    "typographical": "misprint",
    "reading": "ambiguous",
}
HEADINGS = {
    "consequence": ("error of consequence", "errors of consequence"),
    "local": ("slip or gap in a proof", "slips or gaps in proofs"),
    "typographical": ("misprint", "misprints"),
    "reading": ("ambiguous reading", "ambiguous readings"),
}
MEANINGS = {
    "consequence": "a theorem, a rate or an algorithm does not hold as printed",
    "local": "a step or a bound on the way does not hold; the results that rest on it stand",
    "typographical": "a sign, a factor or an index, from which nothing follows",
    "reading": "it holds in one reading, and the computation is about another one",
}

_SAID = {
    "consequence": ("error of consequence",),
    "local": ("slip", "gap"),
    "typographical": ("misprint",),
    "reading": ("ambiguous",),
}
"""The words by which a card's judgement begins, for each severity."""


def severity_said(judgement: str) -> str:
    """The severity that a judgement names in its first words; "" where it names none."""
    first = judgement.partition(":")[0]
    return next((name for name, words in _SAID.items() if any(word in first for word in words)), "")


def by_weight(judgements: Iterable[str]) -> str:
    """How much the failings of printed claims weigh, each claim or answer once.

    >>> by_weight(["a misprint", "an error of consequence: the rate", "a misprint: a sign"])
    '1 by an error of consequence, 2 by a misprint'
    """
    found = Counter(severity_said(judgement) for judgement in judgements)
    told = ((found[name], HEADINGS[name][0]) for name in SEVERITIES)
    return ", ".join(
        f"{number} by {'an' if word[0] in 'ae' else 'a'} {word}" for number, word in told if number
    )


def refuted_by_weight(evidence: Iterable[Evidence]) -> str:
    """How much the refutations among the answers weigh; "" where there is none, or no card says."""
    cards = claims()
    return by_weight(
        cards[item.claim].weighs for item in evidence if item.outcome == "refuted" and item.claim in cards
    )


def failing(formulas: Iterable[Erratum]) -> list[Erratum]:
    """The statements that fail as printed, the most severe first."""
    found = [formula for formula in formulas if formula.fails]
    return sorted(found, key=lambda formula: SEVERITIES.index(formula.severity))


def standing(formulas: Iterable[Erratum]) -> list[Erratum]:
    """The statements that hold as printed."""
    return [formula for formula in formulas if not formula.fails]


def by_severity(formulas: Iterable[Erratum]) -> dict[str, list[Erratum]]:
    """The failing statements by severity, the most severe first."""
    found: dict[str, list[Erratum]] = {}
    for formula in failing(formulas):
        found.setdefault(formula.severity, []).append(formula)
    return found


def roots(formulas: Iterable[Erratum]) -> dict[str, dict[str, int]]:
    """For each severity, the errors and the number of statements that show each.

    An error counts once, with the severity of its most severe statement.
    """
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for formula in failing(formulas):
        rows[formula.root].append(SEVERITIES.index(formula.severity))
    return {
        name: {root: len(weights) for root, weights in rows.items() if min(weights) == place}
        for place, name in enumerate(SEVERITIES)
    }


def word(formula: Erratum) -> str:
    """The word for the outcome of a statement.

    "refuted" is used for theorems only. A statement "stands" if a proof confirms it; a computation only does not refute it.
    """
    if not formula.fails:
        return "stands" if formula.method == "proof" else "not refuted where it was computed"
    if formula.severity == "consequence" and formula.id.partition("/")[2].startswith("theorem"):
        return "refuted"
    return WORDS[formula.severity]


def certificate_lines(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Each entry of a certificate as a name and one text; nested entries are written as `name: value; ...`."""
    return [(name, _spelled(value)) for name, value in certificate.items()]


def explain_erratum(formula: Erratum) -> str:
    """The text of one statement: place, printed and computed form, corrected form, severity, and certificate."""
    sign = STANDS if not formula.fails else OPEN if formula.severity == "reading" else FAILS
    lines = [f"{sign} {word(formula)}: {formula.id}, {formula.where}"]
    lines += [_field("printed", f"`{formula.printed}`"), _field("read as", formula.read_as)]
    if formula.fails:
        lines += [_field("holds", formula.holds), _field("affects", formula.affects)]
        lines.append(_field("because", formula.because))
        if formula.elsewhere:
            lines.append(_field("elsewhere", formula.elsewhere))
        if formula.root != formula.id:
            lines.append(_field("root", formula.root))
        lines += [_field("family", str(formula.family))] * bool(formula.family)
        lines += [_field("fails in", formula.finite)] * bool(formula.finite)
    lines += [_field(f"- {name}", text) for name, text in certificate_lines(formula.certificate)]
    return "\n".join(lines)


def explain_errata(formulas: Iterable[Erratum]) -> str:
    """The text of all statements and their counts, the most severe last, next to the reader's prompt."""
    formulas = list(formulas)
    lightest_first = sorted(failing(formulas), key=lambda formula: -SEVERITIES.index(formula.severity))
    told = [explain_erratum(formula) for formula in (*standing(formulas), *lightest_first)]
    papers = dict.fromkeys(formula.id.partition("/")[0] for formula in formulas)
    counts = [
        f"{paper}: {counted(formula for formula in formulas if formula.id.startswith(f'{paper}/'))}"
        for paper in papers
    ]
    return "\n".join([*told, *counts])


def counted(formulas: Iterable[Erratum]) -> str:
    """One sentence with the numbers of checked and of confirmed statements, and of errors, each counted once."""
    formulas = list(formulas)
    parts = []
    for severity, found in roots(formulas).items():
        if found:
            rows = sum(found.values())
            shown = f" in {rows} rows" if rows != len(found) else ""
            parts.append(f"{len(found)} {HEADINGS[severity][len(found) != 1]}{shown}")
    checked, right = len(formulas), len(standing(formulas))
    first = f"{checked} printed statement{'s' * (checked != 1)} checked, {right} stand{'s' * (right == 1)}"
    return "; ".join([first, *parts])


def _spelled(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_spelled(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(_spelled, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _field(name: str, text: str) -> str:
    if name == "- replay":
        # Readers copy commands.
        return f"  {name}:\n{command_lines(text, '      ')}"
    return (
        filled(f"{name}: {text}", "  ", "      ") if name.startswith("-") else filled(text, f"  {name:<9} ")
    )
