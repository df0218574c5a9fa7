"""The edits of torch code that are tried: one slip in one expression, in the words of the file itself.

A factor is put in or left out, inside of a root or outside; a sign, a statement or a summand is taken away; a draw is taken anew,
of the shape of its parameter, at every step, or by torch's own generator; what was kept is computed at its place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from sgverify.advice.diagnosis.code_edits.text import DRAWS, CodeText, Kind, Parts, words_of
from sgverify.advice.diagnosis.edits.expressions import Factor, Term, called, is_product, is_sum
from sgverify.advice.diagnosis.edits.products import ProductEdits
from sgverify.advice.diagnosis.source import Replacement


@dataclass(frozen=True)
class CodeEdit:
    """One edit of a file: `was`, an expression or a statement, becomes `now`; `part` is the summand that it leaves out, or the
    factor that it puts in. `alone`: the code that runs has one draw.
    """

    change: Replacement
    was: str
    now: str
    line: int
    kind: Kind
    rule: str
    cost: int
    part: str = ""
    alone: bool = False


class CodeEdits(CodeText):
    """The edits of the functions of a file, on the lines that were run."""

    @cached_property
    def found(self) -> list[CodeEdit]:
        """All of them, the simplest first, each text once."""
        unlike: dict[tuple[int, int, str], CodeEdit] = {}
        for function in self.functions:
            for edit in (edit for edit in self._of(function) if edit.now != edit.was):
                unlike.setdefault((edit.change.start, edit.change.end, edit.change.new), edit)
        run = [node for function in self.functions for node in ast.walk(function)]
        alone = sum(called(node) in DRAWS and getattr(node, "lineno", 0) in self.lines for node in run) == 1
        found = sorted(unlike.values(), key=lambda edit: (edit.cost, len(edit.now)))
        return [replace(edit, alone=alone) for edit in found]

    def _of(self, function: ast.FunctionDef) -> Iterator[CodeEdit]:
        if function.name == "__init__":
            return
        nodes = [node for node in ast.walk(function) if getattr(node, "lineno", 0) in self.lines]
        parts = self._parts(function)
        numbers = self._numbers(function, nodes)
        for node in nodes:
            yield from self._of_cached(node, function, parts)
            yield from self._of_draw(node)
            yield from self._of_call(node, parts)
            yield from self._of_branch(node)
            yield from self._of_statement(node)
            yield from self._of_sum(node, parts)
            yield from self._of_name(node, function)
            yield from self._of_product(node, numbers, parts)

    def _put(
        self,
        node: ast.AST,
        new: str,
        kind: Kind,
        rule: str,
        cost: int,
        part: str = "",
        start: int | None = None,
    ) -> Iterator[CodeEdit]:
        """The edit that puts `new` in the place of a node, shown with the argument or value that it is a part of."""
        first, end = self.span(node)
        start = first if start is None else start
        outer = node
        whole = rule != "cached"
        while whole and (is_product(self.parents.get(outer)) or self.is_root(self.parents.get(outer))):
            outer = self.parents[outer]
        first, last = self.span(outer)
        was = " ".join(self.text[first:last].split())
        now = " ".join((self.text[first:start] + new + self.text[end:last]).split())
        yield CodeEdit(Replacement(start, end, new), was, now, node.lineno, kind, rule, cost, part)  # type: ignore[attr-defined]

    # What a product may lack, or have too much of.

    def _of_product(self, node: ast.AST, numbers: Sequence[str], parts: Parts) -> Iterator[CodeEdit]:
        if not isinstance(node, ast.expr) or not self._is_value(node):
            return
        kind, parent = self._kind(node, parts), self.parents.get(node)
        inside = self.is_root(parent) and not isinstance(node, ast.Constant)
        if (is_product(parent) or self.is_root(parent)) and not inside:
            return
        yield from self._sign(node, kind)
        term = Term(node, *self.span(node), (self.factor(node),)) if is_sum(node) else self.term(node)
        rooted = inside or any(self.is_root(item.node) for item in term.factors)
        if kind == "noise" and not rooted:
            for lead in ([], [Factor("2", False)]):
                under = self.product([*lead, *term.factors], node)
                root = under if under.isidentifier() else f"({under})"
                yield from self._put(node, f"{root}**0.5", kind, "root", 2, "", term.start)
        edits = ProductEdits(self, numbers, last=True)
        for factors, _, (rule, *words) in chain(edits.scaled(term), edits.shortened(term), edits.roots(term)):
            cost = self._cost(rule, words, numbers, term, inside, rooted)
            if cost:
                new, part = self.product(factors, node), words[0] * (rule in ("times", "over"))
                yield from self._put(node, new, kind, rule, cost, part, term.start)
        for factor in term.factors:
            own = factor.node
            if isinstance(own, ast.Constant) and type(own.value) in (int, float):
                for number in ("1", *numbers):
                    yield from self._put(own, number, kind, "number", 2)
            elif own is not None and (isinstance(own, ast.Name) or factor.text in numbers):
                for number in numbers:
                    if number != "2":
                        yield from self._put(own, number, kind, "name", 3)

    def _cost(
        self,
        rule: str,
        words: Sequence[str],
        numbers: Sequence[str],
        term: Term,
        inside: bool,
        rooted: bool,
    ) -> int:
        """How late an edit of a product is tried; 0 for one that is none of code."""
        if rule in ("without", "into root"):
            # An option that one part has alone is rather missing in the other.
            own = rule == "without" and words[0].lstrip("/") in numbers and words[0] != "2"
            return 0 if any(draw in word for draw in DRAWS for word in words) else 1 + own
        if rule not in ("times", "over"):
            return 0
        number, root, _ = words[0].partition("**0.5")
        known = number not in numbers or (
            number in [item.text for item in term.factors] and len(term.factors) > 1
        )
        # A tensor stands outside of a root of numbers.
        if known or (root and rooted and number not in self.foreign):
            return 0
        return (3 if root else 1 if inside else 2) + (number in self.foreign)

    def _sign(self, node: ast.expr, kind: Kind) -> Iterator[CodeEdit]:
        parent = self.parents.get(node)
        if isinstance(parent, ast.keyword) and parent.arg in ("alpha", "value"):
            text = self.of(node)
            yield from self._put(
                node, text[1:] if text.startswith("-") else f"-{text}", "gradient", "sign", 1
            )

    def _of_sum(self, node: ast.AST, parts: Parts) -> Iterator[CodeEdit]:
        if not (is_sum(node) and isinstance(node, ast.BinOp)):
            return
        left, right = self.span(node.left)[1], self.span(node.right)[0]
        other = (
            self.text[left:right].replace("-", "+")
            if isinstance(node.op, ast.Sub)
            else self.text[left:right].replace("+", "-")
        )
        kind = self._kind(node.right, parts)
        yield from self._put(node, self.of(node.left) + other + self.of(node.right), kind, "sign", 1)
        if not self._draws(node.right):
            part = self.text[self.span(node.left)[1] : self.span(node)[1]].strip()
            yield from self._put(node, self.of(node.left), kind, "without summand", 2, part)
        yield from self._put(node, self.of(node.right), kind, "without summand", 3)
        if isinstance(node.right, ast.Constant) and type(node.right.value) in (int, float):
            yield from self._put(node, self.text[self.span(node)[0] : right] + "1", kind, "number", 2)

    # What is kept, drawn, left out at some steps, or done besides.

    def _of_cached(self, node: ast.AST, function: ast.FunctionDef, parts: Parts) -> Iterator[CodeEdit]:
        """What an attribute or an entry holds since it was first computed, computed where it is used."""
        if not (isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Load)):
            return
        own = self.of(node)
        for other in ast.walk(self.tree):
            if isinstance(other, ast.Assign) and len(other.targets) == 1 and self.of(other.targets[0]) == own:
                # A copy of a parameter, made anew, is the parameter: that takes the difference of both away, and mends nothing.
                if self._draws(other.value) or isinstance(copied(other.value), ast.Name | ast.Constant):
                    continue
                kind = self._kind(node, parts)
                yield from self._put(node, self._translated(other.value, function), kind, "cached", 1)

    def _translated(self, value: ast.expr, function: ast.FunctionDef) -> str:
        """An expression with the options of __init__ spelled as `function` spells them."""
        known = self._known(function)
        group = self._group(function)
        text, start = self.of(value), self.span(value)[0]
        names = [
            item
            for item in ast.walk(value)
            if isinstance(item, ast.Name) and item.id in self.options and item.id not in known
        ]
        for name in sorted(names, key=lambda item: -item.col_offset):
            first, last = self.span(name)
            text = f"{text[: first - start]}{group}['{name.id}']{text[last - start :]}" if group else text
        return text

    def _of_draw(self, node: ast.AST) -> Iterator[CodeEdit]:
        """A draw of the shape of the tensor that it names, and one without a generator of its own."""
        if not isinstance(node, ast.Call) or called(node) not in DRAWS:
            return
        key = node.args[0] if node.args else None
        if isinstance(key, ast.Name) and isinstance(node.func, ast.Attribute) and "jax" in self.text:
            folded = f"{self.of(node.func.value)}.fold_in({key.id}, 1)"
            yield from self._put(key, folded, "noise", "key", 1)
            return
        outer: ast.AST = node
        while isinstance(self.parents.get(outer), ast.Attribute | ast.Call) and isinstance(outer, ast.expr):
            parent = self.parents[outer]
            if isinstance(parent, ast.Call) and parent.func is not outer:
                break
            outer = parent
        names = [
            part.id
            for part in ast.walk(outer)
            if isinstance(part, ast.Name) and part.id not in ("torch", "np", "self", "math")
        ]
        if not any(isinstance(part, ast.keyword) and part.arg == "generator" for part in node.keywords):
            enclosing: ast.AST = outer
            for _ in range(3):
                for name in dict.fromkeys(names):
                    yield from self._put(enclosing, f"torch.randn_like({name})", "noise", "draw", 1)
                if not (is_sum(self.parents.get(enclosing)) or is_product(self.parents.get(enclosing))):
                    break
                enclosing = self.parents[enclosing]
            return
        for keyword in node.keywords:
            if keyword.arg == "generator":
                first, last = self.span(keyword)
                start = self.span(node)[0]
                text = self.of(node)
                cut = text[: first - start].rstrip().removesuffix(",") + text[last - start :]
                yield from self._put(node, cut, "noise", "generator", 2)

    def _of_call(self, node: ast.AST, parts: Parts) -> Iterator[CodeEdit]:
        """A gradient or a draw without a function that is applied to it."""
        if not isinstance(node, ast.Call) or called(node) in (*DRAWS, "grad") or called(node).endswith("_"):
            return
        inner = node.func.value if isinstance(node.func, ast.Attribute) else None
        for value in (inner, *node.args[:1]):
            kind = None if value is None or is_sum(value) else self._kind(value, parts)
            if value is not None and kind != "factor" and words_of(value) & (parts.noise | parts.gradient):
                yield from self._put(node, self.of(value), str(kind), "without call", 2)
                return

    def _of_branch(self, node: ast.AST) -> Iterator[CodeEdit]:
        """The body of a branch at every step."""
        if isinstance(node, ast.If) and self._draws(node):
            change = Replacement(*self.span(node.test), "True")
            yield CodeEdit(change, f"if {self.of(node.test)}", "if True", node.lineno, "steps", "branch", 1)

    def _of_statement(self, node: ast.AST) -> Iterator[CodeEdit]:
        """A statement that changes a tensor in place, left out."""
        if isinstance(node, ast.Expr) and called(node.value).endswith("_") and not self._draws(node):
            change = Replacement(*self.span(node), "pass")
            yield CodeEdit(change, self.of(node), "pass", node.lineno, "state", "without statement", 2)

    def _of_name(self, node: ast.AST, function: ast.FunctionDef) -> Iterator[CodeEdit]:
        """A draw or a gradient taken anew where the name of an earlier one is used."""
        if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)):
            return
        for other in ast.walk(function):
            if (
                isinstance(other, ast.Assign)
                and other.lineno < node.lineno
                and self.of(other.targets[0]) == node.id
            ):
                calls = {called(part) for part in ast.walk(other.value)}
                if calls & {*DRAWS, "grad"}:
                    kind = "gradient" if "grad" in calls else "noise"
                    yield from self._put(node, self.of(other.value), kind, "anew", 1)


def copied(value: ast.expr) -> ast.expr:
    """The expression that `detach`, `clone` and `data` make a copy of."""
    while isinstance(value, ast.Call | ast.Attribute):
        inner = value.func if isinstance(value, ast.Call) else value
        if not isinstance(inner, ast.Attribute) or inner.attr not in ("detach", "clone", "data"):
            break
        value = inner.value
    return value
