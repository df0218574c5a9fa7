"""Edits of names, numbers and functions: one in the place of another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from sgverify.advice.diagnosis.edits.expressions import called
from sgverify.advice.diagnosis.edits.rules import (
    RARE,
    SIMPLE,
    USUAL,
    Candidate,
    Rules,
    bracketed,
)
from sgverify.advice.diagnosis.source import Replacement


class Names(Rules):
    """One name, number or function in the place of another."""

    def all(self) -> Iterator[Candidate]:
        """All of them."""
        yield from self.names()
        yield from self.everywhere_in_a_term()
        yield from self.draws()
        yield from self.anew()
        yield from self.literals()
        yield from self.functions()

    def names(self) -> Iterator[Candidate]:
        """Another variable, number or gradient in the place of one; a new draw for a reused one, and the other way round."""
        given = [name for name in self.text.names if name not in ("grad", "noise", "metric")]
        draws = {name for name, value, _ in self.read.bindings if called(value) == "noise"}
        gradients = [node for node in self.read.nodes if called(node) == "grad"]
        for node in self.read.nodes:
            start, end = self.read.span(node)
            if isinstance(node, ast.Name):
                known = {*self.read.in_scope(start), *given}
                for gradient in gradients:
                    if {part.id for part in ast.walk(gradient) if isinstance(part, ast.Name)} <= {
                        *known,
                        "grad",
                    }:
                        word = self.read.of(gradient)
                        yield self.change(start, end, word, USUAL, ("gradient", node.id, word))
                for other in dict.fromkeys([*self.read.in_scope(start), *given]):
                    if other != node.id:
                        yield self.change(start, end, other, SIMPLE, ("name", node.id, other))
                if node.id in draws:
                    yield self.change(start, end, "noise()", USUAL, ("new draw", node.id))
                for vector in self.text.vectors if "grad" in self.text.names else ():
                    new = f"grad({vector})"
                    yield self.change(start, end, new, USUAL, ("gradient", node.id, new))
            elif called(node) == "noise":
                for other in self.read.in_scope(start):
                    if other in draws:
                        yield self.change(start, end, other, USUAL, ("old draw", other))

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

    def anew(self) -> Iterator[Candidate]:
        """The expression of a name in its place: a draw or a gradient is taken anew, and not kept from before."""
        for node in self.read.nodes:
            if not isinstance(node, ast.Name):
                continue
            start, end = self.read.span(node)
            before = [
                (value, stop) for name, value, stop in self.read.bindings if name == node.id and stop <= start
            ]
            if not before:
                continue
            value = before[-1][0]
            if any(_is_draw(item) or called(item) == "grad" for item in ast.walk(value)):
                word = bracketed(value, self.read.of(value))
                yield self.change(start, end, word, USUAL, ("anew", node.id))
                for new in self.read.at_the_end(word, start):
                    yield self.change(start, end, new, RARE, ("anew", node.id))

    def literals(self) -> Iterator[Candidate]:
        """Another number, or an ingredient, in the place of a number."""
        for node in self.read.nodes:
            if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                start, end = self.read.span(node)
                for other in self.numbers:
                    yield self.change(start, end, other, USUAL, ("literal", str(node.value), other))
                for number in ("1", "2", "3", "4"):
                    cost = SIMPLE if number in ("1", "2") else USUAL
                    yield self.change(start, end, number, cost, ("literal", str(node.value), number))

    def functions(self) -> Iterator[Candidate]:
        """Another function of the same arguments, an argument without its function, and a function of a bare argument."""
        metric = "metric" in self.text.names
        parts = any(called(node) in ("prior", "likelihood") for node in self.read.nodes)
        for node in self.read.nodes:
            start, end = self.read.span(node)
            if isinstance(node, ast.Call):
                head = self.read.of(node.func)
                heads = []
                if parts and head in ("grad", "grad.prior", "grad.likelihood"):
                    heads = ["grad", "grad.prior", "grad.likelihood"]
                if head.startswith("metric.") and len(node.args) == 2:
                    heads = ["metric.root", "metric.transposed", "metric.inverse"]
                if head.startswith("metric.") and len(node.args) == 1:
                    heads = ["metric.divergence", "metric.root_divergence"]
                a, b = self.read.span(node.func)
                for other in heads:
                    yield self.change(a, b, other, USUAL, ("function", head, other))
                if metric and (head == "grad" or _is_draw(node)):
                    for asked in ("root", "transposed", "inverse"):
                        new = f"metric.{asked}(theta, {self.read.of(node)})"
                        yield self.change(start, end, new, USUAL, ("metric", asked))
                if node.args and head not in ("sqrt", "exp", "expm1"):
                    last = node.args[-1]
                    yield self.change(
                        start, end, bracketed(last, self.read.of(last)), RARE, ("without function", head)
                    )
            elif isinstance(node, ast.Name):
                if "grad" in self.text.names:
                    yield self.change(start, end, f"grad({node.id})", RARE, ("grad of", node.id))
                if metric:
                    for asked in ("root", "transposed", "inverse"):
                        new = f"metric.{asked}(theta, {node.id})"
                        yield self.change(start, end, new, USUAL, ("metric", asked))


def _is_draw(node: ast.AST) -> bool:
    """Whether a node is a call such as noise() or noise.scalar()."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    return isinstance(function, ast.Name) and function.id == "noise"
