"""Edits of products: factors put in, left out, moved into roots; exponentials for linear functions.

One edit of a product is a list of its factors, written as the text writes them: for definitions and for code alike.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import combinations, takewhile

from sgverify.advice.diagnosis.edits.expressions import (
    Factor,
    SourceText,
    Term,
    bracketed,
    called,
    is_product,
    is_sum,
)
from sgverify.advice.diagnosis.edits.rules import FAR, RARE, SIMPLE, USUAL, Candidate, Rules

Written = tuple[Sequence[Factor], int, tuple[str, ...]]
"""The factors that an edit leaves of a product, how simple it is, and its rule."""


class ProductEdits:
    """The edits of one product of a text that knows these numbers, and spells functions as `spelled` says.

    A name goes behind a leading number, 2*T*h and not T*2*h, or with `last` to the end.
    """

    def __init__(
        self,
        read: SourceText,
        numbers: Sequence[str],
        clock: str = "",
        spelled: Callable[[str], str | None] = lambda name: None,
        last: bool = False,
    ) -> None:
        self.read, self.numbers, self.clock, self.spelled, self.last = read, numbers, clock, spelled, last

    def scaled(self, term: Term) -> Iterator[Written]:
        """A product times or over a number or an ingredient."""
        factors = term.factors
        timed = any(item.text == self.clock for item in factors)
        for value, cost in (("2", SIMPLE), ("4", RARE), ("3", RARE), ("3/2", FAR), ("3/4", FAR)):
            yield (Factor(value, False), *factors), cost, ("times", value)
        for value in ("2", "4", "3"):
            cost = SIMPLE if value == "2" and not timed else RARE
            yield (*factors, Factor(value, True)), cost, ("over", value)
        for name in () if factors[0].text == "1" and len(factors) == 1 else self.numbers:
            # A higher power of h hides a wrong term, and mends nothing.
            cost = RARE if timed and name == self.clock else SIMPLE
            yield self._led(factors, name), cost, ("times", name)
            cost = USUAL if name == self.clock else SIMPLE
            yield (*factors, Factor(name, True)), cost, ("over", name)
        for name in dict.fromkeys([*self.numbers, "2"]):
            root = self.spelled("sqrt")
            word = f"{root}({name})" if root else f"{name}**0.5"
            yield (Factor(word, False), *factors), RARE, ("times", word)
            yield (*factors, Factor(word, True)), RARE, ("over", word)

    def _led(self, factors: Sequence[Factor], name: str) -> Sequence[Factor]:
        place = 0 if name == "2" else len(factors) if self.last else isinstance(factors[0].node, ast.Constant)
        return (*factors[:place], Factor(name, False), *factors[place:])

    def shortened(self, term: Term) -> Iterator[Written]:
        """A product without one of its factors."""
        for factor in term.factors if len(term.factors) > 1 else ():
            yield _without(term.factors, factor), SIMPLE, ("without", "/" * factor.over + factor.text)

    def roots(self, term: Term) -> Iterator[Written]:
        """Factors moved into a root, roots taken and left out, powers changed."""
        factors, sqrt = term.factors, self.spelled("sqrt")
        leading = list(takewhile(self._is_number, factors))
        if sqrt is not None and 2 <= len(leading) < len(factors):
            root = Factor(f"{sqrt}({self.read.product(leading, term.node)})", False)
            yield (root, *factors[len(leading) :]), USUAL, ("root of", "numbers")
        for factor in factors:
            node = factor.node
            assert node is not None
            power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
            if self.read.is_root(node):
                inside = self.read.radicand(node)
                rule = ("without root", factor.text)
                yield put(factors, factor, bracketed(inside, self.read.of(inside))), USUAL, rule
                if isinstance(inside, ast.BinOp) and isinstance(inside.op, ast.Pow):
                    yield put(factors, factor, self.read.of(inside.left)), USUAL, rule
                yield from self._moved(term, factor)
            elif sqrt is not None and not isinstance(node, ast.Constant):
                rule = ("root of", factor.text)
                yield put(factors, factor, f"{sqrt}({self.read.of(node)})"), USUAL, rule
            if isinstance(node, ast.BinOp) and power:
                yield put(factors, factor, self.read.of(node.left)), USUAL, ("without power", factor.text)
            elif isinstance(node, ast.Name | ast.BinOp) or called(node) in ("sqrt", "exp"):
                yield put(factors, factor, f"{factor.text}**2"), USUAL, ("square of", factor.text)

    def _is_number(self, factor: Factor) -> bool:
        return factor.text in self.numbers or isinstance(factor.node, ast.Constant)

    def _moved(self, term: Term, root: Factor) -> Iterator[Written]:
        """The other factors of a product, one or several, moved into its root."""
        assert root.node is not None
        others = [
            item
            for item in term.factors
            if item is not root
            and not item.over
            and not is_product(item.node)
            and called(item.node) not in ("noise", "grad")
        ]
        radicand = self.read.radicand(root.node)
        inside = list(self.read.term(radicand).factors)
        sign = "-" * (not is_sum(radicand) and self.read.of(radicand).startswith("-"))
        for count in (1, 2, 3):
            for moved in combinations(others[:4], count):
                numbers = [item for item in moved if item.text.isdigit()]
                names = [item for item in moved if not item.text.isdigit()]
                rest = [item for item in term.factors if item not in moved]
                words = [item.text for item in moved]
                lead = [inside[0]] if inside[0].text.isdigit() and len(inside) > 1 else []
                for first in [numbers] if not numbers else [numbers, [Factor("2", False)]]:
                    under = self.read.product([*first, *lead, *names, *inside[len(lead) :]], radicand)
                    text = self.read.root_of(root.node, sign + under)
                    cost = USUAL if first is numbers else RARE
                    yield put(rest, root, text), cost, ("into root", *words)


def put(factors: Sequence[Factor], factor: Factor, new: str) -> list[Factor]:
    """The factors with another text for one of them."""
    return [Factor(new, item.over) if item is factor else item for item in factors]


def _without(factors: Sequence[Factor], factor: Factor) -> list[Factor]:
    return [item for item in factors if item is not factor]


class Products(Rules):
    """Edits of one term, a product that is no part of a larger one."""

    def all(self) -> Iterator[Candidate]:
        """All of them."""
        edits = ProductEdits(self.read, self.numbers, self.clock, self.spelled)
        for term in self.read.terms:
            rules = (edits.scaled, edits.shortened, edits.roots, self.further, self.exponentials, self.parts)
            for rule in rules:
                for factors, cost, name in rule(term):
                    new = self.read.product(factors, term.node)
                    yield self.change(term.start, term.end, new, cost, name)
            yield from self.under_root(term)
        for term in self.read.brackets:
            shares = [f"{self.clock}/2", "2", *self._factors_elsewhere(term)]
            for other in [*self.numbers, *shares]:
                cost = SIMPLE if other in self.numbers else USUAL
                new = self.read.product((Factor(other, False), *term.factors), term.node)
                yield self.change(term.start, term.end, new, cost, ("times", other))

    def further(self, term: Term) -> Iterator[Written]:
        """A product with its step size halved or doubled, times what stands elsewhere, or with another number."""
        factors = term.factors
        for factor in filter(self.is_clock, factors):
            yield put(factors, factor, f"{self.clock}/2"), SIMPLE, ("half", self.clock)
            if factor.over:
                # Above the line it is twice the product.
                yield put(factors, factor, f"2*{self.clock}"), SIMPLE, ("twice", self.clock)
        if not any(map(self.is_clock, factors)):
            yield (Factor(f"{self.clock}/2", False), *factors), USUAL, ("times", f"{self.clock}/2")
        for other in self._factors_elsewhere(term):
            yield (Factor(other, False), *factors), RARE, ("times", other)
        for other in self._preconditioners:
            if all(item.text != other for item in factors):
                yield (*factors, Factor(other, False)), SIMPLE, ("times", other)
        for value in self._literals:
            yield (*factors, Factor(value, True)), RARE, ("over", value)
            yield (Factor(value, False), *factors), RARE, ("times", value)
        others = [item for item in factors if not isinstance(item.node, ast.Constant)]
        if len(factors) > len(others) > 0 and not others[0].over:
            yield others, USUAL, ("without numbers",)
            for item in filter(self.is_clock, others):
                halved = put(others, item, f"{self.clock}/2")
                yield halved, USUAL, ("share", f"{self.clock}/2")
        for item in factors if len(factors) > 1 else ():
            if isinstance(item.node, ast.Name) and item.text in self.numbers:
                # dim*x for x/dim, T/h for T*h.
                turned = [*_without(factors, item), Factor(item.text, not item.over)]
                yield turned, USUAL, ("inverted", item.text)

    @cached_property
    def _literals(self) -> list[str]:
        """The whole numbers of the text beyond those that are tried everywhere."""
        values = (node.value for node in self.read.nodes if isinstance(node, ast.Constant))
        return [str(value) for value in sorted({v for v in values if type(v) is int and v > 4})]

    def exponentials(self, term: Term) -> Iterator[Written]:
        """exp(x) for 1 + x, and the other way round."""
        exp = self.spelled("exp")
        for factor in term.factors:
            node = factor.node
            if isinstance(node, ast.Call) and called(node) in ("exp", "expm1") and len(node.args) == 1:
                inside = self.read.of(node.args[0])
                negative = inside.startswith("-") and not is_sum(node.args[0])
                linear = f"1 - {inside[1:]}" if negative else f"1 + {inside}"
                new = f"({linear if called(node) == 'exp' else inside})"
                yield put(term.factors, factor, new), USUAL, ("linear", called(node))
            if is_sum(node) and isinstance(node, ast.BinOp) and self.read.of(node.left) == "1" and exp:
                new = f"{exp}({'-' * isinstance(node.op, ast.Sub)}{self.read.of(node.right)})"
                yield put(term.factors, factor, new), USUAL, ("exp", "")

    def under_root(self, term: Term) -> Iterator[Candidate]:
        """-expm1(-x) for x under a root."""
        expm1 = self.spelled("expm1")
        if expm1 is None or called(self.read.parents.get(term.node)) != "sqrt":
            return
        inner = [item for item in term.factors if item.text != "T"]
        outer = "".join(f"{item.text}*" for item in term.factors if item.text == "T" and not item.over)
        if any(map(self.is_clock, inner)) and len(term.factors) - len(inner) == bool(outer):
            exponent = self.read.product(inner, term.node)
            new = f"-{outer}{expm1}(-{exponent})"
            yield self.change(term.start, term.end, new, RARE, ("expm1", exponent))

    def parts(self, term: Term) -> Iterator[Written]:
        """A factor, or a whole call, put anew as a number or a parameter."""
        numbers = [name for name in self.numbers if name not in ("h", "t")]
        for factor in term.factors if len(term.factors) > 1 else ():
            if not isinstance(factor.node, ast.Name | ast.Constant):
                for word in ["1", "2", *numbers, *(f"2*{name}" for name in numbers)]:
                    yield put(term.factors, factor, word), FAR, ("part", word)

    @cached_property
    def _preconditioners(self) -> list[str]:
        """The names that multiply a gradient, and are no numbers."""
        found = dict[str, None]()
        for term in self.read.terms:
            if any(called(factor.node) == "grad" for factor in term.factors):
                found.update({item.text: None for item in term.factors if isinstance(item.node, ast.Name)})
        return [name for name in found if name not in (*self.numbers, self.clock)]

    def _factors_elsewhere(self, term: Term) -> list[str]:
        """The composite factors, such as exp(-D*h), of other terms."""
        own = {factor.text for factor in term.factors}
        return list(
            dict.fromkeys(
                factor.text
                for other in self.read.terms
                for factor in other.factors
                if (called(factor.node) == "exp" or is_sum(factor.node)) and factor.text not in own
            )
        )
