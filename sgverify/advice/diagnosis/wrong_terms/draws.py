"""Is a draw used in several places that are to be independent? Asked of the printed formula, with a draw of its own for each.

A noise that is right when every use of a draw has its own draw, and wrong as it stands, was shared.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from sgverify.advice.diagnosis.model import Cause
from sgverify.errors import NotExpandableError, UserError
from sgverify.exact.readings.formula import define, formula
from sgverify.exact.series import local_order
from sgverify.schemes import Scheme
from sgverify.schemes.scheme import make_scheme


def uses_of_one_draw(scheme: Scheme, dim: int) -> int:
    """How often the formula uses a draw whose uses, each with a draw of its own, would make the step consistent; 0 if none."""
    for times, other in _independent(scheme):
        try:
            if local_order(other, dim, 1).order >= 1:
                return times
        except NotExpandableError:
            continue
    return 0


def wrong_law(scheme: Scheme, dim: int, order: Fraction) -> Cause | None:
    """The cause where a step with normal draws in the place of others would have a higher order: their law has other moments."""
    laws = dict.fromkeys(law for law in scheme.laws if not law.normal)
    if not laws or scheme.memory:
        return None
    text = re.sub(r"noise\.(two_point|three_point|uniform)\(\)", "noise()", formula(scheme))
    name = text.split("(", 1)[0].removeprefix("def ")
    try:
        normal = make_scheme(define(text, name), scheme.dynamics, order=scheme.order)
        reached = local_order(normal, dim).order
    except (NotExpandableError, UserError):
        return None
    if reached <= order:
        return None
    law = next(iter(laws))
    found = ", ".join(f"E z^{n} = {law.moment(n)}" for n in (2, 3, 4) if law.moment(n))
    return Cause(
        "noise-law",
        f"the draws have another law than the order needs: noise.{law.name}() has {found}, where normal draws, for which the step "
        f"has order {reached}, have E z^2 = 1, E z^4 = 3",
    )


def _independent(scheme: Scheme) -> Iterator[tuple[int, Scheme]]:
    text = formula(scheme)
    tree = ast.parse(text)
    body = tree.body[0]
    assert isinstance(body, ast.FunctionDef)
    values = {
        statement.targets[0].id: statement.value
        for statement in body.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    noisy = [name for name, value in values.items() if _draws(value)]
    for name, value in values.items():
        if not (_draws(value) or any(_uses(value, other) for other in noisy)):
            continue
        times = sum(_uses(statement, name) for statement in body.body)
        if times < 2:
            continue
        edited = ast.parse(text)
        for other in noisy if name not in noisy else ():
            edited = _Replaced(other, values[other], inside=name).visit(edited)
        edited = _Replaced(name, _value_of(edited, name)).visit(edited)
        source = ast.unparse(ast.fix_missing_locations(edited))
        try:
            function = define(source, body.name, f"<{scheme.name} with independent draws>")
            made = make_scheme(function, scheme.dynamics, order=scheme.order, memory=scheme.memory)
        except UserError:
            continue
        yield times, replace(made, name=scheme.name)


def _value_of(tree: ast.AST, name: str) -> ast.expr:
    return next(
        statement.value
        for statement in ast.walk(tree)
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and statement.targets[0].id == name
    )


def _draws(value: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Name) and node.func.id == "noise")
            or (
                isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "noise"
            )
        )
        for node in ast.walk(value)
    )


def _uses(node: ast.AST, name: str) -> int:
    return sum(
        isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Load)
        for item in ast.walk(node)
    )


class _Replaced(ast.NodeTransformer):
    """Every use of a name replaced by the expression behind it, in one statement or in all."""

    def __init__(self, name: str, value: ast.expr, inside: str | None = None) -> None:
        self._name, self._value, self._inside = name, value, inside

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        target = node.targets[0]
        if self._inside is not None and not (isinstance(target, ast.Name) and target.id == self._inside):
            return node
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id == self._name and isinstance(node.ctx, ast.Load):
            return self._value
        return node


__all__ = ["uses_of_one_draw", "wrong_law"]
