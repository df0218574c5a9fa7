"""The kill matrix: trials of every check on planted bugs and on the correct schemes, and their JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from sgverify.evidence.model import METHODS, Method, plain
from sgverify.evidence.published import Count, Name, Provenance, Published, Says, Size, read_as
from sgverify.keeping.files import write_atomically

Outcome = Literal["conforms", "violates", "inconclusive", "not-applicable", "refused", "crashed"]

OUTCOMES: tuple[str, ...] = get_args(Outcome)
"""The outcomes of a trial: the verdicts; `refused`, if the check raised `UserError`; `crashed`, for an unforeseen exception."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One check of one claim on one subject: what came out, by which method, in how many milliseconds of processor time.

    `kill`: the subject is wrong and this says so, which it does not say of the correct one. `refuted`: a printed claim that
    fails by an error of its own; it speaks against the paper alone.
    """

    check: Name
    claim: Name
    method: Method
    outcome: Outcome
    refuted: bool = False
    kill: bool = False
    milliseconds: Size = 0.0
    reason: str = ""

    @property
    def against(self) -> bool:
        """Does the trial count against the subject?"""
        return self.outcome in ("refused", "crashed") or (self.outcome == "violates" and not self.refuted)


@dataclass(frozen=True, kw_only=True)
class JudgedScheme:
    """A correct scheme under the settings that its mutants are judged under."""

    scheme: Name
    settings: dict[str, Any]
    trials: tuple[Trial, ...]

    @property
    def alarms(self) -> tuple[Trial, ...]:
        """The trials that wrongly count against a correct scheme."""
        return tuple(trial for trial in self.trials if trial.against)


@dataclass(frozen=True, kw_only=True)
class JudgedMutant:
    """A planted bug with the trials of every check on it."""

    name: Name
    family: Name
    scheme: Name
    place: Annotated[str, Says("formula, word, order, or module:Qualified.name of running code", minLength=1)]
    edits: Annotated[tuple[tuple[str, str], ...], Says("the text that was and the text that is", minItems=1)]
    settings: dict[str, Any]
    reason: Name
    source: Name
    trials: tuple[Trial, ...]

    @property
    def kills(self) -> tuple[Trial, ...]:
        """The trials that refute the mutant, strongest method first, and the fastest first within a method."""
        found = (trial for trial in self.trials if trial.kill)
        return tuple(sorted(found, key=lambda trial: (METHODS.index(trial.method), trial.milliseconds)))

    @property
    def cheapest(self) -> Trial | None:
        """The first of the kills; None for a mutant that survives."""
        return self.kills[0] if self.kills else None

    def exact_milliseconds(self) -> tuple[float, float]:
        """Processor time of the methods `proof` and `exact`: the longest check, and the sum over all checks."""
        spent = [trial.milliseconds for trial in self.trials if trial.method in ("proof", "exact")]
        return max(spent, default=0.0), sum(spent)


@dataclass(frozen=True, kw_only=True)
class KillMatrix:
    """The judged mutants and schemes; `configuration` is what the settings of each go over."""

    configuration: dict[str, Any] = field(default_factory=dict)
    mutants: tuple[JudgedMutant, ...] = ()
    correct: tuple[JudgedScheme, ...] = ()

    @property
    def survivors(self) -> tuple[JudgedMutant, ...]:
        """The bugs that no check refutes."""
        return tuple(mutant for mutant in self.mutants if not mutant.kills)

    @property
    def alarms(self) -> tuple[tuple[JudgedScheme, Trial], ...]:
        """The trials that wrongly count against correct schemes."""
        return tuple((item, trial) for item in self.correct for trial in item.alarms)

    @property
    def checks(self) -> tuple[str, ...]:
        """The checks with a trial, in the order in which they ran."""
        subjects: Iterable[JudgedMutant | JudgedScheme] = (*self.correct, *self.mutants)
        return tuple(
            dict.fromkeys(
                trial.check for item in subjects for trial in item.trials if trial.outcome != "not-applicable"
            )
        )


@dataclass(frozen=True)
class _Kill:
    """The check with the strongest method that refutes a mutant."""

    check: Name
    claim: Name
    method: Method


_Row = Annotated[
    tuple[Count, Outcome, Size, Count, Literal[0, 1], Literal[0, 1]],
    Says(
        "a trial: number of its question, outcome, milliseconds, number of its reason, whether it kills, whether it is refuted"
    ),
]


@dataclass(frozen=True, kw_only=True)
class _WrittenMutant:
    name: Name
    family: Name
    scheme: Name
    place: Annotated[str, Says("formula, word, order, or module:Qualified.name of running code", minLength=1)]
    edits: Annotated[tuple[tuple[str, str], ...], Says("the text that was and the text that is", minItems=1)]
    settings: dict[str, Any]
    reason: Name
    source: Name
    cheapest: _Kill | None
    trials: tuple[_Row, ...]


@dataclass(frozen=True, kw_only=True)
class _WrittenScheme:
    scheme: Name
    settings: dict[str, Any]
    alarms: Count
    trials: tuple[_Row, ...]


@dataclass(frozen=True, kw_only=True)
class _Written:
    """Every planted bug with the trials of every check on it, and what follows from them.

    Questions and reasons are many times the same, so each is written once; questions that do not apply are left out.
    """

    provenance: Provenance
    configuration: dict[str, Any]
    questions: tuple[_Kill, ...]
    reasons: tuple[str, ...]
    mutants: tuple[_WrittenMutant, ...]
    correct: tuple[_WrittenScheme, ...]


KILL_MATRIX = Published(
    "sgverify/mutants/2",
    _Written,
    "kill matrix",
    "Write it again with `python -m reports power --json FILE`.",
)


class _Numbered(dict[Any, int]):
    """The places of values in the order in which they were first asked for."""

    def __missing__(self, value: Any) -> int:
        return self.setdefault(value, len(self))


def encode_kill_matrix(matrix: KillMatrix, provenance: Provenance) -> dict[str, Any]:
    """The matrix in the form of the published schema."""
    questions, reasons = _Numbered(), _Numbered({"": 0})

    def rows(trials: Iterable[Trial]) -> list[list[Any]]:
        return [
            [
                questions[t.check, t.claim, t.method],
                t.outcome,
                t.milliseconds,
                reasons[t.reason],
                int(t.kill),
                int(t.refuted),
            ]
            for t in trials
            if t.outcome != "not-applicable"
        ]

    mutants = [
        {**asdict(item), "cheapest": _question(item.cheapest), "trials": rows(item.trials)}
        for item in matrix.mutants
    ]
    correct = [
        {**asdict(item), "alarms": len(item.alarms), "trials": rows(item.trials)} for item in matrix.correct
    ]
    document, missing = plain(
        {
            "schema": KILL_MATRIX.name,
            "provenance": provenance.document(),
            "configuration": matrix.configuration,
            "questions": [asdict(_Kill(*question)) for question in questions],
            "reasons": list(reasons),
            "mutants": mutants,
            "correct": correct,
        }
    )
    if missing:
        raise ValueError(f"a kill matrix is finite; not so: {missing}")
    result: dict[str, Any] = document
    KILL_MATRIX.check(result, "the kill matrix to be written")
    return result


def decode_kill_matrix(document: Mapping[str, Any]) -> KillMatrix:
    """The inverse of `encode_kill_matrix`; raises UserError for a document of another kind or version."""
    KILL_MATRIX.check(document, "document")
    return read_kill_matrix(document)


def read_kill_matrix(document: Mapping[str, Any]) -> KillMatrix:
    """`decode_kill_matrix` of a document that is known to follow the schema."""
    questions, reasons = document["questions"], document["reasons"]

    def trials(rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
        return [
            {
                **questions[question],
                "outcome": outcome,
                "milliseconds": spent,
                "reason": reasons[reason],
                "kill": bool(kill),
                "refuted": bool(refuted),
            }
            for question, outcome, spent, reason, kill, refuted in rows
        ]

    def subjects(key: str, derived: str) -> list[dict[str, Any]]:
        return [
            {**{k: v for k, v in item.items() if k != derived}, "trials": trials(item["trials"])}
            for item in document[key]
        ]

    return read_as(
        KillMatrix,
        {
            "configuration": document["configuration"],
            "mutants": subjects("mutants", "cheapest"),
            "correct": subjects("correct", "alarms"),
        },
    )


def _question(trial: Trial | None) -> dict[str, Any] | None:
    return None if trial is None else asdict(_Kill(trial.check, trial.claim, trial.method))


def write_kill_matrix(path: str | Path, matrix: KillMatrix, provenance: Provenance) -> None:
    """Write the matrix to a file in one step; raises UserError when the place cannot be written."""
    document = encode_kill_matrix(matrix, provenance)
    write_atomically(path, "{\n" + ",\n".join(_line(key, value) for key, value in document.items()) + "\n}\n")


def _line(key: str, value: Any) -> str:
    """The JSON text of a key, each mutant and each scheme on its own line; without spaces, as there are 10^4 trials."""
    if key not in ("mutants", "correct"):
        return f"{_dense(key)}:{_dense(value)}"
    rows = ",\n".join(map(_dense, value))
    return f"{_dense(key)}:[\n{rows}\n]"


def _dense(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
