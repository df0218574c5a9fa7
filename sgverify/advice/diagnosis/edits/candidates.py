"""Edits of sums: signs, summands that are missing or too many, statements in another order.

Edits of names, numbers and functions: one in the place of another.

Which edits of a definition are tried? All changes in one place that somebody makes by mistake, the simplest first.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise

from sgverify.advice.diagnosis.edits.expressions import Expressions, bracketed, called
from sgverify.advice.diagnosis.edits.products import Products
from sgverify.advice.diagnosis.edits.rules import (
    FAR,
    NUMBERS,
    RARE,
    SIMPLE,
    USUAL,
    Candidate,
    Rules,
)
from sgverify.advice.diagnosis.source import Replacement, Text
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


METRIC = ("root", "transposed", "inverse")
"""The products with a metric."""


class Names(Rules):
    """One name, number or function in the place of another."""

    def all(self) -> Iterator[Candidate]:
        """All of them."""
        for node in self.read.nodes:
            start, end = self.read.span(node)
            edits = self.of_name(node, start) if isinstance(node, ast.Name) else self.of_value(node)
            for new, cost, rule in edits:
                yield self.change(start, end, new, cost, rule)
        yield from self.everywhere_in_a_term()
        yield from self.draws()

    def of_name(self, node: ast.Name, start: int) -> Iterator[tuple[str, int, tuple[str, ...]]]:
        """Another variable, number or gradient in the place of a name, a draw taken anew, and a function of the name."""
        given = [name for name in self.text.names if name not in ("grad", "noise", "metric")]
        known = dict.fromkeys([*self.read.in_scope(start), *given])
        for gradient in self._gradients:
            names = {part.id for part in ast.walk(gradient) if isinstance(part, ast.Name)}
            if names <= {*known, "grad"}:
                word = self.read.of(gradient)
                yield word, USUAL, ("gradient", node.id, word)
        for other in known:
            if other != node.id:
                yield other, SIMPLE, ("name", node.id, other)
        before = [value for name, value, end in self.read.bindings if name == node.id and end <= start]
        if any(called(value) == "noise" for name, value, _ in self.read.bindings if name == node.id):
            yield "noise()", USUAL, ("new draw", node.id)
        if "grad" in self.text.names:
            for vector in self.text.vectors:
                yield f"grad({vector})", USUAL, ("gradient", node.id, f"grad({vector})")
            yield f"grad({node.id})", RARE, ("grad of", node.id)
        if "metric" in self.text.names:
            for asked in METRIC:
                yield f"metric.{asked}(theta, {node.id})", USUAL, ("metric", asked)
        if before and any(_is_draw(item) or called(item) == "grad" for item in ast.walk(before[-1])):
            # A draw or a gradient is taken anew, and not kept from before.
            word = bracketed(before[-1], self.read.of(before[-1]))
            yield word, USUAL, ("anew", node.id)
            for new in self.read.at_the_end(word, start):
                yield new, RARE, ("anew", node.id)

    @cached_property
    def _gradients(self) -> list[ast.expr]:
        return [node for node in self.read.nodes if called(node) == "grad"]

    def of_value(self, node: ast.expr) -> Iterator[tuple[str, int, tuple[str, ...]]]:
        """Another number for a number; another function of the same arguments, or an argument without its function."""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            for other in [*self.numbers, "1", "2", "3", "4"]:
                yield other, SIMPLE if other in ("1", "2") else USUAL, ("literal", str(node.value), other)
        if not isinstance(node, ast.Call):
            return
        head, inside = self.read.of(node.func), self.read.of(node)[len(self.read.of(node.func)) :]
        parts = any(called(item) in ("prior", "likelihood") for item in self.read.nodes)
        heads: tuple[str, ...] = ()
        if parts and head in ("grad", "grad.prior", "grad.likelihood"):
            heads = ("grad", "grad.prior", "grad.likelihood")
        elif head.startswith("metric."):
            one = ("divergence", "root_divergence")
            heads = tuple(f"metric.{name}" for name in (METRIC if len(node.args) == 2 else one))
        for other in heads:
            yield other + inside, USUAL, ("function", head, other)
        if "metric" in self.text.names and (head == "grad" or _is_draw(node)):
            for asked in METRIC:
                yield f"metric.{asked}(theta, {self.read.of(node)})", USUAL, ("metric", asked)
        if node.args and head not in ("sqrt", "exp", "expm1"):
            last = node.args[-1]
            yield bracketed(last, self.read.of(last)), RARE, ("without function", head)

    def everywhere_in_a_term(self) -> Iterator[Candidate]:
        """Another name wherever one stands in a call, as both vectors of dot(p, p)."""
        for node in self.read.nodes:
            if not isinstance(node, ast.Call):
                continue
            names = [item for arg in node.args for item in ast.walk(arg) if isinstance(item, ast.Name)]
            for name in dict.fromkeys(item.id for item in names):
                places = [self.read.span(item) for item in names if item.id == name]
                if len(places) < 2:
                    continue
                start, _ = self.read.span(node)
                for other in dict.fromkeys([*self.read.in_scope(start), *self.text.names]):
                    if other != name and other not in ("grad", "noise", "metric"):
                        changes = tuple(Replacement(a, b, other) for a, b in places)
                        yield Candidate(changes, SIMPLE, ("name", name, other))

    def draws(self) -> Iterator[Candidate]:
        """A draw of another law, and one draw for two that are drawn apart."""
        calls = [node for node in self.read.nodes if _is_draw(node)]
        for node in calls:
            start, end = self.read.span(node)
            for law in ("noise()", "noise.three_point()"):
                if self.read.of(node) != law:
                    yield self.change(start, end, law, SIMPLE, ("law", law))
        known = {*self.text.names, *(name for name, _, _ in self.read.bindings)}
        name = next(word for word in ("z", "draw", "one_draw", "the_draw") if word not in known)
        for one, other in combinations(calls, 2):
            if self.read.of(one) != self.read.of(other):
                continue
            (a, b), (c, d) = self.read.span(one), self.read.span(other)
            place = self.read.span(self.read.statement_of(one))[0]
            margin = self.read.text[self.read.text.rfind("\n", 0, place) + 1 : place]
            first = Replacement(place, place, f"{name} = {self.read.of(one)}\n{margin}")
            yield Candidate((first, Replacement(a, b, name), Replacement(c, d, name)), USUAL, ("one draw",))


def _is_draw(node: ast.AST) -> bool:
    """Whether a node is a call such as noise() or noise.scalar()."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    return isinstance(function, ast.Name) and function.id == "noise"


