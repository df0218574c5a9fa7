"""How does a formula that is written in a line become a tree of sympy? It is parsed, and nothing in it is evaluated.

    relation := sum (RELATION sum)*          sum := ["-"] product (("+" | "-" | "+-") product)*
    product := power (["*" | "." | ":" | "/"] power)*          power := atom ["^" power]
    atom := number | name [suffixes] | name "(" list ")" | brackets

Factors that stand side by side are multiplied, `a/b c` is (a/b) c, and what a bar opens another bar closes. Sums, products
and powers are sympy's own, made with `evaluate=False`; every other sign is an undefined function of sympy that bears its
name, so that order, brackets and fractions are those of the text.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from sgverify.report.formulas.tokens import (
    ACCENTS,
    LARGE,
    OPENING,
    PRODUCTS,
    RELATIONS,
    SIGNS,
    SUMS,
    Token,
    is_differential,
    is_symbol,
    tokens,
)

if TYPE_CHECKING:
    from sympy import Basic


class NoFormula(ValueError):
    """The text is not a formula that this grammar has."""


@cache
def parse(source: str, definition: bool = False) -> Basic:
    """The tree of a formula. In the text of a `definition` every star multiplies and names may be words.

    Raises `NoFormula`, with the place, for what the grammar does not have.
    """
    reader = _Reader(source, definition)
    tree = reader.relation()
    if reader.place < len(reader.tokens):
        raise reader.wrong("an operator")
    return tree


def node(name: str, *parts: Basic) -> Basic:
    """An undefined function of sympy: a sign of the formula that is no sum, product or power."""
    from sympy import Function

    made: Basic = Function(name)(*parts, evaluate=False)
    return made


def ends_in_number(tree: Basic) -> bool:
    """Is the tree, or the last factor of the product that it is, a number?"""
    while tree.is_Mul or tree.is_Pow:
        tree = tree.args[-1 if tree.is_Mul else 0]
    return bool(tree.is_Number) or (bool(tree.is_Symbol) and str(tree)[0].isdigit())


class _Reader:
    """Recursive descent over the tokens of one formula."""

    def __init__(self, source: str, definition: bool) -> None:
        self.source, self.definition = source, definition
        self.tokens = tokens(source)
        self.place = 0
        self.bars = 0

    def wrong(self, expected: str) -> NoFormula:
        """The error at the present place."""
        return NoFormula(f"formula={self.source!r}: expected {expected} at sign {self.place + 1}")

    def peek(self, ahead: int = 0) -> Token | None:
        """The token at the present place, or further on."""
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else None

    def accept(self, *texts: str) -> Token | None:
        """The present token, if it is one of these."""
        found = self.peek()
        if found is None or found.text not in texts:
            return None
        self.place += 1
        return found

    def expect(self, text: str) -> None:
        """Pass over a sign that has to be there."""
        if not self.accept(text):
            raise self.wrong(repr(text))

    def relation(self) -> Basic:
        """Sums with relations between them."""
        parts = [self.sum()]
        names = []
        while (found := self.peek()) and found.text in RELATIONS:
            self.place += 1
            names.append(RELATIONS[found.text])
            parts.append(self.sum())
        return node(f"relation {' '.join(names)}", *parts) if names else parts[0]

    def sum(self) -> Basic:
        """Products that are added and subtracted."""
        from sympy import Add, Integer, Mul

        terms: list[Basic] = []
        sign = self.peek()
        if sign and sign.kind == "sum":
            self.place += 1
        else:
            sign = None
        while True:
            term = self.product()
            if sign and SUMS[sign.text] == "±":
                term = node("±", term)
            elif sign and SUMS[sign.text] != "+":
                term = Mul(Integer(-1), term, evaluate=False)
            terms.append(term)
            sign = self.peek()
            if sign is None or sign.kind != "sum":
                break
            self.place += 1
        return terms[0] if len(terms) == 1 else Add(*terms, evaluate=False)

    def product(self) -> Basic:
        """Powers side by side or with a sign between them; `/` divides all that stands before it."""
        from sympy import Mul

        result = self.power()
        while (found := self.peek()) is not None:
            if found.text in PRODUCTS and not (found.text in ".:" and not found.spaced):
                if found.text == ":" and not found.loose:
                    break
                self.place += 1
                right = self.power()
                if found.text == "/":
                    result = node("quotient", result, right)
                elif PRODUCTS[found.text]:
                    result = node(f"infix {PRODUCTS[found.text]}", result, right)
                else:
                    result = Mul(result, right, evaluate=False)
            elif found.text == "." and not found.spaced and not found.loose and self.starts(1):
                self.place += 1
                result = node("infix ·", result, self.power())
            elif found.kind == "number" and ends_in_number(result):
                raise self.wrong("a sign between two numbers")
            elif self.starts():
                result = Mul(result, self.factor(found), evaluate=False)
            else:
                break
        return result

    def factor(self, first: Token) -> Basic:
        """A power, or a fraction of numbers: in `T 1/L` the 1 alone is divided."""
        base = self.power()
        if first.kind == "number" and (found := self.peek()) and found.text == "/" and not found.spaced:
            self.place += 1
            return node("quotient", base, self.power())
        return base

    def starts(self, ahead: int = 0) -> bool:
        """Does a factor begin here?"""
        found = self.peek(ahead)
        if found is None:
            return False
        if found.text == "|":
            return not self.bars and self.closes_a_bar(self.place + ahead)
        return found.kind in ("number", "name", "dots") or found.text in OPENING or found.text == "√"

    def closes_a_bar(self, place: int) -> bool:
        """Does another bar follow this one within the same brackets? Else it is that of a condition."""
        depth = 0
        for token in self.tokens[place + 1 :]:
            depth += (token.text in OPENING) - (token.text in OPENING.values())
            if depth < 0:
                return False
            if token.text == "|" and depth == 0:
                return True
        return False

    def power(self) -> Basic:
        """An atom and its exponent."""
        from sympy import Pow

        base = self.atom()
        while (found := self.peek()) and found.kind == "raise":
            self.place += 1
            base = Pow(base, self.exponent(), evaluate=False)
            base = self.suffixes(base)
        return base

    def exponent(self) -> Basic:
        """What is raised: a signed power, or a sign of its own as in theta^*."""
        from sympy import Integer, Mul, Symbol

        if self.accept("*", "⋆"):
            return Symbol("*")
        if (found := self.peek()) and found.kind == "sum":
            self.place += 1
            return Mul(Integer(-1), self.power(), evaluate=False) if SUMS[found.text] != "+" else self.power()
        atom = self.atom(applied=False)
        if (found := self.peek()) and found.kind == "raise" and self.definition:
            return self.power_of(atom)
        return atom

    def power_of(self, base: Basic) -> Basic:
        """A power of a power, which binds to the right."""
        from sympy import Pow

        self.place += 1
        return Pow(base, self.exponent(), evaluate=False)

    def atom(self, applied: bool = True) -> Basic:
        """A number, a name with its suffixes and arguments, or brackets."""
        from sympy import Integer, Symbol

        found = self.peek()
        if found is None:
            raise self.wrong("a quantity")
        self.place += 1
        if found.kind == "number":
            whole = found.text.isdigit() and found.text == str(int(found.text))
            return self.suffixes(Integer(int(found.text)) if whole else Symbol(found.text))
        if found.kind == "dots":
            return Symbol("…")
        if found.text == "√":
            return node("sqrt", self.atom(applied=False))
        if found.text == "|":
            return self.suffixes(self.bar())
        if found.text in OPENING:
            return self.suffixes(self.bracket(found.text))
        if found.kind == "name":
            return self.name(found, applied)
        self.place -= 1
        raise self.wrong("a quantity")

    def bar(self) -> Basic:
        self.bars += 1
        inside = self.relation()
        self.bars -= 1
        self.expect("|")
        return node("abs", inside)

    def bracket(self, opening: str) -> Basic:
        """A list in brackets; those of braces group and are not shown."""
        closing = OPENING[opening]
        inside = self.listed(closing)
        if opening == "{":
            return node("group", *inside)
        return node(f"brackets {opening} {closing}", *inside)

    def listed(self, closing: str) -> list[Basic]:
        """Relations between commas or conditional bars up to the closing bracket."""
        bars, self.bars = self.bars, 0
        parts: list[Basic] = []
        while not self.accept(closing):
            if parts:
                if not (found := self.accept(",", ";", "|")):
                    raise self.wrong(f"a comma or {closing!r}")
                if found.text == "|":
                    parts[-1] = node("given", parts[-1], self.relation())
                    continue
            parts.append(self.relation())
        self.bars = bars
        return parts

    def name(self, found: Token, applied: bool) -> Basic:
        """A quantity with accents, indices and primes, and its arguments where a bracket follows at once."""
        from sympy import Symbol

        if not self.definition and not is_symbol(found.text):
            if self.conditional(found):
                return Symbol(found.text)
            if len(found.text) > 3:
                raise self.wrong("a symbol")
            return self.letters([Symbol(letter) for letter in found.text])
        base: Basic = Symbol(found.text)
        if self.definition and found.text == "grad":
            # The gradient that a step is given, of all data or of a minibatch.
            base = node("infix ", base, node("accent ~", Symbol("U")))
        if not self.definition and is_differential(found.text):
            return node("infix ", Symbol("d"), self.suffixes(Symbol(found.text[1:])))
        base = self.suffixes(base)
        following = self.peek()
        if not applied or following is None or following.spaced or following.text not in ("(", "["):
            return base
        if following.text == "[" and found.text not in ("E", "O"):
            return base
        if found.text in LARGE or (found.text in SIGNS and not self.definition):
            return base
        self.place += 1
        inside = self.listed(OPENING[following.text])
        if found.text == "sqrt" and len(inside) == 1:
            return self.suffixes(node("sqrt", inside[0]))
        return self.suffixes(
            node("apply", base, node(f"brackets {following.text} {OPENING[following.text]}", *inside))
        )

    def letters(self, symbols: list[Basic]) -> Basic:
        """Letters that are printed side by side, as in 2Dh; suffixes belong to the last."""
        from sympy import Mul

        product = symbols[0]
        for symbol in symbols[1:-1]:
            product = Mul(product, symbol, evaluate=False)
        return Mul(product, self.suffixes(symbols[-1]), evaluate=False)

    def conditional(self, word: Token) -> bool:
        """Is it the word of a condition, as in `L(B | control)`?"""
        before, after = self.tokens[self.place - 2] if self.place > 1 else None, self.peek()
        return before is not None and before.text == "|" and after is not None and after.text == ")"

    def suffixes(self, base: Basic) -> Basic:
        """Accents, indices, primes and stars that follow at once."""
        from sympy import Integer

        while (found := self.peek()) is not None and not found.spaced:
            if found.kind == "number" and base.is_Symbol and found.text.isdigit():
                self.place += 1
                base = node("index", base, Integer(int(found.text)))
            elif found.text == "_" and (accent := self.peek(1)) is not None and accent.text in ("hat", "bar"):
                self.place += 2
                base = node(f"accent {ACCENTS[accent.text]}", base)
            elif found.text == "_":
                self.place += 1
                base = node("index", base, self.subscript())
            elif found.text == "~":
                self.place += 1
                base = node("accent ~", base)
            elif found.text == "'":
                self.place += 1
                base = node("prime", base)
            elif found.text in "*⋆" and (found.text == "⋆" or self.starred(found)):
                self.place += 1
                base = node("star", base)
            else:
                break
        return base

    def starred(self, star: Token) -> bool:
        """Is the star of theta* a mark and no product? It is where no factor follows at once."""
        if self.definition:
            return False
        following = self.peek(1)
        return (
            following is None
            or star.loose
            or following.text in (")", "]", "⟩", ",", "(", "^", "|", "/", "_", "'")
        )

    def subscript(self) -> Basic:
        """An index: a name, a number, a signed number, or brackets."""
        from sympy import Symbol

        found = self.peek()
        if found and (found.kind == "sum" or found.text in "*⋆"):
            return self.exponent()
        if found and found.kind == "name" and not is_symbol(found.text):
            self.place += 1
            return Symbol(found.text)
        inside = self.atom(applied=False)
        while (found := self.peek()) and found.kind == "number" and not found.spaced:
            inside = self.suffixes(inside)
        return inside


__all__ = ["NoFormula", "ends_in_number", "node", "parse"]
