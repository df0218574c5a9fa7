"""The answer of `identify`: the scheme that a step is, its numbers and its convention; its JSON and its text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from sgverify.errors import filled, printable
from sgverify.evidence import Table
from sgverify.evidence.published import Count, Name, Number, Published, Size
from sgverify.report.forms.lines import column_lines, section_lines
from sgverify.report.forms.result import Exhibit, Result

Outcome = Literal["identified", "other-numbers", "none", "undecided"]

IDENTIFIED: Outcome = "identified"
OTHER_NUMBERS: Outcome = "other-numbers"
NONE: Outcome = "none"
OPEN: Outcome = "undecided"


@dataclass(frozen=True)
class RecoveredNumber:
    """A number of the scheme that was recovered: its `value` at the configured setting, and its `law` in h, D and T.

    `law` is a monomial such as "sqrt(h)", recovered at all compared settings; null where the number is none.
    """

    name: Name
    meaning: Name
    value: Number
    law: str | None


@dataclass(frozen=True)
class Equivalent:
    """Another scheme with the same law of one step; `relation` says up to what, `law` at which numbers."""

    scheme: Name
    relation: Name
    numbers: str


@dataclass(frozen=True)
class DifferingTerm:
    """A term of one variable's update whose factor is not that of the scheme; `size` relative to the movement of one step."""

    variable: Name
    term: Name
    found: Number
    due: Number
    size: Size
    text: Name


@dataclass(frozen=True)
class Nearest:
    """The scheme that comes nearest: at `numbers`, its law differs by `difference`, relative to the movement of one step."""

    scheme: Name
    numbers: str
    difference: Size
    terms: tuple[DifferingTerm, ...]


@dataclass(frozen=True)
class Agreement:
    """The extent of a comparison: the largest `difference`, relative to the movement of one step, and the `bound` for equal laws.

    `settings` are the handed numbers, `points` the states with their draws on each of the `potentials` at each setting.
    """

    method: Name
    difference: Size
    bound: Size
    settings: tuple[str, ...]
    potentials: Count
    points: Count
    dimensions: tuple[int, ...]
    candidates: Count


@dataclass(frozen=True, repr=False)
class Identification(Result):
    """Which published scheme a step is.

    `outcome`, with its `reason`: identified, one step has the law of a published scheme at the handed numbers, by a named
    convention; other-numbers, it has that law at other numbers than were handed; none, it has the law of no scheme that was
    compared; undecided, its law was not read.
    `scheme` with its `source` is the scheme, null where there is none; `relation` says whether the law is equal or up to what
    ("equal", "recorded elsewhere", "cyclic shift"). `family` says what the law cannot separate, `convention` what the numbers
    mean, `equivalents` are other schemes with this law, `nearest` the one that comes nearest where none has it, `untested` what
    was not compared.
    """

    subject: Name
    outcome: Outcome
    reason: Name
    scheme: str | None
    source: str | None
    relation: str | None
    numbers: tuple[RecoveredNumber, ...]
    convention: tuple[str, ...]
    family: tuple[str, ...]
    equivalents: tuple[Equivalent, ...]
    nearest: Nearest | None
    agreement: Agreement | None
    untested: tuple[str, ...]

    @property
    def identified(self) -> bool:
        """Is the step a published scheme, at the handed numbers by a named convention?"""
        return self.outcome == IDENTIFIED

    @property
    def exhibit(self) -> Exhibit:
        """The numbers of the scheme, and the terms by which the nearest one differs."""
        numbers = tuple(
            (n.name, f"{n.value:.9g}", n.law or "no monomial in h, D, T", n.meaning) for n in self.numbers
        )
        terms = () if self.nearest is None else self.nearest.terms
        differing = tuple((t.variable, t.term, t.found, t.due, t.size) for t in terms)
        shown = (
            Table("Numbers of the scheme", ("number", "value", "law", "meaning"), numbers),
            Table("Differing terms", ("variable", "term", "factor", "due", "size in a step"), differing),
        )
        notes = (*self.convention, *self.family, *self.untested)
        return Exhibit(tuple(t for t in shown if t.rows), (), notes, f"{self.subject}: {self.reason}")

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {"schema": IDENTIFICATION.name, **asdict(self)}

    def __str__(self) -> str:
        return identification_text(self)


IDENTIFICATION = Published(
    "sgverify/identify/1",
    Identification,
    "an identification",
    "Write it again with `sgverify identify SCHEME --json FILE`.",
)


def identification_text(found: Identification) -> str:
    """The whole answer: the sentence, the numbers, the convention, the family, the error bound, what was not tested."""
    word = found.outcome.replace("-", " ").upper()
    lines = [filled(f"{word}  {found.subject}: {found.reason}", rest="    ")]
    if found.source:
        lines.append(printable(f"  published: {found.source}"))
    if found.relation:
        lines.append(filled(f"relation: {found.relation}", "  ", "    "))
    if found.numbers:
        lines += ["", "numbers of the scheme:", *column_lines(found.exhibit.tables[0].rows, left=4)]
    sections = [
        ("convention", found.convention),
        ("what the law leaves open", found.family),
        ("the same law", tuple(f"{e.scheme}: {e.relation}, at {e.numbers}" for e in found.equivalents)),
    ]
    if found.nearest is not None:
        near = found.nearest
        terms = tuple(f"differs {term.text}" for term in near.terms)
        sections.append((f"nearest: {near.scheme} at {near.numbers}", terms))
    sections.append(("compared", _compared(found.agreement)))
    sections.append(("not tested", found.untested))
    return "\n".join([*lines, *section_lines(sections)])


def _compared(agreement: Agreement | None) -> tuple[str, ...]:
    if agreement is None:
        return ()
    dimensions = ", ".join(map(str, agreement.dimensions))
    return (
        f"{agreement.method}: at {agreement.points} states with draws of their own, on {agreement.potentials} potentials, two of "
        f"them quartic, at {len(agreement.settings)} settings of h, D and T, in dimension {dimensions}: the largest difference is "
        f"{agreement.difference:.2g} of the movement of a step; equal laws differ by {agreement.bound:.0e} at most",
    )
