"""Edits of names, numbers and functions: one in the place of another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sgverify.advice.diagnosis.expressions import called
from sgverify.advice.diagnosis.rules import (
    RARE,
    SIMPLE,
    USUAL,
    Candidate,
    Rules,
    bracketed,
)


class Names(Rules):
    """One name, number or function in the place of another."""

    def all(self) -> Iterator[Candidate]:
        """All of them."""
        yield from self.names()
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
            elif called(node) == "noise":
                for other in self.read.in_scope(start):
                    if other in draws:
                        yield self.change(start, end, other, USUAL, ("old draw", other))

    def literals(self) -> Iterator[Candidate]:
        """Another number, or an ingredient, in the place of a number."""
        for node in self.read.nodes:
            if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                start, end = self.read.span(node)
                for other in self.numbers:
                    yield self.change(start, end, other, USUAL, ("literal", str(node.value), other))
                for number in ("1", "2", "3", "4"):
                    yield self.change(start, end, number, USUAL, ("literal", str(node.value), number))

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
