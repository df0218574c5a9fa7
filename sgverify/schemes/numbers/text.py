"""Arithmetic as people write it in a file: parsed, checked against a grammar, and never run as code.

Numbers as people write them, read into exact numbers and never run as code.

`1/(2-2^(1/3))`, `sqrt(3)/6`, `root(48x^3-72x^2+38x-5, 0.19)`; `~0.1756` is a printed decimal: any number that
rounds to it, and so an interval.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.numbers.algebraic import Algebraic, radical, real_root
from sgverify.schemes.numbers.rounded import Rounded, ends_of

LONGEST_EXPRESSION = 200

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
        if not isinstance(text, str) or not 0 < len(text) <= LONGEST_EXPRESSION:
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


Number = Fraction | Algebraic | Rounded

LONGEST = 400
DEEPEST = 40
HIGHEST_POWER = 64
MOST_BITS = 20_000

# The exponent is short because "1e999999999" would be written out digit by digit.
_NUMBER = r"([0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]{1,3})?|\.[0-9]+(?:[eE][+-]?[0-9]{1,3})?)"
_TOKEN = re.compile(rf"\s*(?:{_NUMBER}|(\*\*|[-+*/^()~,])|([a-z]+))")
_PRINTED = re.compile(rf"\s*([+-]?)\s*{_NUMBER}")
_ROOTS = {"sqrt": Fraction(1, 2), "cbrt": Fraction(1, 3)}
_TERM = re.compile(r"([+-]?)([0-9]*)\*?(x?)(?:(?:\^|\*\*)([0-9]))?")
_POLYNOMIAL = re.compile(r"\s*\(([^,()]*),\s*([+-]?[0-9.]+)\s*\)")


def read_number(text: str, *, rounded: bool = False) -> Number:
    """The number that `text` writes: decimals exactly, unless a ~ stands before them.

    Whole numbers, decimals, + - * / ^ (or **), brackets, sqrt(.), cbrt(.), powers with a rational exponent of positive
    rationals, and root(polynomial in x, decimal): its real root nearest to the decimal.
    rounded: whether every number with a decimal point counts as marked with a ~.

    Raises ValueError with a half sentence that says what is wrong.

    >>> read_number("1/(2-2^(1/3))"), read_number("0.25"), read_number("~0.25")
    (2/3 + 1/3*2^(1/3) + 1/6*2^(2/3), Fraction(1, 4), Rounded(49/200, 51/200))
    """
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
        raise ValueError(f"expected a text of 1 to {LONGEST} characters")
    try:
        written, numbers = _with_names(text.rstrip(), rounded)
        return _value(ast.parse(written, mode="eval").body, numbers)
    except DefinitionError as error:
        raise ValueError(str(error)) from None
    except ZeroDivisionError:
        raise ValueError("it divides by 0") from None
    except SyntaxError:
        raise ValueError("a number or a sign is missing in it") from None


def read_decimal(text: str) -> Fraction:
    """The number that a name holds as a decimal or a fraction: 0, or of a size from 1e-100 to 1e100.

    Raises ValueError or ZeroDivisionError for anything else; an exponent is never written out digit by digit.

    >>> read_decimal("0.5"), read_decimal("1/3"), read_decimal("2e-3")
    (Fraction(1, 2), Fraction(1, 3), Fraction(1, 500))
    """
    if len(text) > LONGEST or not re.fullmatch(r"[+-]?[0-9./]+(?:[eE][+-]?[0-9]{1,3})?", text):
        raise ValueError("expected a decimal or a fraction")
    value = Fraction(text)
    if value and not Fraction(1, 10**100) <= abs(value) <= 10**100:
        raise ValueError("expected 0 or a size from 1e-100 to 1e100")
    return value


def split_numbers(text: str) -> list[str]:
    """The pieces of a text between commas that stand outside brackets.

    >>> split_numbers("1/2, root(x^2-2, 1.4)")
    ['1/2', ' root(x^2-2, 1.4)']
    """
    pieces, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    return pieces


def _with_names(text: str, rounded: bool) -> tuple[str, dict[str, Number]]:
    """The text with names in the place of its numbers, as Python writes arithmetic, and the number of each name."""
    pieces: list[str] = []
    numbers: dict[str, Number] = {}
    value: Number
    at = depth = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        token = "" if found is None else found[0].strip()
        depth += (token == "(") - (token == ")")
        if found is None or depth < 0:
            raise ValueError(f"{text[at:].strip()!r} {'was not expected' if found else 'is no number'}")
        if depth > DEEPEST:
            raise ValueError(f"more than {DEEPEST} brackets stand in one another")
        at = found.end()
        if token == "~":
            printed = _PRINTED.match(text, at)
            if printed is None:
                raise ValueError("~ marks a printed decimal such as ~0.1756")
            at, marked = printed.end(), _rounded(printed[2])
            value = -marked if printed[1] == "-" else marked
        elif token == "root":
            at, value = _root(text, at)
        elif found[1]:
            value = _rounded(token) if rounded and "." in token else Fraction(token)
        elif found[3] and token not in _ROOTS:
            raise ValueError(
                f"{token!r} is not known here: sqrt(.), cbrt(.) and root(polynomial, decimal) are"
            )
        else:
            pieces.append("**" if token == "^" else token)
            continue
        pieces.append(f"n{len(numbers)}")
        numbers[pieces[-1]] = value
    if depth:
        raise ValueError("a bracket is not closed")
    return " ".join(pieces), numbers


def _value(node: ast.expr, numbers: Mapping[str, Any]) -> Any:
    """The value of an expression in named numbers."""
    match node:
        case ast.Name(id=name) if name in numbers:
            return numbers[name]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner):
            value = _value(inner, numbers)
            return -value if isinstance(node.op, ast.USub) else value
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
            combine = _power if isinstance(sign, ast.Pow) else _SIGNS[type(sign)][1]
            return combine(_value(left, numbers), _value(right, numbers))
        case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _ROOTS:
            return _power(_value(inner, numbers), _ROOTS[name])
    raise ValueError("it is no arithmetic of numbers")


def _root(text: str, at: int) -> tuple[int, Algebraic]:
    """Where `(polynomial, decimal)` ends that stands at a place, and the root that it names."""
    found = _POLYNOMIAL.match(text, at)
    if found is None:
        raise ValueError("expected root(polynomial in x, decimal) such as root(48x^3-72x^2+38x-5, 0.19)")
    polynomial, near = found[1].replace(" ", ""), found[2]
    unit = Fraction(1, 10 ** len(near.partition(".")[2]))
    written = f"root({polynomial}, {near})"
    return found.end(), real_root(_polynomial(polynomial), Fraction(near), written, unit)


def _power(base: Any, exponent: Any) -> Any:
    if not isinstance(exponent, Fraction):
        raise ValueError("an exponent is not rational")
    if exponent.denominator == 1:
        if abs(exponent) > HIGHEST_POWER:
            raise ValueError(f"the exponent {exponent} is above {HIGHEST_POWER}")
        if isinstance(base, Fraction) and _digits(base) * abs(exponent) > MOST_BITS:
            raise ValueError(f"a power has more than {MOST_BITS} binary digits")
        return base ** int(exponent)
    if isinstance(base, Rounded) and base.low > 0:
        ends = [end for number in (base.low, base.high) for end in ends_of(radical(number, exponent))]
        return Rounded(min(ends), max(ends))
    if not isinstance(base, Fraction):
        raise ValueError(
            "the root of a number that is not rational; write it as root(polynomial, decimal) or as a decimal marked ~"
        )
    return radical(base, exponent) if base else base


def _digits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _rounded(token: str) -> Rounded:
    mantissa, _, exponent = token.lower().partition("e")
    if "." not in mantissa:
        raise ValueError("~ marks a printed decimal such as ~0.1756")
    half = Fraction(1, 2) * Fraction(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return Rounded(Fraction(token) - half, Fraction(token) + half)


def _polynomial(text: str) -> list[int]:
    coefficients: dict[int, int] = {}
    at = 0
    while at < len(text):
        found = _TERM.match(text, at)
        if found is None or found.end() == at or not (found[2] or found[3]) or (at and not found[1]):
            raise ValueError(f"{text[at:]!r} is no polynomial in x with whole coefficients")
        degree = int(found[4] or 1) if found[3] else 0
        value = int(found[2] or 1) * (-1 if found[1] == "-" else 1)
        coefficients[degree] = coefficients.get(degree, 0) + value
        at = found.end()
    return [coefficients.get(degree, 0) for degree in range(max(coefficients, default=0) + 1)]
