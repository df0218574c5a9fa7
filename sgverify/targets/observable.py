"""Test functions: polynomials in the state with exact coefficients, parsed by a whitelist over the syntax tree, never evaluated."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn

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
                # Python's warnings about doubtful literals ("1if") concern code, and the text is no code.
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


COORDINATES = ("theta", "p")


@dataclass(frozen=True)
class Observable:
    """phi(theta, p), a polynomial: sum over exponents a of terms[a] x^a, x = (theta_0.., p_0..).

    The coordinates of p are there only where the state has a momentum. `str` gives a canonical text, which
    parses back to an equal observable.
    """

    dim: int
    state: tuple[str, ...]
    terms: Mapping[Exponents, Fraction] = field(repr=False)

    def __hash__(self) -> int:
        return hash((self.dim, self.state, frozenset(self.terms.items())))

    def __str__(self) -> str:
        return _text(self)

    @property
    def degree(self) -> int:
        """The largest total degree of a term; 0 for a constant."""
        return max((sum(exponents) for exponents in self.terms), default=0)

    def quadratic_form(self) -> tuple[Fraction, tuple[Fraction, ...], tuple[tuple[Fraction, ...], ...]]:
        """(c, b, A) with phi(x) = c + b.x + x^T A x, A symmetric, exactly; x = (theta, p), flat.

        Raises `ConfigurationError` where the degree is above 2.
        """
        if self.degree > 2:
            raise ConfigurationError(
                f"test_function={str(self)!r} has degree {self.degree}; expected at most 2 here; lower the degree"
            )
        size = self.dim * len(self.state)
        offset, gradient = Fraction(0), [Fraction(0)] * size
        curve = [[Fraction(0)] * size for _ in range(size)]
        for exponents, coefficient in self.terms.items():
            places = [i for i, power in enumerate(exponents) for _ in range(power)]
            if not places:
                offset = coefficient
            elif len(places) == 1:
                gradient[places[0]] = coefficient
            else:
                i, j = places
                curve[i][j] += coefficient / 2
                curve[j][i] += coefficient / 2
        return offset, tuple(gradient), tuple(tuple(row) for row in curve)

    def evaluate(self, coordinates: Sequence[Any]) -> Any:
        """phi at one point, `coordinates` flat (theta, then p) in any exact arithmetic; coefficients stay exact."""
        return self._sum(lambda place: coordinates[place], exactly=True)

    def __call__(self, theta: Any, p: Any = None) -> Any:
        """phi along arrays or tensors, coordinates on the last axis. Shape (*chains, d) -> (*chains)."""
        if p is None and self.uses_momentum:
            raise ConfigurationError(
                f"test_function={str(self)!r} reads the momentum p; expected it as second argument"
            )
        return self._sum(lambda place: theta[..., place] if place < self.dim else p[..., place - self.dim])

    @cached_property
    def uses_momentum(self) -> bool:
        """Whether p occurs."""
        return any(any(exponents[self.dim :]) for exponents in self.terms)

    @cached_property
    def _plan(self) -> list[tuple[Fraction, float, list[tuple[int, int]]]]:
        return [
            (
                coefficient,
                float(coefficient),
                [(place, power) for place, power in enumerate(exponents) if power],
            )
            for exponents, coefficient in self.terms.items()
        ]

    def _sum(self, coordinate: Callable[[int], Any], exactly: bool = False) -> Any:
        total: Any = None
        for coefficient, rounded, factors in self._plan:
            weight: Any = coefficient if exactly else rounded
            term: Any = None
            for place, power in factors:
                factor = coordinate(place) if power == 1 else coordinate(place) ** power
                term = factor if term is None else term * factor
            if term is None:
                # A constant takes the shape of the rest, or of the state where it stands alone.
                total = (coordinate(0) * 0 if total is None else total) + weight
            else:
                term = term if coefficient == 1 else term * weight
                total = term if total is None else total + term
        return coordinate(0) * 0 if total is None else total


def parse_observable(text: str, dim: int, state: Sequence[str] = COORDINATES) -> Observable:
    """The test function that `text` writes, e.g. "theta**2" or "theta[0]*p[1] - 1/2", over `dim` coordinates.

    Numbers, theta, p, indices, + - *, ** with whole exponents, division by a number, parentheses. `state`
    is the scheme's; what is neither theta nor p in it is left out. Raises `ConfigurationError` for the rest.

    >>> str(parse_observable("(theta - 0.5)**2", 1))
    'theta**2 - theta + 1/4'
    """
    kept = tuple(name for name in COORDINATES if name in state)
    terms = parse_polynomial(text, dim, kept, tuple(state))
    return Observable(dim, kept, terms)


def _text(observable: Observable) -> str:
    pieces = []
    for exponents, coefficient in observable.terms.items():
        factors = []
        for place, power in enumerate(exponents):
            if power:
                name = observable.state[place // observable.dim]
                name += f"[{place % observable.dim}]" if observable.dim > 1 else ""
                factors.append(name if power == 1 else f"{name}**{power}")
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, str(abs(coefficient)))
        sign = "-" if coefficient < 0 else "+"
        pieces.append((sign, "*".join(factors)))
    if not pieces:
        return "0"
    first, rest = pieces[0], pieces[1:]
    return ("-" if first[0] == "-" else "") + first[1] + "".join(f" {sign} {body}" for sign, body in rest)
