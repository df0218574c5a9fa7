"""Arithmetic as people write it in a file: parsed, checked against a grammar, and never run as code."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sgverify.errors import DefinitionError

LONGEST = 200

_SIGNS: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.Pow: ("**", operator.pow),
}


@dataclass(frozen=True)
class Grammar:
    """What an expression may be made of, and an example of one for messages.

    Its numbers are whole and become a `Fraction`; with `number=float` decimals are allowed too. A function is called with at least
    `fewest` arguments.
    """

    names: tuple[str, ...]
    functions: Mapping[str, Callable[..., Any]]
    example: str
    fewest: int = 1
    signs: str = "+ - * /"
    number: type[Fraction] | type[float] = Fraction

    def read(self, text: str) -> ast.expr:
        """The checked expression that `text` writes; raises `DefinitionError` for any other text."""
        if not isinstance(text, str) or not 0 < len(text) <= LONGEST:
            raise DefinitionError(f"expression {text!r}: expected a string such as {self.example!r}.")
        try:
            node = ast.parse(text, mode="eval").body
        except SyntaxError:
            raise DefinitionError(
                f"expression {text!r} does not parse; write it like {self.example!r}."
            ) from None
        self._check(node, text)
        return node

    def value(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        """The value of a checked expression; `names` are of any type that has the signs."""
        match node:
            case ast.Constant(value=value):
                return self.number(str(value))
            case ast.Name(id=name):
                return names[name]
            case ast.UnaryOp(operand=inner):
                return -self.value(inner, names)
            case ast.BinOp(left=left, op=sign, right=right):
                return _SIGNS[type(sign)][1](self.value(left, names), self.value(right, names))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self.functions[name](*(self.value(argument, names) for argument in arguments))
        raise AssertionError(ast.dump(node))  # `read` lets nothing else through

    def names_in(self, node: ast.expr) -> frozenset[str]:
        """The names that a checked expression uses."""
        found = (inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))
        return frozenset(name for name in found if name in self.names)

    def _check(self, node: ast.expr, text: str) -> None:
        numbers = (int, float) if self.number is float else (int,)
        match node:
            case ast.Constant(value=value) if isinstance(value, numbers) and not isinstance(value, bool):
                return
            case ast.Name(id=name) if name in self.names:
                return
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                self._check(inner, text)
            case ast.BinOp(left=left, op=sign, right=right) if self._has(sign):
                self._check(left, text)
                self._check(right, text)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if (
                name in self.functions and len(arguments) >= self.fewest
            ):
                for argument in arguments:
                    self._check(argument, text)
            case _:
                calls = ", ".join(f"{name}({',' * (self.fewest - 1)})" for name in self.functions)
                raise DefinitionError(
                    f"expression {text!r}: {ast.unparse(node)!r} is not allowed; use "
                    f"{'numbers' if self.number is float else 'whole numbers'}, {', '.join(self.names)}, {self.signs}, {calls}."
                )

    def _has(self, sign: ast.operator) -> bool:
        return type(sign) in _SIGNS and _SIGNS[type(sign)][0] in self.signs.split()


__all__ = ["Grammar"]
