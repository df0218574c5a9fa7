"""The numbers of the scheme that were recovered, with what each means and its law in h, D and T.

What the draws of a step say of its scheme: draws that are not normal, and torch code whose draws are not new at each step.

The answer of `identify`: which scheme a step is, at which numbers, by which convention; its JSON and its text.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from textwrap import fill
from typing import Any, Literal

from sgverify.advice.identification.comparing import AGREES
from sgverify.advice.identification.matching import Match
from sgverify.checks.code.pure_step import noise_faults
from sgverify.errors import SgverifyError
from sgverify.evidence.published import Count, Name, Number, Published, Size
from sgverify.schemes import TorchStep
from sgverify.schemes.catalogue import NAMED
from sgverify.subject.subject import Subject


def recovered_numbers(match: Match, state: tuple[str, ...]) -> tuple[RecoveredNumber, ...]:
    """The numbers of a match, h, D and T first; `state` are the variables of the step."""
    meanings = {"h": "step size", "D": "friction", "T": "temperature of the noise"}
    for role, place in zip(match.base.scheme.state[1:], match.base.order[1:], strict=True):
        meanings[role] = f"{state[place]} is this many times the scheme's {role}"
        meanings[f"{role} offset"] = f"{state[place]} is the scheme's {role} plus this"
    laws = {
        "h": match.convention.h,
        "D": match.convention.D,
        "T": match.convention.T,
        **match.convention.scales,
        **match.convention.own,
    }
    return tuple(
        RecoveredNumber(
            name,
            meanings.get(name, "number of the family"),
            float(value),
            "0" if abs(value) < AGREES else None if laws.get(name) is None else str(laws[name]),
        )
        for name, value in sorted(match.base.numbers.items(), key=lambda item: _place(item[0]))
    )


def _place(name: str) -> int:
    """h, D and T come first; what follows keeps its order."""
    return ("h", "D", "T").index(name) if name in ("h", "D", "T") else 3


def none_draws() -> str:
    """A clause about the catalogue, where all draws of all its schemes are normal."""
    others = [name for name, scheme in NAMED.items() if not all(law.normal for law in scheme.laws)]
    return (
        "" if others else f", and each of the {len(NAMED)} schemes of the catalogue draws normal ones alone"
    )


def of_other_draws(found: Identification, other: str) -> Identification:
    """The answer about a definition that was run with normal draws in the place of others of the same mean and variance."""
    same = f"{found.scheme}: " if found.scheme else ""
    reason = (
        f"it draws {other} numbers{none_draws()}; with normal ones of the same mean and variance in their place: {same}"
        f"{found.reason.removeprefix(f'{found.scheme}; ')}"
    )
    return replace(found, outcome=OPEN, reason=reason, scheme=None, source=None, relation=None)


def repeated_noise(subject: Subject) -> tuple[str, tuple[str, ...]]:
    """Why the draws of torch code are not new at each step, "" if they are, and what of this was not asked."""
    if not isinstance(subject.scheme, TorchStep):
        return "", ()
    try:
        return "; ".join(noise_faults(subject)), (
            "whether it keeps anything else between steps: `sgverify verify` tries it (pure-step, white-noise)",
        )
    except SgverifyError:
        return "", ("whether later steps draw anew: `sgverify verify` tries it (pure-step, white-noise)",)


WIDTH = 100
"""Columns of a line."""

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
    """What was compared: the largest `difference` seen, relative to the movement of one step, and the `bound` for equal laws.

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


@dataclass(frozen=True)
class Identification:
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

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {"schema": IDENTIFICATION.name, **asdict(self)}

    def __repr__(self) -> str:
        return f"<Identification: {self.reason}>"

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
    lines = [fill(f"{word}  {found.subject}: {found.reason}", WIDTH)]
    if found.source:
        lines.append(f"  published: {found.source}")
    if found.relation:
        lines.append(
            fill(f"relation: {found.relation}", WIDTH, initial_indent="  ", subsequent_indent="    ")
        )
    if found.numbers:
        lines += ["", "numbers of the scheme:", *_table(found.numbers)]
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
    for heading, said in sections:
        if said:
            lines += ["", f"{heading}:", *_items(said)]
    return "\n".join(lines)


def _table(numbers: tuple[RecoveredNumber, ...]) -> list[str]:
    cells = [(n.name, f"{n.value:.9g}", n.law or "no monomial in h, D, T", n.meaning) for n in numbers]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  " + "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def _compared(agreement: Agreement | None) -> tuple[str, ...]:
    if agreement is None:
        return ()
    dimensions = ", ".join(map(str, agreement.dimensions))
    return (
        f"{agreement.method}: at {agreement.points} states with draws of their own, on {agreement.potentials} potentials, two of "
        f"them quartic, at {len(agreement.settings)} settings of h, D and T, in dimension {dimensions}: the largest difference is "
        f"{agreement.difference:.2g} of the movement of a step; equal laws differ by {agreement.bound:.0e} at most",
    )


def _items(said: tuple[str, ...]) -> list[str]:
    return [fill(text, WIDTH, initial_indent="  - ", subsequent_indent="    ") for text in said]
