"""The little arithmetic that cards are written in: exact, and never run as code."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sgverify.errors import DefinitionError

NAMES = ("K", "alpha")
LONGEST = 200

_BINARY: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: dict[str, Callable[..., Fraction]] = {"min": min, "max": max}


@dataclass(frozen=True)
class ExponentExpression:
    """An exponent as a card prints it, such as `-min(1 - alpha, K*alpha)`.

    Whole numbers, `K` (the local order given the minibatch), `alpha` (the schedule's exponent), + - * /, `min` and
    `max`; the value is a Fraction.

    >>> ExponentExpression("-min(1 - alpha, K*alpha)").value({"K": Fraction(2), "alpha": Fraction(1, 3)})
    Fraction(-2, 3)
    """

    text: str

    def __post_init__(self) -> None:
        _check(_parse(self.text), self.text)

    @property
    def names(self) -> frozenset[str]:
        """The names that the expression uses, among K and alpha."""
        nodes = ast.walk(_parse(self.text))
        return frozenset(node.id for node in nodes if isinstance(node, ast.Name) and node.id in NAMES)

    def value(self, names: Mapping[str, Fraction]) -> Fraction:
        """The exact value; raises ValueError when a name that is used has none."""
        missing = sorted(self.names - set(names))
        if missing:
            raise ValueError(f"{self.text!r} needs a value for {', '.join(missing)}")
        return _evaluate(_parse(self.text), names)

    def __str__(self) -> str:
        return self.text


def _parse(text: str) -> ast.expr:
    if not isinstance(text, str) or not 0 < len(text) <= LONGEST:
        raise DefinitionError(f"expression {text!r}: expected a string such as '-min(1 - alpha, K*alpha)'.")
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        raise DefinitionError(
            f"expression {text!r} does not parse; write it like '-min(1 - alpha, K*alpha)'."
        ) from None


def _check(node: ast.expr, text: str) -> None:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return
        case ast.Name(id=name) if name in NAMES:
            return
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            _check(inner, text)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            _check(left, text)
            _check(right, text)
        case ast.Call(func=ast.Name(id=name), args=[_, _, *_] as arguments, keywords=[]) if (
            name in _FUNCTIONS
        ):
            for argument in arguments:
                _check(argument, text)
        case _:
            raise DefinitionError(
                f"expression {text!r}: {ast.unparse(node)!r} is not allowed; "
                f"use whole numbers, {', '.join(NAMES)}, + - * /, min(,) and max(,)."
            )


def _evaluate(node: ast.expr, names: Mapping[str, Fraction]) -> Fraction:
    match node:
        case ast.Constant(value=int() as value):
            return Fraction(value)
        case ast.Name(id=name):
            return Fraction(names[name])
        case ast.UnaryOp(operand=inner):
            return -_evaluate(inner, names)
        case ast.BinOp(left=left, op=sign, right=right):
            return _BINARY[type(sign)](_evaluate(left, names), _evaluate(right, names))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name](*(_evaluate(argument, names) for argument in arguments))
    raise AssertionError(ast.dump(node))  # _check lets nothing else through
