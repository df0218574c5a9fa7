"""Which edits does a named cause speak for? They are tried before others that are as simple.

The cause says which part of a definition is wrong: its noise, its gradients, its friction. An edit is spoken for where it
touches, or writes, what such a part is made of. Nothing is left out: where no such edit is right, the others follow.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from sgverify.advice.diagnosis.edits.expressions import Expressions, called
from sgverify.advice.diagnosis.edits.rules import Candidate
from sgverify.advice.diagnosis.model import CauseName

NOISE, GRADIENT = "noise", "grad"

PARTS: dict[CauseName, frozenset[str]] = {
    "diffusion-scaled": frozenset({NOISE}),
    "diffusion-power-of-h": frozenset({NOISE}),
    "noise-missing": frozenset({NOISE}),
    "noise-law": frozenset({NOISE}),
    "noise-correlated": frozenset({NOISE}),
    "drift-scaled": frozenset({GRADIENT}),
    "drift-sign": frozenset({GRADIENT}),
    "data-scaling": frozenset({GRADIENT}),
    "prior-scaled": frozenset({GRADIENT}),
    "gradient-at-old-point": frozenset({GRADIENT}),
    "gradient-of-wrong-argument": frozenset({GRADIENT}),
    "temperature-missing": frozenset({"T"}),
    "temperature-misplaced": frozenset({"T"}),
    "friction-wrong": frozenset({"D", "xi", "exp"}),
    "letter-not-exact": frozenset({"D", "xi", "exp", "expm1"}),
    "thermostat-dimension": frozenset({"dim", "dot"}),
    "thermostat-wrong": frozenset({"dim", "dot", "xi"}),
    "metric-wrong": frozenset({"metric"}),
}
"""The words of the wrong part, by the cause; `noise` and `grad` stand for all names that hold a draw or a gradient too."""

RULES: dict[CauseName, tuple[str, ...]] = {
    "noise-shared": ("new draw", "anew"),
    "substep-wrong": ("half", "twice", "times", "over", "without", "summand", "share"),
    "word-not-symmetric": ("share", "letter", "half"),
    "old-value": ("name", "anew", "order"),
}
"""The rules of the edits, by the cause, where these tell more."""


class Guidance:
    """The edits of one text that a cause speaks for."""

    def __init__(self, cause: CauseName, read: Expressions | None) -> None:
        self._rules = RULES.get(cause, ())
        self._words = set(PARTS.get(cause, ()))
        self._read = read
        if read is not None:
            for stem in (NOISE, GRADIENT):
                if stem in self._words:
                    self._words |= set(_holding(read, lambda name, stem=stem: name == stem))  # type: ignore[misc]
        self._known: dict[tuple[int, int], bool] = {}

    def speaks_for(self, candidate: Candidate) -> bool:
        """Whether the edit touches or writes a part that is wrong, or is of a kind that the cause asks for."""
        if candidate.rule[0] in self._rules:
            return True
        return any(
            self._words & _words(change.new) or self._touches(change.start, change.end)
            for change in candidate.changes
        )

    def _touches(self, start: int, end: int) -> bool:
        if self._read is None or not self._words:
            return False
        place = (start, end)
        if place not in self._known:
            found = self._read.term_around(start, end)
            self._known[place] = bool(found and self._words & _words(found))
        return self._known[place]


def _words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def _holding(read: Expressions, is_stem: Callable[[str], bool]) -> Iterator[str]:
    """The names that are assigned a value with a call of the ingredient."""
    for name, value, _ in read.bindings:
        if any(is_stem(called(node)) for node in ast.walk(value)):
            yield name


__all__ = ["Guidance"]
