"""The evidence that a check returns: frozen data with a verdict, never a bool.

Also here: the words of verdicts, outcomes and methods, the outcome and the exit code of a list of evidence, the conversion
of certificates and configurations to plain JSON values, and the stable id of a piece of evidence.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from textwrap import shorten
from typing import Annotated, Any, ClassVar, Literal, get_args

from sgverify.evidence.points import PointsAtSight
from sgverify.evidence.published import Name, Number, Says, Size
from sgverify.evidence.scope import NOWHERE, Scope

Verdict = Literal["conforms", "violates", "inconclusive", "not-applicable"]
Outcome = Literal["pass", "fail", "undecided", "refuted", "not-applicable"]
Method = Literal["proof", "exact", "quadrature", "monte-carlo"]
Bound = Literal["upper", "sharp"]
PointKind = Literal["exact", "sampled"]

VERDICTS: tuple[str, ...] = get_args(Verdict)
OUTCOMES: tuple[str, ...] = get_args(Outcome)
METHODS: tuple[str, ...] = get_args(Method)
BOUNDS: tuple[str, ...] = get_args(Bound)
POINT_KINDS: tuple[str, ...] = get_args(PointKind)

CONFORMS, VIOLATES, INCONCLUSIVE = 0, 1, 3

# By the outcome of a whole answer: the word that is printed and the code that is returned are one decision.
EXIT_CODES: Mapping[str, int] = {"pass": CONFORMS, "fail": VIOLATES, "undecided": INCONCLUSIVE}

_OUTCOME_OF: Mapping[str, Outcome] = {
    "conforms": "pass",
    "violates": "fail",
    "inconclusive": "undecided",
    "not-applicable": "not-applicable",
}


def outcome_of(verdict: str, refuted: bool = False) -> Outcome:
    """The outcome of one verdict: a refuted claim as printed speaks against the paper, and not against the scheme.

    >>> outcome_of("violates"), outcome_of("violates", refuted=True)
    ('fail', 'refuted')
    """
    return "refuted" if refuted else _OUTCOME_OF[verdict]


def whole_outcome(evidence: Iterable[Evidence | str]) -> Literal["pass", "fail", "undecided"]:
    """The outcome of evidence as a whole: "fail" if something fails, else "undecided" if something is, or if nothing passes."""
    found = {item if isinstance(item, str) else item.outcome for item in evidence}
    if "fail" in found:
        return "fail"
    return "pass" if "pass" in found and "undecided" not in found else "undecided"


def exit_code(evidence: Iterable[Evidence | str]) -> int:
    """The exit code of evidence, or of its outcomes: 0, 1 or 3 as `whole_outcome` says pass, fail or undecided."""
    return EXIT_CODES[whole_outcome(evidence)]


def plain(value: Any, path: str = "") -> tuple[Any, dict[str, str]]:
    """A JSON-ready copy of `value`, and the path and name of every number that is not finite.

    Fractions become strings ("1/2"; a whole one "2"), tuples lists, array scalars and arrays (anything with
    `tolist`) their Python values. NaN and infinities become None and are listed as `{"/path": "nan"}`, because
    JSON has no word for them and a reader must not mistake them for something that was not computed.

    Raises TypeError for a value that has no JSON form, naming its place.
    """
    missing: dict[str, str] = {}
    return _copy(value, path, missing), missing


def name_of(value: float) -> str | None:
    """'nan', 'inf' or '-inf' for a float that is not finite, None for one that is."""
    return None if math.isfinite(value) else str(float(value))


def _copy(value: Any, path: str, missing: dict[str, str]) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        name = name_of(value)
        if name is None:
            return float(value)
        missing[path or "/"] = name
        return None
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Mapping):
        return {_key(key, path): _copy(item, f"{path}/{key}", missing) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(item, f"{path}/{place}", missing) for place, item in enumerate(value)]
    if hasattr(value, "tolist"):
        return _copy(value.tolist(), path, missing)
    raise TypeError(f"no JSON form for {type(value).__name__} at {path or '/'}: {value!r}")


def _key(key: Any, path: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"keys are strings, not {key!r} at {path or '/'}")
    return key


DIGITS = 6


def evidence_id(scheme: str, claim: str, check: str, configuration: Mapping[str, Any]) -> str:
    """A short name that depends on scheme, claim, check and configuration only, such as `theorem-4-sghmc-aboba-3f2a9c`.

    A claim of the corrected cards keeps the word "corrected" in front, so that it reads apart from the printed one.

    >>> evidence_id("sghmc-aboba", "chen2015/theorem-4", "stationary-bias", {"friction": 2.0})
    'theorem-4-sghmc-aboba-7541d2'
    """
    content = json.dumps(
        canonical_numbers([scheme, claim, check, plain(dict(configuration))[0]]), sort_keys=True
    )
    digest = hashlib.sha256(content.encode()).hexdigest()[:DIGITS]
    paper, _, name = claim.rpartition("/")
    parts = [paper, name, scheme] if paper == "corrected" else [name, scheme]
    return "-".join([*map(_slug, parts), digest])


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def canonical_numbers(value: Any) -> Any:
    """`value` with whole floats as integers, since 2.0 and 2 are the same setting and need the same id."""
    if isinstance(value, float) and value == int(value):
        return int(value)
    if isinstance(value, Mapping):
        return {key: canonical_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [canonical_numbers(item) for item in value]
    return value


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


@dataclass(frozen=True, kw_only=True, repr=False)
class Evidence:
    """One question put to one scheme under one configuration, and the answer with everything behind it.

    The fields are in the order of the JSON. `refuted` marks a claim as printed in a paper that fails for this scheme under this
    setting by an error of its own: a result about the paper, which does not count against the scheme. `sharp`
    says that equality with the prediction was shown too. `outcome` follows from both: pass, fail, undecided, refuted or
    not-applicable, the one word that terminal, exit code, reports and tests go by. `configuration` and `certificate` are copied to
    plain JSON values (`sgverify.evidence.model`); a number in the certificate that is not finite is stored as None and listed
    under its key "not_finite".
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "json_schema_extra": {
            "allOf": [
                {
                    "description": "only a refutation is marked refuted",
                    "if": {"required": ["refuted"], "properties": {"refuted": {"const": True}}},
                    "then": {"properties": {"verdict": {"const": "violates"}}},
                },
                *(
                    {
                        "description": "the outcome follows from the verdict",
                        "if": {"properties": {"verdict": {"const": verdict}, "refuted": {"const": refuted}}},
                        "then": {"properties": {"outcome": {"const": outcome_of(verdict, refuted)}}},
                    }
                    for verdict, refuted in (*((word, False) for word in VERDICTS), ("violates", True))
                ),
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
    outcome: Annotated[Outcome, Says("follows from verdict and refuted", optional=True)] = field(
        init=False, default="undecided"
    )
    sharp: bool = False
    scope: Annotated[Scope, Says("for what the verdict holds, axis by axis", optional=True)] = NOWHERE
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
        if not isinstance(self.points, PointsAtSight):
            object.__setattr__(self, "points", tuple(self.points))
        object.__setattr__(self, "seconds", float(self.seconds))
        object.__setattr__(self, "outcome", outcome_of(self.verdict, self.refuted))
        if not self.id:
            object.__setattr__(self, "id", evidence_id(self.scheme, self.claim, self.check, configuration))

    @property
    def exception(self) -> str | None:
        """Type and message of the unforeseen exception that ended the check; None if there was none."""
        found = self.certificate.get("exception")
        return None if found is None else str(found)

    @property
    def passed(self) -> bool:
        """Is the outcome pass?"""
        return self.outcome == "pass"

    def __repr__(self) -> str:
        """A few lines; `dataclasses.asdict` has every field."""
        exponents = f"exponent found {self.found.exponent}, predicted {self.predicted.exponent} ({self.predicted.kind})"
        return (
            f"<Evidence {self.outcome}: {self.check} of {self.scheme}, claim {self.claim} [{self.method}]\n"
            f"  {exponents}\n  {shorten(self.reason, 300, placeholder=' ...')}>"
        )


def _certificate(certificate: Mapping[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any]
    copy, missing = plain(dict(certificate))
    if missing:
        copy[NOT_FINITE] = {**copy.get(NOT_FINITE, {}), **missing}
    return copy


def _number(value: Any) -> int | float | None:
    """The number as an int if it is whole, else as a float: the form in which JSON is read back."""
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
