"""What a check returns: frozen data, never a bool."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, ClassVar

from sgverify.evidence.identity import evidence_id
from sgverify.evidence.plain import name_of, plain
from sgverify.evidence.published import Name, Number, Says, Size
from sgverify.evidence.verdicts import (
    BOUNDS,
    METHODS,
    POINT_KINDS,
    VERDICTS,
    Bound,
    Method,
    PointKind,
    Verdict,
)

NOT_FINITE = "not_finite"

Exponent = Annotated[
    float | Fraction | None,
    Says(
        "positive in the step h, negative in the length L; null where there is none", type=["number", "null"]
    ),
]
Note = Annotated[
    str | None,
    Says(
        "why a number is null, or what a reader must know about it", type="string", minLength=1, optional=True
    ),
]


@dataclass(frozen=True)
class Point:
    """One value behind a verdict: signed, estimate minus truth (for the MSE, the mean square).

    `step` is h, in units of time; `length` is L, a number of steps; at least one is given. `standard_error` is the
    between-chain one of a sampled point; `error_bound` bounds the rounding and truncation of an exact one, at the decimal
    number that `step` prints as, or C L^-alpha, and at the nearest double, with which a program runs.
    By quadrature, and where the certificate has `error_bounds_are`, as on grids, it is an estimate and no enclosure. A value
    that is not finite is stored as None, and `note` names it.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "json_schema_extra": {
            "allOf": [
                {
                    "description": "a null value says why",
                    "if": {"required": ["value"], "properties": {"value": {"type": "null"}}},
                    "then": {"required": ["note"]},
                },
                {
                    "description": "a point lies at a step, at a length or at both",
                    "anyOf": [
                        {"properties": {"step": {"type": "number"}}},
                        {"properties": {"length": {"type": "integer"}}},
                    ],
                },
            ]
        }
    }

    step: Annotated[float | None, Says("h, in units of time", exclusiveMinimum=0)] = None
    length: Annotated[int | None, Says("L, a number of steps", minimum=1)] = None
    value: Number | None = None
    standard_error: Annotated[Number | None, Says(minimum=0)] = 0.0
    error_bound: Annotated[Number | None, Says(minimum=0)] = 0.0
    kind: Annotated[PointKind, Says(optional=True)] = "exact"
    diverged: Annotated[bool, Says(optional=True)] = False
    note: Note = None

    def __post_init__(self) -> None:
        _one_of("kind", self.kind, POINT_KINDS)
        if self.step is None and self.length is None:
            raise ValueError("a point needs a step or a length")
        notes = []
        for name in ("value", "standard_error", "error_bound"):
            number, note = _finite_or_named(name, getattr(self, name))
            object.__setattr__(self, name, number)
            notes += [note] if note else []
        if notes:
            object.__setattr__(self, "note", "; ".join([*([self.note] if self.note else []), *notes]))
        if self.value is None and not self.note:
            raise ValueError("a point without a value needs a note that says why")
        object.__setattr__(self, "step", None if self.step is None else float(self.step))
        object.__setattr__(self, "length", None if self.length is None else int(self.length))


@dataclass(frozen=True)
class Found:
    """The exponent that was found, with its interval; None where there is none (a quantity that vanishes)."""

    exponent: Exponent = None
    low: Exponent = None
    high: Exponent = None
    note: Note = None

    def __post_init__(self) -> None:
        notes = [self.note] if self.note else []
        for name in ("exponent", "low", "high"):
            number, note = _finite_or_named(name, _number(getattr(self, name)))
            object.__setattr__(self, name, number)
            notes += [note] if note else []
        object.__setattr__(self, "note", "; ".join(notes) or None)


