"""Edits of sums: signs, summands that are missing or too many, statements in another order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from sgverify.advice.diagnosis.expressions import called
from sgverify.advice.diagnosis.rules import (
    FAR,
    NUMBERS,
    RARE,
    SIMPLE,
    USUAL,
    Candidate,
    Rules,
)


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
        if "metric" in self.text.names and "T" in self.text.names:
            known.setdefault("T*metric.divergence(theta)", False)
            known.setdefault("T*metric.root_divergence(theta)", False)
        names = [name for name in self.text.names if name not in (*NUMBERS, "grad", "noise", "metric")]
        for node, summands in self.read.sums:
            parent = self.read.parents.get(node)
            if isinstance(parent, ast.Call) and called(parent) in ("sqrt", "exp", "expm1"):
                continue
            place = self.read.span(node)[1]
            scope = dict.fromkeys([*self.read.in_scope(place), *names])
            own = {self.read.text[item.start : item.end].lstrip("-") for item in summands}
            for word, negative in known.items():
                if word in own:
                    continue
                for sign in (" - ", " + ") if negative else (" + ", " - "):
                    cost = RARE if (sign == " - ") == negative else FAR
                    yield self.insert(place, f"{sign}{word}", cost, ("summand", word))
                    if cost == RARE:
                        for other, new in _renamed(word, scope):
                            yield self.insert(place, f"{sign}{new}", FAR, ("summand", other))

    def reordered(self) -> Iterator[Candidate]:
        """Two statements that follow one another, exchanged."""
        body = [node for node in self.read.definition.body if isinstance(node, ast.Assign)]
        for one, other in pairwise(body):
            (a, b), (c, d) = self.read.span(one), self.read.span(other)
            text = self.read.text
            yield self.change(a, d, text[c:d] + text[b:c] + text[a:b], USUAL, ("order",))


def _renamed(word: str, scope: dict[str, None]) -> Iterator[tuple[str, str]]:
    """A summand with its last variable put as another one of the scope, wherever it stands: (the one put, the summand)."""
    tree = ast.parse(word, mode="eval")
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in scope]
    if not found:
        return
    last = max(found, key=lambda node: node.col_offset).id
    for other in scope:
        if other != last:
            yield other, re.sub(rf"\b{last}\b", other, word)
