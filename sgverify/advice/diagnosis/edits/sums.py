"""Edits of sums: signs, summands that are missing or too many, statements in another order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from sgverify.advice.diagnosis.edits.expressions import called
from sgverify.advice.diagnosis.edits.rules import (
    FAR,
    NUMBERS,
    RARE,
    SIMPLE,
    USUAL,
    Candidate,
    Rules,
)
from sgverify.exact.readings.formula import MATHEMATICS


class SumRules(Rules):
    """Edits of sums and of statements."""

    def all(self) -> Iterator[Candidate]:
        """All of them."""
        yield from self.signs()
        yield from self.summands()
        yield from self.reordered()

    def signs(self) -> Iterator[Candidate]:
        """A summand with the other sign."""
        for _, summands in self.read.sums:
            for k, summand in enumerate(summands):
                if summand.sign is None:
                    yield self.insert(summand.start, "-", SIMPLE, ("sign",))
                elif k == 0:
                    yield self.change(summand.sign, summand.sign + 1, "", SIMPLE, ("sign",))
                else:
                    new = "+" if summand.negative else "-"
                    yield self.change(summand.sign, summand.sign + 1, new, SIMPLE, ("sign",))

    def summands(self) -> Iterator[Candidate]:
        """A sum without one of its summands, or with one that stands in another sum, of this or another variable."""
        known: dict[str, bool] = {}
        for _, summands in self.read.sums:
            for k, summand in enumerate(summands):
                if len(summands) > 1:
                    if k and summand.sign is not None:
                        # The blanks before its sign go with it.
                        start = len(self.read.text[: summand.sign].rstrip())
                        yield self.change(start, summand.end, "", USUAL, ("without summand",))
                    elif not k and not summands[1].negative:
                        yield self.change(summand.start, summands[1].start, "", USUAL, ("without summand",))
                word = self.read.text[summand.start : summand.end].lstrip("-")
                known.setdefault(word, summand.negative)
        due = self._due()
        names = [name for name in self.text.names if name not in (*NUMBERS, "grad", "noise", "metric")]
        for node, summands in self.read.sums:
            parent = self.read.parents.get(node)
            if isinstance(parent, ast.Call) and called(parent) in ("sqrt", "exp", "expm1"):
                continue
            place = self.read.span(node)[1]
            scope = dict.fromkeys([*self.read.in_scope(place), *names])
            own = {self.read.text[item.start : item.end].lstrip("-") for item in summands}
            for word, negative in due.items():
                sign = " - " if negative else " + "
                for new in dict.fromkeys([word, *(new for _, new in _renamed(word, scope, alike=True))]):
                    if new not in own:
                        yield self.insert(place, f"{sign}{new}", RARE, ("summand", word))
            for word, negative in known.items():
                if word in own or word in due:
                    continue
                for sign in (" - ", " + ") if negative else (" + ", " - "):
                    cost = RARE if (sign == " - ") == negative else FAR
                    yield self.insert(place, f"{sign}{word}", cost, ("summand", word))
                    if cost == RARE:
                        for new in self.read.at_the_end(word, place):
                            yield self.insert(place, f"{sign}{new}", RARE, ("summand", word))
                        for other, new in _renamed(word, scope):
                            yield self.insert(place, f"{sign}{new}", FAR, ("summand", other))

    def _due(self) -> dict[str, bool]:
        """The summands of the dynamics for a whole step and for half of one, and without the step size; True for a minus."""
        found: dict[str, bool] = {}
        for term in self.text.due:
            word, negative = term.lstrip("-"), term.startswith("-")
            used = {name for name in re.findall(r"[A-Za-z_]\w*", word) if name not in ("prior", "likelihood")}
            functions = {name for name in used if name in MATHEMATICS}
            if not used - functions - {"root", "transposed", "inverse", "divergence", "root_divergence"} <= {
                *self.text.names,
                *self.text.offered,
            } or any(self.spelled(name) != name for name in functions):
                continue
            lead = f"{self.clock}*"
            shares = (f"{self.clock}/2*", lead, "") if word.startswith(lead) else ("",)
            for share in shares:
                found.setdefault(share + word.removeprefix(lead), negative)
        return found

    def reordered(self) -> Iterator[Candidate]:
        """Two statements that follow one another, exchanged."""
        body = [node for node in self.read.definition.body if isinstance(node, ast.Assign)]
        for one, other in pairwise(body):
            (a, b), (c, d) = self.read.span(one), self.read.span(other)
            text = self.read.text
            yield self.change(a, d, text[c:d] + text[b:c] + text[a:b], USUAL, ("order",))


def _renamed(word: str, scope: dict[str, None], alike: bool = False) -> Iterator[tuple[str, str]]:
    """A summand with its last variable put as another one of the scope, wherever it stands: (the one put, the summand).

    With `alike` another value of the same variable is put alone: p1 for p.
    """
    tree = ast.parse(word, mode="eval")
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in scope]
    if not found:
        return
    last = max(found, key=lambda node: node.col_offset).id
    for other in scope:
        if other != last and (not alike or other.rstrip("0123456789") == last.rstrip("0123456789")):
            yield other, re.sub(rf"\b{last}\b", other, word)