@dataclass(frozen=True)
class Predicted:
    """The exponent that the claim predicts: positive in h, negative in L; an upper bound or a sharp rate."""

    exponent: Exponent = None
    kind: Bound = "upper"

    def __post_init__(self) -> None:
        _one_of("kind", self.kind, BOUNDS)
        number = _number(self.exponent)
        if number is not None and not math.isfinite(number):
            raise ValueError(f"a predicted exponent is finite, not {number}")
        object.__setattr__(self, "exponent", number)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One question put to one scheme under one configuration, and the answer with everything behind it.

    The fields are in the order of the JSON. `refuted` marks a claim as printed in a paper that is refuted for every scheme of
    the order it speaks of, under the setting shown: a result about the paper, which does not count against the scheme. `sharp`
    says that equality with the prediction was shown too. `configuration` and `certificate` are copied to plain JSON values
    (`sgverify.evidence.plain`); a number in the certificate that is not finite is stored as None and listed under its key
    "not_finite".
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "json_schema_extra": {
            "allOf": [
                {
                    "description": "only a refutation is marked refuted",
                    "if": {"required": ["refuted"], "properties": {"refuted": {"const": True}}},
                    "then": {"properties": {"verdict": {"const": "violates"}}},
                }
            ]
        }
    }

    id: Annotated[
        str, Says("depends on scheme, claim, check and configuration only", pattern="^[a-z0-9][a-z0-9-]*$")
    ] = ""
    scheme: Name
    claim: Annotated[str, Says("paper/id", pattern="^[^/\\s]+/\\S+$")]
    check: Name
    refuted: bool = False
    configuration: dict[str, Any]
    method: Method
    predicted: Predicted
    found: Found
    points: tuple[Point, ...] = ()
    verdict: Verdict
    sharp: bool = False
    reason: Annotated[str, Says("one sentence a reader understands", minLength=1)]
    certificate: Annotated[
        dict[str, Any],
        Says(
            "what anybody needs to check the verdict; fractions are strings, a number that is not finite is null and listed under "
            "not_finite by its JSON pointer",
            properties={
                NOT_FINITE: {"type": "object", "additionalProperties": {"enum": ["nan", "inf", "-inf"]}}
            },
        ),
    ] = field(default_factory=dict)
    replay: Annotated[str, Says("the command that computes this evidence again")] = ""
    seconds: Size = 0.0

    def __post_init__(self) -> None:
        _one_of("verdict", self.verdict, VERDICTS)
        _one_of("method", self.method, METHODS)
        for name in ("scheme", "claim", "check", "reason"):
            if not getattr(self, name):
                raise ValueError(f"evidence needs a {name}")
        if self.refuted and self.verdict != "violates":
            raise ValueError(f"refuted marks a violation, not verdict={self.verdict!r}")
        configuration, missing = plain(dict(self.configuration))
        if missing:
            raise ValueError(f"a configuration is finite; not so: {missing}")
        object.__setattr__(self, "configuration", configuration)
        object.__setattr__(self, "certificate", _certificate(self.certificate))
        object.__setattr__(self, "points", tuple(self.points))
        object.__setattr__(self, "seconds", float(self.seconds))
        if not self.id:
            object.__setattr__(self, "id", evidence_id(self.scheme, self.claim, self.check, configuration))

    @property
    def exception(self) -> str | None:
        """The exception that nobody foresaw and that ended this check, by type and message; None where there was none."""
        found = self.certificate.get("exception")
        return None if found is None else str(found)


def _certificate(certificate: Mapping[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any]
    copy, missing = plain(dict(certificate))
    if missing:
        copy[NOT_FINITE] = {**copy.get(NOT_FINITE, {}), **missing}
    return copy


def _number(value: Any) -> int | float | None:
    """int where the number is whole, float elsewhere: the same form that JSON gives back."""
    if value is None:
        return None
    number = float(value)
    return int(number) if math.isfinite(number) and number == int(number) else number


def _finite_or_named(name: str, value: Any) -> tuple[Any, str | None]:
    if value is None:
        return None, None
    if isinstance(value, int) and not isinstance(value, bool):
        return value, None
    value = float(value)
    word = name_of(value)
    return (value, None) if word is None else (None, f"{name} is {word}")


def _one_of(name: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise ValueError(f"{name}={given!r}; one of {', '.join(known)}")
