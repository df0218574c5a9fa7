"""Expression trees: values that record their computation, and print it as Python text."""

from __future__ import annotations

from fractions import Fraction
from itertools import count
from typing import Any

from sgverify.schemes.definition.mathematics import dot, first_entry, register
from sgverify.schemes.numbers.algebraic import Algebraic, Irrational
from sgverify.schemes.numbers.constants import constants_like, linear_image
from sgverify.schemes.numbers.rounded import Rounded

SUM, PRODUCT, NEGATIVE, POWER, ATOM = range(1, 6)
_SERIAL = count()


class Expression:
    """A node: an operation on `parts`, or a leaf that holds a name or an exact number.

    Nodes are compared by identity: a value that a definition uses twice is one node, a value that it computes
    twice is two. `serial` grows in the order of computation, so that the parts of a node come before it.
    """

    __slots__ = ("operation", "parts", "serial", "value")

    def __init__(self, operation: str, *parts: Expression, value: Any = None) -> None:
        self.operation = operation
        self.parts = parts
        self.value = value
        self.serial = next(_SERIAL)

    def __add__(self, other: Any) -> Any:
        return _binary("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return _binary("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return _binary("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return _binary("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _binary("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _binary("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary("/", other, self)

    def __pow__(self, exponent: Any) -> Expression:
        factor, core = _factored(self)
        if isinstance(exponent, int) and factor != 1:
            return _scaled(Expression("**", core, number(exponent)), factor**exponent)
        return Expression("**", self, number(exponent))

    def __neg__(self) -> Expression:
        return Expression("neg", self)

    def __pos__(self) -> Expression:
        return self

    @property
    def leaf(self) -> bool:
        """Whether this is a name or a number."""
        return not self.parts

    @property
    def plain(self) -> bool:
        """Whether this is one name times or over numbers, such as h/2: shorter than a name of its own."""
        names = sum(not _is_number(part) for part in self.parts)
        return self.leaf or (
            self.operation in ("*", "/", "neg") and names == 1 and all(part.plain for part in self.parts)
        )


def name(text: str) -> Expression:
    """The leaf that prints as `text`."""
    return Expression("name", value=text)


def number(value: Any) -> Expression:
    """The leaf that is the exact number `value`, or the float as it was written."""
    return Expression("number", value=value)


def call(function: Expression, *arguments: Expression) -> Expression:
    """`function(*arguments)`."""
    return Expression("call", function, *arguments)


def text(node: Expression, names: dict[Expression, str]) -> tuple[str, int]:
    """The text of the node, and the precedence of its outermost operation; nodes in `names` print as their names.

    Python parses the text back to the same tree, with no bracket more or less.
    """
    if node in names:
        return names[node], ATOM
    if node.operation == "name":
        return str(node.value), ATOM
    if node.operation == "number":
        return number_text(node.value)
    if node.operation == "call":
        function, *arguments = node.parts
        return f"{text(function, names)[0]}({', '.join(text(item, names)[0] for item in arguments)})", ATOM
    if node.operation == "attribute":
        return ".".join(text(part, names)[0] for part in node.parts), ATOM
    if node.operation == "fresh":
        return f"{text(node.parts[0], names)[0]}.fresh()", ATOM
    if node.operation == "neg":
        return f"-{_bracketed(node.parts[0], POWER, names)}", NEGATIVE
    if node.operation == "**":
        base, exponent = node.parts
        return f"{_bracketed(base, ATOM, names)}**{_bracketed(exponent, ATOM, names)}", POWER
    level = SUM if node.operation in "+-" else PRODUCT
    sign = f" {node.operation} " if level == SUM else node.operation
    left, right = node.parts
    return f"{_bracketed(left, level, names, first=True)}{sign}{_bracketed(right, level + 1, names)}", level


def number_text(value: Any) -> tuple[str, int]:
    """A number as exact Python text, and the precedence of that text.

    >>> number_text(Fraction(-1, 2))
    ('-1/2', 2)
    """
    if isinstance(value, Algebraic) and (roots := value.radicands()):
        terms = [_root_text(q, r) for q, r in sorted(roots.items())]
        if len(terms) == 1:
            return terms[0], PRODUCT
        signed = [f"- {term[1:]}" if term.startswith("-") else f"+ {term}" for term in terms[1:]]
        return " ".join([terms[0], *signed]), SUM
    if isinstance(value, Algebraic):
        # Python would round 2**(1/3); `sgverify.schemes.read_number` keeps what the text says.
        return f"read_number({str(value)!r})".replace("'", '"'), ATOM
    if isinstance(value, Rounded):
        value = float(value)
    if isinstance(value, Fraction) and value.denominator != 1:
        return f"{value.numerator}/{value.denominator}", PRODUCT
    shown = repr(value) if isinstance(value, float) else str(value)
    return shown, NEGATIVE if shown.startswith("-") else ATOM


def _root_text(radicand: int, factor: Fraction) -> str:
    if radicand == 1:
        return str(factor)
    above = {1: "", -1: "-"}.get(factor.numerator, f"{factor.numerator}*")
    below = "" if factor.denominator == 1 else f"/{factor.denominator}"
    return f"{above}sqrt({radicand}){below}"


def _binary(operation: str, left: Any, right: Any) -> Any:
    a, b = _lift(left), _lift(right)
    if a is None or b is None:
        return NotImplemented
    if (operation == "*" and _rational(a)) or (operation in "*/" and _rational(b)):
        node, given = (a, b.value) if _rational(b) else (b, a.value)
        factor, core = _factored(node)
        if core.operation == "**":
            # 3*(2*h/3)**3/32 is h**3/36.
            return _scaled(core, factor * given if operation == "*" else factor / given)
        if operation == "*" and isinstance(given, Fraction) and given.denominator != 1:
            return _scaled(node, given)
    return Expression(operation, a, b)


def _scaled(node: Expression, factor: Fraction) -> Expression:
    """factor * node as n*node/d: the text stays exact where Python executes it."""
    above = {1: node, -1: -node}.get(factor.numerator) or Expression("*", number(factor.numerator), node)
    return above if factor.denominator == 1 else Expression("/", above, number(factor.denominator))


def _rational(node: Expression) -> bool:
    return node.operation == "number" and isinstance(node.value, int | Fraction) and node.value != 0


def _factored(node: Expression) -> tuple[Fraction, Expression]:
    """n*node/d as its factor n/d and the node."""
    if node.operation == "neg":
        factor, core = _factored(node.parts[0])
        return -factor, core
    for place, operation in enumerate("*/"):
        if node.operation == operation and _rational(node.parts[place]):
            factor, core = _factored(node.parts[1 - place])
            return factor * Fraction(node.parts[place].value) ** (1 - 2 * place), core
    return Fraction(1), node


def _lift(value: Any) -> Expression | None:
    if isinstance(value, Expression):
        return value
    if isinstance(value, int | float | Fraction | Irrational) and not isinstance(value, bool):
        return number(value)
    return None


def _is_number(node: Expression) -> bool:
    return node.operation == "number"


def _bracketed(node: Expression, level: int, names: dict[Expression, str], first: bool = False) -> str:
    shown, own = text(node, names)
    # A sign after an operator would be legal, but nobody writes x*-h.
    return shown if own >= level and (first or not shown.startswith("-")) else f"({shown})"


register(Expression, lambda function, value: call(name(function.__name__), value))


@dot.register
def _(left: Expression, right: Any) -> Expression:
    return call(name("dot"), left, right)


@constants_like.register
def _(like: Expression, numbers: tuple[Any, ...]) -> Expression:
    return call(name("constants"), name(_tuple_text(numbers)), like)


@linear_image.register
def _(vector: Expression, rows: tuple[Any, ...]) -> Expression:
    return call(name("linear"), name(_tuple_text(rows)), vector)


def _tuple_text(numbers: tuple[Any, ...]) -> str:
    items = [_tuple_text(item) if isinstance(item, tuple) else number_text(item)[0] for item in numbers]
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


@first_entry.register
def _(draw: Expression) -> Expression:
    return call(name("first_entry"), draw)
