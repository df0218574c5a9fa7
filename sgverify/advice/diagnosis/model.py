"""A diagnosis: the named cause of a failure, and the edit that mends the definition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sgverify.schemes import Scheme
from sgverify.schemes.torch_step import TorchStep

CauseName = Literal[
    "diffusion-scaled",
    "diffusion-power-of-h",
    "drift-scaled",
    "drift-sign",
    "noise-shared",
    "noise-correlated",
    "noise-missing",
    "gradient-at-old-point",
    "gradient-of-wrong-argument",
    "friction-wrong",
    "substep-wrong",
    "thermostat-dimension",
    "thermostat-wrong",
    "temperature-missing",
    "temperature-misplaced",
    "data-scaling",
    "prior-scaled",
    "letter-not-exact",
    "word-not-symmetric",
    "metric-wrong",
    "old-value",
    "claimed-order",
    "noise-law",
    "noise-reused",
    "noise-cached",
    "noise-in-some-steps",
    "noise-of-some-entries",
    "preconditioner-in-one",
    "drift-correction-missing",
    "stratonovich",
    "localised",
    "state-changed",
    "gradient-biased",
    "state-kept",
    "precision",
    "swap-rule",
    "weights-wrong",
    "not-named",
]
"""The causes that a diagnosis can name; `not-named` where none of them explains the failure."""


@dataclass(frozen=True)
class Cause:
    """Why a scheme fails: the kind of mistake, and one plain sentence with the computed factor, power or term."""

    name: CauseName
    sentence: str


@dataclass(frozen=True)
class Edit:
    """One change of the user's own source under which proof and exact checks pass.

    `file` and `line` are None for a scheme without a file, whose printed formula is edited. `was` and `now` are the changed
    expression before and after; `before` and `after` are the whole source lines that differ; `achieves` says what then holds,
    such as "order 1, and 12 exact checks conform". `claim`: the order that is claimed is changed, and not the method.
    """

    was: str
    now: str
    before: str
    after: str
    achieves: str
    file: str | None = None
    line: int | None = None
    claim: bool = False

    @property
    def sentence(self) -> str:
        """One line: `line 9: sqrt(T*h) -> sqrt(2*T*h) makes it order 1 and everything conform`."""
        place = f"line {self.line}: " if self.line is not None else ""
        if self.claim:
            return f"{place}{self.was} -> {self.now}: the method has {self.achieves}"
        return f"{place}{self.was} -> {self.now} makes it {self.achieves}"

    @property
    def lines(self) -> list[tuple[str, str, str]]:
        """The source lines that differ: "-" or "+", the line, and the part of it that changes.

        Of an edit in several lines those that it writes are shown alone, three at most.
        """
        found = []
        for sign, lines, parts in (("-", self.before, self.was), ("+", self.after, self.now)):
            for line in lines.split("\n"):
                part = next((part for part in parts.split(" and ") if part in line), "")
                found.append((sign, line.strip(), part))
        return found if len(found) <= 2 else [item for item in found if item[0] == "+"][:3]


@dataclass(frozen=True)
class Diagnosis:
    """Cause and mend of a failure; `edit` is None where no edit was found under which everything passes.

    `seconds` is processor time. `tried` counts the edits that were tried; `stopped` says that the time ended before every edit
    was. `mended` is the scheme that the edit makes.
    """

    cause: Cause
    edit: Edit | None = None
    seconds: float = 0.0
    tried: int = 0
    stopped: bool = False
    mended: Scheme | TorchStep | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return f"cause: {self.cause.sentence}" + (
            "" if self.edit is None else f"\nmend: {self.edit.sentence}"
        )

    __repr__ = __str__
