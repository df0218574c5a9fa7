"""An erratum: a statement of a paper as printed, as it holds, the computation that tells them apart, and what it weighs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from sgverify.errors import UserError
from sgverify.evidence.model import plain
from sgverify.evidence.published import Name, Number, Provenance, Published, Says, Size, read_as
from sgverify.keeping.files import json_text, write_atomically

Rung = Literal["proof", "exact"]

SEVERITIES = ("consequence", "local", "typographical", "reading")
"""An error that a result, a rate or an algorithm as printed does not survive; a slip or a gap on the way to results that stand; a
misprint; a statement that holds in one reading and not in another. The heaviest first."""

WEIGHT = ("severity", "root", "affects", "because")
"""The fields of a failing statement that are judgements: severity, underlying error, affected results, and the reason."""

LIMITS = re.compile(r"(?<![A-Za-z])[oO]\(|\blim|→|->|≲|(?i:asymptot|converge|approach|decreas|\btends?\b)")
"""The signs and words of a statement about a limit."""

HEDGES = re.compile(r"≈|(?i:approximate)")
"""The signs and words of a statement that claims no equality."""


class ErratumError(UserError, ValueError):
    """An erratum, or the family along which it fails, is not what its author is to give."""


def asymptotic(text: str) -> bool:
    """Does a statement speak of a limit?

    >>> asymptotic("W2 = O(h^2)"), asymptotic("theta = (1 + o(1)) p"), asymptotic("Var(L) <= 2")
    (True, True, False)
    """
    return LIMITS.search(text) is not None


FEWEST = 3
"""The fewest members of a family that show where it tends to."""


@dataclass(frozen=True, kw_only=True)
class RefutingFamily:
    """A family along which a statement about a limit fails: no finite example refutes an o(1).

    `gaps` are the quantities that the statement's hypotheses send to 0, one a member, or none where the hypotheses hold of each
    member as it is. `ratios` are its left sides over its right sides, which by the statement tend to `printed`, or stay bounded
    where that is None. Raises `ValueError` where the hypotheses do not come to hold along the family, and where the ratios may
    tend to what is printed.
    """

    along: Annotated[Name, Says("what runs, and to where: `m -> infinity`")]
    hypotheses: Annotated[Name, Says("how the statement's hypotheses hold along it")]
    ratios: Annotated[tuple[Number, ...], Says("left side over right side, one a member", minItems=FEWEST)]
    gaps: Annotated[
        tuple[Number, ...], Says("what the hypotheses send to 0, one a member; empty where they hold of each")
    ] = ()
    printed: Annotated[Number | None, Says("what the ratio tends to as printed; null: it stays bounded")] = (
        None
    )

    def __post_init__(self) -> None:
        if len(self.ratios) < FEWEST or (self.gaps and len(self.gaps) != len(self.ratios)):
            raise ErratumError(
                f"a family along {self.along} has {FEWEST} members at least, each with its gap"
            )
        if self.gaps and not (_falls(self.gaps) and self.gaps[-1] <= self.gaps[0] / 4):
            raise ErratumError(
                f"the hypotheses do not come to hold along {self.along}: {', '.join(map(_short, self.gaps))}"
            )
        if not (self._grows() if self.printed is None else self._tends_elsewhere(self.printed)):
            raise ErratumError(
                f"along {self.along} the ratio may be as printed: {', '.join(map(_short, self.ratios))}"
            )

    def _grows(self) -> bool:
        """Each step of the family adds as much as the one before, or more, up to a tenth: no bound is in sight."""
        sizes = [abs(ratio) for ratio in self.ratios]
        steps = [later - one for one, later in pairwise(sizes)]
        return min(steps) > 0 and all(later > 0.9 * one for one, later in pairwise(steps))

    def _tends_elsewhere(self, printed: float) -> bool:
        """The way left to the printed limit is a multiple of the last step, and steps do not grow."""
        steps = [abs(later - one) for one, later in pairwise(self.ratios)]
        left = min(abs(ratio - printed) for ratio in self.ratios[-2:])
        return left > 4 * steps[-1] and all(later <= one for one, later in pairwise(steps))

    def __str__(self) -> str:
        """The family in a sentence."""
        toward = "bounded" if self.printed is None else f"to tend to {_short(self.printed)}"
        gaps = f" ({', '.join(map(_short, self.gaps))})" if self.gaps else ""
        return (
            f"along {self.along}: {self.hypotheses}{gaps}; left side over right side, printed {toward}: "
            f"{', '.join(map(_short, self.ratios))}"
        )


def powers(
    variable: str, found: float, printed: float, hypotheses: str, *, logarithm: int = 0
) -> RefutingFamily:
    """The family of an exact expansion: variable^found (log variable)^logarithm where variable^printed is printed.

    A variable that is written large (L, m, k) runs to infinity, any other (h, eps) to 0.

    >>> powers("h", 1, 2, "for every smooth U").ratios
    (10.0, 100.0, 1000.0)
    """
    grows = variable[0] in "LTmk"
    places = [10.0 ** (k if grows else -k) for k in (1, 2, 3)]
    return RefutingFamily(
        along=f"{variable} -> {'infinity' if grows else '0'}",
        hypotheses=f"{hypotheses}; the powers are those of an exact expansion",
        ratios=tuple(
            float(f"{place ** float(found - printed) * math.log(place) ** logarithm:.12g}")
            for place in places
        ),
    )


def _falls(values: tuple[Number, ...]) -> bool:
    return values[-1] >= 0 and all(later < one for one, later in pairwise(values))


def _short(value: Number) -> str:
    return f"{value:.4g}"


Id = Annotated[str, Says("paper/name", pattern="^[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*$")]


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """A printed statement that was checked.

    `printed` quotes the paper and `read_as` is what was computed with. `fails` is what the computation says of that; `holds`
    then is what the same computation confirms, and `WEIGHT` and `elsewhere` (where the paper itself has the right form) are said
    by judgement; all are empty where the printed one stands. The certificate is copied to plain JSON values
    (`sgverify.evidence.model`).

    A statement about a limit fails by a `family` along which its hypotheses come to hold; `finite` names the part that
    fails where no limit is taken in that part. A statement that claims no equality is no error: read as one it is a `reading`.
    """

    id: Id
    where: Annotated[Name, Says("where the formula stands: equation, section, proof")]
    printed: Annotated[
        Name, Says("a quotation of the paper; formulas in symbols, ` [...] ` for what is left out")
    ]
    read_as: Annotated[Name, Says("what was computed with")]
    holds: Annotated[Name, Says("what the same computation confirms")] = ""
    severity: Annotated[str, Says("by judgement", enum=list(SEVERITIES))] = ""
    root: Annotated[
        Id, Says("the error that shows here; one error may show in several rows and is counted once")
    ] = ""
    affects: Annotated[Name, Says("what becomes of the results")] = ""
    because: Annotated[Name, Says("the reason for severity and root")] = ""
    elsewhere: Annotated[str, Says("where the paper itself has the right form; empty where nowhere")] = ""
    family: Annotated[
        RefutingFamily | None, Says("the family by which a statement about a limit fails", optional=True)
    ] = None
    finite: Annotated[str, Says("the part that fails, in which no limit is taken", optional=True)] = ""
    fails: Annotated[bool, Says(absent=True)]
    method: Rung
    certificate: Annotated[dict[str, Any], Says("what was computed", minProperties=1)]
    seconds: Size = 0.0

    def __post_init__(self) -> None:
        for name in ("id", "where", "printed", "read_as", "certificate"):
            if not getattr(self, name):
                raise ErratumError(f"an erratum needs a {name}")
        if self.fails and not self.holds:
            raise ErratumError(f"{self.id} fails: say what holds instead")
        if unsaid := [name for name in WEIGHT if self.fails and not getattr(self, name)]:
            raise ErratumError(f"{self.id} fails: say its {', '.join(unsaid)}")
        if self.fails and self.severity not in SEVERITIES:
            raise ErratumError(f"{self.id}: severity={self.severity!r}; one of {', '.join(SEVERITIES)}")
        if self.fails and asymptotic(f"{self.printed}; {self.read_as}") and not (self.family or self.finite):
            raise ErratumError(
                f"{self.id} speaks of a limit, which no finite example refutes: give a family (`family`), or name the part of the "
                "statement that fails and takes none (`finite`)"
            )
        hedge = HEDGES.search(self.printed)
        if self.fails and hedge and self.severity != "reading":
            raise ErratumError(
                f"{self.id} claims no equality (`{hedge[0]}`): that it fails as one is a reading of ours"
            )
        if self.method not in get_args(Rung):
            raise ErratumError(f"method={self.method!r}; one of {', '.join(get_args(Rung))}")
        certificate, missing = plain(dict(self.certificate))
        if missing:
            raise ErratumError(f"the certificate of {self.id} is finite; not so: {missing}")
        object.__setattr__(self, "certificate", certificate)


@dataclass(frozen=True)
class _Standing:
    """The entry of a statement that holds as printed."""

    id: Id
    where: Name
    printed: Name
    read_as: Name
    method: Rung
    certificate: Annotated[dict[str, Any], Says(minProperties=1)]
    seconds: Size


@dataclass(frozen=True)
class _Errata:
    """Statements of papers that were checked: those that fail as printed, with their weight, and those that stand."""

    provenance: Provenance
    errata: tuple[Erratum, ...]
    standing: tuple[_Standing, ...]


ERRATA = Published(
    "sgverify/errata/2", _Errata, "errata", "Write it again with `sgverify errata --json FILE`."
)


def encode_errata(formulas: Iterable[Erratum], provenance: Provenance) -> dict[str, Any]:
    """The formulas in the form of the published schema: `errata`, which fail, and the ones `standing`."""
    failing: list[dict[str, Any]] = []
    standing: list[dict[str, Any]] = []
    for formula in formulas:
        item: dict[str, Any] = plain(asdict(formula))[0]
        for optional in ("family", "finite"):
            if not item[optional]:
                del item[optional]
        (failing if item.pop("fails") else standing).append(item)
    document = {
        "schema": ERRATA.name,
        "provenance": provenance.document(),
        "errata": failing,
        "standing": [{field.name: item[field.name] for field in fields(_Standing)} for item in standing],
    }
    ERRATA.check(document, "the errata to be written")
    return document


def decode_errata(document: Mapping[str, Any]) -> tuple[Erratum, ...]:
    """The inverse of `encode_errata`; raises UserError for a document of another kind or version."""
    ERRATA.check(document, "document")
    return (
        *(read_as(Erratum, {**item, "fails": True}) for item in document["errata"]),
        *(Erratum(**item, fails=False) for item in document["standing"]),
    )


def write_errata(path: str | Path, formulas: Iterable[Erratum], provenance: Provenance) -> None:
    """Write the formulas to a file in one step; raises UserError when the place cannot be written."""
    document = encode_errata(formulas, provenance)
    write_atomically(path, json_text(document))
