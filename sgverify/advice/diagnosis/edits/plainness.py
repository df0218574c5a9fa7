"""How plain is the text of a definition? Of edits that make one and the same law the plainest is shown."""

from __future__ import annotations

import ast

from sgverify.advice.diagnosis.edits.expressions import is_product, is_sum

DIVISION_BY_STEP, NUMBERS_IN_PRODUCT = 3, 2
"""What a text is worse by: dividing by the step size; a second number in a product, as 2*h/4."""


def plainness(text: str, clock: str) -> int:
    """The number of operations, names and numbers of a function's text, and more for what nobody writes: smaller is plainer."""
    (definition,) = ast.parse(text).body
    assert isinstance(definition, ast.FunctionDef)
    total = 0
    for statement in definition.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.expr):
                total += 1
            if is_product(node):
                total += _of_product(node, clock)
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


def _of_product(node: ast.AST, clock: str) -> int:
    assert isinstance(node, ast.BinOp)
    divides = isinstance(node.op, ast.Div) and any(
        isinstance(part, ast.Name) and part.id == clock for part in ast.walk(node.right)
    )
    return DIVISION_BY_STEP * divides + NUMBERS_IN_PRODUCT * (
        isinstance(node.right, ast.Constant) and _has_number(node.left)
    )


def _has_number(node: ast.expr) -> bool:
    """Whether a product has a number among its factors."""
    if isinstance(node, ast.BinOp) and is_product(node):
        return _has_number(node.left) or _has_number(node.right)
    return isinstance(node, ast.Constant)


__all__ = ["empties", "plainness"]