def candidates(text: Text) -> list[Candidate]:
    """All edits in one place of a text, the simplest first, and of equally simple ones the shortest."""
    made = _of_shares if text.shares else _of_word if text.word else _of_function
    found = list(made(text))
    unlike: dict[str, Candidate] = {}
    for candidate in sorted(found, key=lambda candidate: (candidate.cost, candidate.length)):
        candidate = _asking(candidate, text)
        unlike.setdefault(candidate.applied(text.text), candidate)
    unlike.pop(text.text, None)
    return list(unlike.values())


def _asking(candidate: Candidate, text: Text) -> Candidate:
    """The edit, and one of the signature where it writes a number that the text does not ask for."""
    new = " ".join(change.new for change in candidate.changes)
    missing = [name for name in text.offered if re.search(rf"\b{name}\b", new)]
    if not missing or text.word:
        return candidate
    read = Expressions(text.text)
    asked = read.definition.args.kwonlyargs
    if not asked:
        return candidate
    end = read.span(asked[-1])[1]
    signature = Replacement(end, end, "".join(f", {name}" for name in missing))
    return replace(candidate, changes=(signature, *candidate.changes))


def _of_word(text: Text) -> Iterator[Candidate]:
    word, letters = text.text, text.names
    for k in range(len(word) + 1):
        for letter in letters:
            yield Candidate((Replacement(k, k, letter),), SIMPLE, ("letter", "", letter))
            if k < len(word):
                yield Candidate((Replacement(k, k + 1, letter),), SIMPLE, ("letter", word[k], letter))
        if k < len(word):
            yield Candidate((Replacement(k, k + 1, ""),), SIMPLE, ("letter", word[k], ""))
        if k + 1 < len(word):
            yield Candidate(
                (Replacement(k, k + 2, word[k + 1] + word[k]),), SIMPLE, ("letter", word[k], word[k + 1])
            )


def _of_shares(text: Text) -> Iterator[Candidate]:
    """Equal shares for the occurrences of one letter, or of all; and shares that read the same from both ends."""
    shares, word = text.text.split(","), text.names
    counts = Counter(word)
    equal = [str(Fraction(1, counts[letter])) for letter in word]
    for letter in dict.fromkeys(word):
        new = [equal[k] if word[k] == letter else share for k, share in enumerate(shares)]
        yield _of_parts(shares, new, SIMPLE, ("share", letter))
    yield _of_parts(shares, equal, USUAL, ("share",))
    if word == word[::-1]:
        with suppress(ValueError):
            own = [Fraction(share) for share in shares]
            both = [str((a + b) / 2) for a, b in zip(own, reversed(own), strict=True)]
            yield _of_parts(shares, both, USUAL, ("share", "both ends"))


def _of_parts(parts: Sequence[str], new: Sequence[str], cost: int, rule: tuple[str, ...]) -> Candidate:
    """The edit that puts new parts in a text with commas."""
    changes, place = [], 0
    for one, other in zip(parts, new, strict=True):
        if one != other:
            changes.append(Replacement(place, place + len(one), other))
        place += len(one) + 1
    return Candidate(tuple(changes), cost, rule)


def _of_function(text: Text) -> Iterator[Candidate]:
    read = Expressions(text.text)
    yield from Products(text, read).all()
    yield from SumRules(text, read).all()
    yield from Names(text, read).all()
