"""Schemes with one factor off by 1 %: every value that a formula computes, multiplied by 1.01 in turn."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sgverify.exact.readings.formula import define, formula
from sgverify.schemes import Scheme
from sgverify.schemes.scheme import make_scheme

OFF = "101/100"


class _Multiply(ast.NodeTransformer):
    """Multiplies the value at one place, by its number in the order of a walk."""

    def __init__(self, place: ast.expr) -> None:
        self._place = place

    def visit(self, node: ast.AST) -> ast.AST:
        found = self.generic_visit(node)
        if node is self._place:
            factor = ast.parse(OFF, mode="eval").body
            return ast.BinOp(factor, ast.Mult(), found)  # type: ignore[arg-type]
        return found


def slightly_wrong(scheme: Scheme) -> Iterator[tuple[str, Scheme]]:
    """(what is off, the scheme with it) for every value in the formula: calls, products, sums, and names within them."""
    text = formula(scheme)
    count = len(_places(ast.parse(text)))
    for number in range(count):
        tree = ast.parse(text)
        place = _places(tree)[number]
        label = f"{number}: {ast.unparse(place)} in {ast.unparse(_statement(tree, place))}"
        edited = ast.unparse(ast.fix_missing_locations(_Multiply(place).visit(tree)))
        function = define(edited, tree.body[0].name, f"<{scheme.name}, {number}>")  # type: ignore[attr-defined]
        made = make_scheme(function, scheme.dynamics, memory=scheme.memory)
        yield label, made.named(f"{scheme.name}-off-{number}")


def _places(tree: ast.Module) -> list[ast.expr]:
    found: list[ast.expr] = []
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    body = tree.body[0].body  # type: ignore[attr-defined]
    for statement in body:
        for node in ast.walk(statement):
            value = isinstance(node, ast.BinOp | ast.Call) or (
                isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
            )
            grad = isinstance(node, ast.Name) and node.id.startswith(("grad", "noise", "metric"))
            if value and id(node) not in called and not grad:
                if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("fresh"):
                    continue
                found.append(node)  # type: ignore[arg-type]
    return found


def _statement(tree: ast.Module, place: ast.expr) -> ast.AST:
    body = tree.body[0].body  # type: ignore[attr-defined]
    return next(s for s in body if any(node is place for node in ast.walk(s)))


__all__ = ["slightly_wrong"]
