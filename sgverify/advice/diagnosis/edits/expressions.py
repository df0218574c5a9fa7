"""The sums, terms and factors of a definition's text, with the characters at which each stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple


class Factor(NamedTuple):
    """One factor of a product, its text in brackets where it is a sum or a product; it divides where `over`."""

    text: str
    over: bool
    node: ast.expr | None = None


@dataclass(frozen=True)
class Term:
    """A product that is no part of a larger one, from `start` to `end`; a sign before its first factor is no part of these."""

    node: ast.expr
    start: int
    end: int
    factors: tuple[Factor, ...]


@dataclass(frozen=True)
class Summand:
    """A term of a sum with the character of its sign; None where it is the first and has none."""

    node: ast.expr
    start: int
    end: int
    sign: int | None
    negative: bool


class SourceText:
    """A text with its tree: the characters at which each node stands, and the node around each."""

    def __init__(self, text: str) -> None:
        self.text, self.tree = text, ast.parse(text)
        self._texts = text.splitlines(keepends=True)
        self._lines = [0]
        for line in self._texts:
            self._lines.append(self._lines[-1] + len(line))
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def span(self, node: Any) -> tuple[int, int]:
        """The characters of a node, without brackets around it."""
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def _place(self, line: int, column: int) -> int:
        # Columns of the parser count bytes of UTF-8.
        row = self._texts[line - 1]
        return self._lines[line - 1] + (
            column if row.isascii() else len(row.encode()[:column].decode(errors="ignore"))
        )

    def of(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def factor(self, node: ast.expr, over: bool = False) -> Factor:
        """An expression as a factor."""
        return Factor(bracketed(node, self.of(node)), over, node)

    def term(self, node: ast.expr) -> Term:
        """The factors of an expression that is no sum."""
        start, end = self.span(node)
        if self.text[start] == "-":
            start += len(self.text[start + 1 : end]) - len(self.text[start + 1 : end].lstrip()) + 1
        return Term(node, start, end, tuple(self._factors(node)))

    def _factors(self, node: ast.expr) -> Iterator[Factor]:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield from self._factors(node.operand)
        elif isinstance(node, ast.BinOp) and is_product(node):
            yield from self._factors(node.left)
            yield self.factor(node.right, isinstance(node.op, ast.Div))
        else:
            yield self.factor(node)

    def product(self, factors: Iterable[Factor], beside: ast.expr) -> str:
        """The text of a product, with blanks around its signs where the line of the expression `beside` has them."""
        row = self._texts[beside.lineno - 1]
        times, over = (f" {sign} " if f" {sign} " in row else sign for sign in "*/")
        text, last = "", list[Factor]()
        for factor in (written := [*factors]):
            if not text and factor.over and any(not item.over for item in written):
                last.append(factor)
                continue
            text = self._with(text, factor, times, over)
        for factor in last:
            text = self._with(text, factor, times, over)
        return text or "1"

    @staticmethod
    def _with(text: str, factor: Factor, times: str, over: str) -> str:
        compound = factor.over and re.search(r"^[^(]*(?<!\*)[*/](?!\*)", factor.text)
        word = f"({factor.text})" if compound else factor.text
        return f"{text}{over if factor.over else times}{word}" if text else f"1{over}" * factor.over + word

    def is_root(self, node: ast.AST | None) -> bool:
        """Whether this is a square root, by name or as a power."""
        half = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
        return called(node) == "sqrt" or (half and self.of(node.right).strip("()") in ("0.5", ".5", "1/2"))  # type: ignore[union-attr]

    def radicand(self, node: ast.expr) -> ast.expr:
        """The expression under a root."""
        if isinstance(node, ast.BinOp):
            return node.left
        # sqrt(x), or x.sqrt()
        return node.args[0] if node.args else node.func.value  # type: ignore[attr-defined]

    def root_of(self, node: ast.expr, inside: str) -> str:
        """A root with another expression under it."""
        (start, end), (first, last) = self.span(node), self.span(self.radicand(node))
        bare = first == start and self.text[first - 1 : first] != "("
        return self.text[start:first] + (f"({inside})" if bare else inside) + self.text[last:end]


class Expressions(SourceText):
    """The parsed text of one function."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        (definition,) = self.tree.body
        assert isinstance(definition, ast.FunctionDef)
        self.definition = definition

    @cached_property
    def nodes(self) -> list[ast.expr]:
        """Every expression that is computed, in the order of the text; names of functions that are called are none."""
        found: list[ast.expr] = []
        waiting: list[ast.AST] = list(reversed(self.definition.body))
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", ast.Load()), ast.Store):
                found.append(node)
            children = list(ast.iter_child_nodes(node))
            if isinstance(node, ast.Call):
                children = [*node.args]
                # grad.fresh()(theta): the inner call is computed too, and nothing in it is an operand.
            waiting.extend(reversed(children))
        return found

    @cached_property
    def terms(self) -> list[Term]:
        """Every product that is no part of a larger one, or in brackets there, and every single factor; no sums and no tuples."""
        return [
            self.term(node)
            for node in self.nodes
            if self._is_value(node)
            and not is_sum(node)
            and (not self._inside_product(node) or (is_product(node) and self._is_right(node)))
        ]

    def _is_right(self, node: ast.expr) -> bool:
        parent = self.parents.get(node)
        return isinstance(parent, ast.BinOp) and parent.right is node

    @cached_property
    def brackets(self) -> list[Term]:
        """Every sum in brackets that is a term by itself, and every sum that is the whole of a value."""
        found = []
        for node in self.nodes:
            if is_sum(node) and self._is_value(node) and not self._inside_product(node):
                start, end = self.span(node)
                if self._inside_sum(node):
                    if self.text[start - 1] != "(" or self.text[end] != ")":
                        continue
                    start, end = start - 1, end + 1
                found.append(Term(node, start, end, (self.factor(node),)))
        return found

    @cached_property
    def sums(self) -> list[tuple[ast.expr, tuple[Summand, ...]]]:
        """Every value that may be a sum, with its summands: a single term has one."""
        return [
            (node, tuple(self._summands(node)))
            for node in self.nodes
            if self._is_value(node)
            and not self._inside_sum(node)
            and not self._inside_product(node, nested=False)
        ]

    def _is_value(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Tuple | ast.Attribute):
            return False
        parent = self.parents.get(node)
        if isinstance(parent, ast.Expr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            return False
        return not (isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow))

    def _inside_product(self, node: ast.expr, nested: bool = True) -> bool:
        parent = self.parents.get(node)
        if isinstance(parent, ast.UnaryOp):
            return True
        if not is_product(parent):
            return False
        # A sum in brackets is a value of its own; a product in brackets is one of the factors' own.
        return nested or not (is_sum(node) or self._in_brackets(node))

    def _in_brackets(self, node: ast.expr) -> bool:
        """Whether a negative term stands in brackets, as in h*(-grad(theta))."""
        start, end = self.span(node)
        negative = isinstance(node, ast.UnaryOp) or (is_product(node) and self.text[start] == "-")
        return negative and self.text[:start].endswith("(") and self.text[end:].startswith(")")

    def _inside_sum(self, node: ast.expr) -> bool:
        return is_sum(self.parents.get(node))

    def _operator(self, node: ast.BinOp) -> int:
        """The place of the operator between the operands, outside of their brackets."""
        place = self.span(node.left)[1]
        while self.text[place].isspace() or self.text[place] == ")":
            place += 1
        return place

    def _summands(self, node: ast.expr) -> Iterator[Summand]:
        if is_sum(node) and isinstance(node, ast.BinOp):
            yield from self._summands(node.left)
            sign = self._operator(node)
            start = sign + 1
            while self.text[start].isspace():
                start += 1
            yield Summand(node.right, start, self.span(node)[1], sign, isinstance(node.op, ast.Sub))
        else:
            start, end = self.span(node)
            negative = self.text[start] == "-"
            yield Summand(node, start, end, start if negative else None, negative)

    @cached_property
    def bindings(self) -> list[tuple[str, ast.expr, int]]:
        """The names that the function assigns, each with its value and the end of the statement."""
        found = []
        for node in self.definition.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target, value = node.targets[0], node.value
                pairs = [(target, value)]
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    pairs = list(zip(target.elts, value.elts, strict=False))
                for one, other in pairs:
                    if isinstance(one, ast.Name):
                        found.append((one.id, other, self.span(node)[1]))
        return found

    def in_scope(self, place: int) -> list[str]:
        """The names that are assigned before a place, in order."""
        return list(dict.fromkeys(name for name, _, end in self.bindings if end <= place))

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """The statement in which an expression stands."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def arguments_of_state(self, count: int) -> set[str]:
        """The arguments on which the first `count` returned values depend, through the names that are assigned on the way."""
        last = self.definition.body[-1]
        if not isinstance(last, ast.Return) or last.value is None:
            return set()
        values = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
        wanted = {name for value in values[:count] for name in _names(value)}
        for statement in reversed(self.definition.body):
            if isinstance(statement, ast.Assign):
                targets = {name for target in statement.targets for name in _names(target)}
                if targets & wanted:
                    wanted = (wanted - targets) | _names(statement.value)
        return wanted

    def at_the_end(self, word: str, place: int) -> Iterator[str]:
        """A text with gradients at the state that the step returns: grad(theta + h/2*p) for grad(theta), say.

        `place` stands in the returned values, of which the first ones are not named.
        """
        last = self.definition.body[-1]
        if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Tuple):
            return
        names = [argument.arg for argument in self.definition.args.args]
        for name, value in zip(names, last.value.elts, strict=False):
            if not isinstance(value, ast.Name) and self.span(value)[1] <= place:
                new = re.sub(rf"grad\({name}\)", lambda _, value=value: f"grad({self.of(value)})", word)  # type: ignore[misc]
                if new != word:
                    yield new

    def _smallest_around(self, start: int, end: int) -> Any:
        spans = {node: self.span(node) for node in self.nodes}
        covering = [node for node, (first, last) in spans.items() if first <= start and end <= last]
        return min(covering, key=lambda node: spans[node][1] - spans[node][0], default=None)

    def factor_at(self, start: int, end: int) -> ast.expr | None:
        """The smallest expression around these characters that is no part of a power."""
        node = self._smallest_around(start, end)
        parent = None if node is None else self.parents.get(node)
        while isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow):
            node, parent = parent, self.parents.get(parent)
        return node

    def term_around(self, start: int, end: int) -> str | None:
        """The text of the largest term around these characters: a summand of what is computed."""
        holding = [term for term in self.terms if term.start <= start and end <= term.end]
        if not holding:
            return None
        term = max(holding, key=lambda term: term.end - term.start)
        return self.text[term.start : term.end]

    def shown(self, start: int, end: int) -> ast.expr | None:
        """The expression that shows a change of these characters: a whole term, with the function that it is an argument of."""
        node: ast.AST | None = self._smallest_around(start, end)
        while node is not None:
            parent = self.parents.get(node)
            if is_product(parent) or isinstance(parent, ast.UnaryOp):
                node = parent
            elif isinstance(parent, ast.Call) and node in parent.args:
                node = parent
                break
            else:
                break
        return node if isinstance(node, ast.expr) else None


def _names(node: ast.expr) -> set[str]:
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}


def bracketed(node: ast.expr, text: str) -> str:
    """A text in brackets where its expression needs them as a factor."""
    return f"({text})" if is_sum(node) or is_product(node) or isinstance(node, ast.UnaryOp) else text


def is_product(node: ast.AST | None) -> bool:
    """Whether this is a product or a quotient."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div)


def is_sum(node: ast.AST | None) -> bool:
    """Whether this is a sum or a difference."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def called(node: ast.AST | None) -> str:
    """The last name of the function that a node calls, such as "sqrt"; "" for no call of a name."""
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
