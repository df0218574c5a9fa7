"""An edit of a definition, and what all rules that make edits share.

How plain is the text of a definition? Of edits that make one and the same law the plainest is shown.

Which edits does a named cause speak for? They are tried before others that are as simple.

The cause says which part of a definition is wrong: its noise, its gradients, its friction. An edit is spoken for where it
touches, or writes, what such a part is made of. Nothing is left out: where no such edit is right, the others follow.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from sgverify.advice.diagnosis.edits.expressions import Expressions, Factor, called, is_sum
from sgverify.advice.diagnosis.model import CauseName
from sgverify.advice.diagnosis.source import Replacement, Text, replaced

NUMBERS = ("T", "D", "h", "t", "dim")
"""The ingredients that are numbers."""

SIMPLE, USUAL, RARE, FAR = 1, 2, 3, 4
"""How simple an edit is: a factor, sign or name; a root or function; something taken from elsewhere; a part put anew."""


@dataclass(frozen=True)
class Candidate:
    """One edit. `rule` names its kind and the words exchanged: edits of one rule are one mistake made in several places."""

    changes: tuple[Replacement, ...]
    cost: int
    rule: tuple[str, ...]

    def applied(self, text: str) -> str:
        """The edited text."""
        return replaced(text, self.changes)

    @property
    def written(self) -> list[tuple[int, int]]:
        """From which to which character of the edited text each change stands."""
        found, moved = [], 0
        for change in sorted(self.changes, key=lambda change: change.start):
            start = change.start + moved
            found.append((start, start + len(change.new)))
            moved += len(change.new) - (change.end - change.start)
        return found

    @property
    def length(self) -> int:
        """The characters that it writes, and by how many it changes the length: of two edits of one meaning the shorter one."""
        return sum(
            len(change.new) + abs(len(change.new) - (change.end - change.start)) for change in self.changes
        )


class Rules:
    """Rules that make edits of one text. A rule is a method that yields candidates."""

    def __init__(self, text: Text, read: Expressions) -> None:
        self.text, self.read = text, read
        self.numbers = [name for name in text.names if name in NUMBERS] + [*text.offered]
        self.clock = text.clock

    def spelled(self, name: str) -> str | None:
        """How the text spells a function; None where it does not know it."""
        return self.text.known(name)

    def is_clock(self, factor: Factor) -> bool:
        """Whether a factor is the step size, or the time of a letter."""
        return factor.text == self.clock

    def insert(self, place: int, new: str, cost: int, rule: tuple[str, ...]) -> Candidate:
        """The edit that inserts `new`."""
        return self.change(place, place, new, cost, rule)

    def change(self, start: int, end: int, new: str, cost: int, rule: tuple[str, ...]) -> Candidate:
        """The edit that puts `new` in the place of some characters: of those that differ alone."""
        was = self.read.text[start:end]
        first = _alike(was, new)
        last = _alike(was[first:][::-1], new[first:][::-1])
        return Candidate((Replacement(start + first, end - last, new[first : len(new) - last]),), cost, rule)


def _alike(one: str, other: str) -> int:
    """The number of characters with which both texts begin, no word cut."""
    found = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    while found and any(re.match(r"\w\w", text[found - 1 :]) for text in (one, other)):
        found -= 1
    return found


DIVISION_BY_STEP, NUMBERS_IN_PRODUCT = 3, 2
"""What a text is worse by: dividing by the step size; a second number in a product, as 2*h/4."""


def plainness(text: str, clock: str) -> int:
    """The number of operations, names and numbers of a function's text, and more for what nobody writes: smaller is plainer."""
    read = Expressions(text)
    total = sum(isinstance(node, ast.expr) for part in read.definition.body for node in ast.walk(part))
    for term in read.terms:
        numbers = sum(isinstance(factor.node, ast.Constant) for factor in term.factors)
        divided = sum(factor.over and clock in _words(factor.text) for factor in term.factors)
        total += DIVISION_BY_STEP * divided + NUMBERS_IN_PRODUCT * max(0, numbers - 1)
    return total


def empties(text: str) -> int:
    """How often a text has x - x, x/x, or a sum or difference of two numbers: what nobody writes by intention."""
    found = 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.BinOp):
            alike = isinstance(node.op, ast.Sub | ast.Div) and ast.dump(node.left) == ast.dump(node.right)
            numbers = is_sum(node) and all(isinstance(side, ast.Constant) for side in (node.left, node.right))
            found += alike or numbers
    return found


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
