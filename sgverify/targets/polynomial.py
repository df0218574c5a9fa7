"""The grammar of test functions: text to exact coefficients, by a whitelist over the syntax tree."""

from __future__ import annotations

import ast
import re
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn

from sgverify.errors import ConfigurationError

Exponents = tuple[int, ...]
Terms = dict[Exponents, Fraction]

HIGHEST_DEGREE = 8
# Bounds that no honest test function meets; they keep a short text from asking for hours or gigabytes.
MOST_CHARACTERS = 20_000
MOST_PRODUCTS = 200_000
LARGEST_EXPONENT = 100
LARGEST_NUMBER = 10**LARGEST_EXPONENT

_FOREIGN = re.compile(r"[^A-Za-z0-9_.+\-*/()\[\] \t]")
_EXAMPLE = "expected a polynomial in {state} such as '{example}'"


def parse_polynomial(text: str, dim: int, names: tuple[str, ...], state: tuple[str, ...]) -> Terms:
    """{exponents: coefficient} of the polynomial that `text` writes, without zeros, in canonical order.

    `names` are the variables with `dim` coordinates each, `state` is what the scheme calls its state.
    """
    return _Reader(text, dim, names, state).read()


class _Reader:
    def __init__(self, text: str, dim: int, names: tuple[str, ...], state: tuple[str, ...]) -> None:
        self.text = text
        self.dim = dim
        self.names = names
        self.state = state
        self.size = dim * len(names)

    def read(self) -> Terms:
        if not isinstance(self.text, str):
            self.refuse("is not text")
        if not self.text.strip():
            self.refuse("is empty")
        if len(self.text) > MOST_CHARACTERS:
            self.refuse(f"has {len(self.text)} characters, above the {MOST_CHARACTERS} that are read")
        foreign = _FOREIGN.search(self.text)
        if foreign:
            hint = ", where powers are written **" if foreign.group() == "^" else ""
            self.refuse(f"holds the character {foreign.group()!r}{hint}")
        try:
            with warnings.catch_warnings():
                # The compiler's advice on doubtful literals ("1if") is about code, which this is not.
                warnings.simplefilter("ignore")
                tree = ast.parse(self.text.strip(), mode="eval")
            terms = self.polynomial(tree.body)
        except SyntaxError:
            self.refuse("is not a complete expression")
        except (RecursionError, MemoryError, ValueError, OverflowError):
            self.refuse("is nested too deeply, or holds a number that is too long")
        return dict(sorted(terms.items(), key=lambda item: (-sum(item[0]), [-power for power in item[0]])))

    def refuse(self, problem: str, mend: str = "") -> NoReturn:
        given = repr(self.text) if len(repr(self.text)) <= 100 else repr(self.text)[:80] + "..."
        example = "theta**2" if self.dim == 1 else "theta[0]**2"
        expected = _EXAMPLE.format(state=" and ".join(self.names), example=example)
        raise ConfigurationError(f"test_function={given} {problem}; {mend or expected}") from None

    def refuse_size(self) -> NoReturn:
        self.refuse(
            "has a number that is too large or too fine",
            "expected sizes between 1e-100 and 1e100; rescale it",
        )

    def polynomial(self, node: ast.expr) -> Terms:
        match node:
            case ast.Constant(value=value):
                return self.constant(value, ast.get_source_segment(self.text.strip(), node) or repr(value))
            case ast.Name(id=name):
                return self.variable(name, None)
            case ast.Subscript(value=ast.Name(id=name), slice=place):
                return self.variable(name, place)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return {exponents: -value for exponents, value in self.polynomial(operand).items()}
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.polynomial(operand)
            case ast.BinOp(left=left, op=ast.Pow(), right=exponent):
                return self.power(self.polynomial(left), exponent)
            case ast.BinOp(left=left, op=operator, right=right):
                return self.combine(self.polynomial(left), operator, self.polynomial(right))
        self.refuse(f"holds {_described(node)}, which is not part of a polynomial")

    def constant(self, value: object, written: str) -> Terms:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse(f"holds {value!r}, which is not a real number")
        if isinstance(value, int):
            return self.kept({(0,) * self.size: Fraction(value)})
        # The decimal as it is written: a float would take 1e-400 for 0, and keep 17 digits.
        number = Decimal(written.replace("_", ""))
        if number and abs(number.adjusted()) > LARGEST_EXPONENT:
            self.refuse_size()
        return self.kept({(0,) * self.size: Fraction(number)})

    def variable(self, name: str, place: ast.expr | None) -> Terms:
        if name not in self.names:
            if name == "p":
                self.refuse(
                    f"reads the momentum p, and this scheme's state is ({', '.join(self.state)})",
                    "expected a polynomial in theta; leave p out, or choose a scheme with a momentum",
                )
            self.refuse(f"names {name!r}")
        index = 0
        if place is None and self.dim > 1:
            self.refuse(
                f"names {name} without an index, and the target has dim={self.dim}",
                f"expected one coordinate at a time; write {name}[0] to {name}[{self.dim - 1}]",
            )
        if place is not None:
            valid = isinstance(place, ast.Constant) and type(place.value) is int and place.value < self.dim
            if not (isinstance(place, ast.Constant) and valid):
                last = f"{name}[0]" + (f" to {name}[{self.dim - 1}]" if self.dim > 1 else "")
                self.refuse(
                    f"has a wrong index after {name}",
                    f"expected {last}, because the target has dim={self.dim}",
                )
            index = int(str(place.value))
        position = self.names.index(name) * self.dim + index
        return {tuple(int(k == position) for k in range(self.size)): Fraction(1)}

    def power(self, base: Terms, exponent: ast.expr) -> Terms:
        if not isinstance(exponent, ast.Constant) or type(exponent.value) is not int:
            self.refuse(
                "has an exponent that is not a whole number",
                "expected powers such as theta**2, with 0 or more",
            )
        if exponent.value > HIGHEST_DEGREE:
            self.refuse(
                f"has the exponent {exponent.value}", f"expected a degree of at most {HIGHEST_DEGREE}"
            )
        result: Terms = {(0,) * self.size: Fraction(1)}
        for _ in range(exponent.value):
            result = self.product(result, base)
        return result

    def combine(self, left: Terms, operator: ast.operator, right: Terms) -> Terms:
        match operator:
            case ast.Add():
                return self.sum(left, right)
            case ast.Sub():
                return self.sum(left, {exponents: -value for exponents, value in right.items()})
            case ast.Mult():
                return self.product(left, right)
            case ast.Div():
                divisor = right.get((0,) * self.size)
                if divisor is None or len(right) > 1:
                    self.refuse("divides by something other than a non-zero number")
                return self.kept({exponents: value / divisor for exponents, value in left.items()})
        self.refuse(
            f"holds the operator {_described(operator)}", "expected + - * ** and division by a number"
        )

    def sum(self, left: Terms, right: Terms) -> Terms:
        total = dict(left)
        for exponents, value in right.items():
            total[exponents] = total.get(exponents, Fraction(0)) + value
        return self.kept(total)

    def product(self, left: Terms, right: Terms) -> Terms:
        if len(left) * len(right) > MOST_PRODUCTS:
            self.refuse("has too many terms", "expected a polynomial of a few thousand terms; split it up")
        total: Terms = {}
        for first, a in left.items():
            for second, b in right.items():
                exponents = tuple(i + j for i, j in zip(first, second, strict=True))
                total[exponents] = total.get(exponents, Fraction(0)) + a * b
        if any(sum(exponents) > HIGHEST_DEGREE for exponents in total):
            self.refuse("has too high a degree", f"expected a degree of at most {HIGHEST_DEGREE}")
        return self.kept(total)

    def kept(self, terms: Terms) -> Terms:
        for value in terms.values():
            if abs(value.numerator) > LARGEST_NUMBER or value.denominator > LARGEST_NUMBER:
                self.refuse_size()
        return {exponents: value for exponents, value in terms.items() if value}


def _described(node: ast.AST) -> str:
    names = {
        "Call": "a function call",
        "Attribute": "an attribute",
        "Subscript": "an index on something other than the state",
        "BitXor": "^",
        "Compare": "a comparison",
        "Lambda": "a function",
        "MatMult": "@",
        "FloorDiv": "//",
        "Mod": "%",
    }
    return names.get(type(node).__name__, f"Python's {type(node).__name__}")
