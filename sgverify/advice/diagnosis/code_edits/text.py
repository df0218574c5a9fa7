"""What the names of torch code stand for, and which of its expressions may lack a factor."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import NamedTuple

from sgverify.advice.diagnosis.edits.expressions import SourceText, called, is_product, is_sum

DRAWS = (
    "randn",
    "randn_like",
    "normal",
    "rand",
    "rand_like",
    "normal_",
    "from_numpy",
    "sample",
    "standard_normal",
)
"""The last names of calls that draw."""

TENSORS = ("p", "theta", "torch", "math", "np", "self", "grad", "noise", "z")
"""Names that are no numbers."""

Kind = str
"""Whether an edit is of the "noise", the "gradient", the "state", the "steps" in which code runs, or a "factor" of several."""


class Parts(NamedTuple):
    """The statements of a function with noise or its scale, and the words that stand for a draw and for a gradient."""

    noisy: frozenset[ast.stmt]
    noise: frozenset[str]
    gradient: frozenset[str]


class CodeText(SourceText):
    """The functions of a file, on the lines that were run; `options` are what the code is made or called with.

    `sizes` are numbers that its loss may lack, such as that of its data.
    """

    def __init__(
        self, text: str, lines: Collection[int], options: Sequence[str], sizes: Sequence[str] = ()
    ) -> None:
        super().__init__(text)
        self.lines, self.options, self.sizes = lines, options, sizes
        self.foreign: set[str] = set()
        self.functions = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef) and any(item.lineno in lines for item in node.body)
        ]

    def _draws(self, node: ast.AST) -> bool:
        """Does an expression or a statement draw?"""
        return any(called(part) in DRAWS for part in ast.walk(node))

    def _parts(self, function: ast.FunctionDef) -> Parts:
        """What the statements of a function and the names that it assigns belong to."""
        statements = [
            node
            for node in ast.walk(function)
            if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Return)
        ]
        draws, gradients = (self._holding(statements, words) for words in (DRAWS, ("grad",)))
        # What is made of both is a state, and its factors are those of neither.
        noise, gradient = draws - gradients, gradients - draws
        scales: set[str] = set()
        for node in ast.walk(function):
            words = _handled(node) if isinstance(node, ast.Call) or is_product(node) else set()
            if words & {*DRAWS, *noise} and not words & {"grad", *gradient}:
                scales |= words
        noisy = {
            node
            for node in statements
            if words_of(node) & {*DRAWS, *noise}
            or (isinstance(node, ast.Assign) and _computed(node.value) and words_of(node.targets[0]) & scales)
        }
        return Parts(frozenset(noisy), frozenset({*DRAWS, *noise}), frozenset({"grad", *gradient}))

    def _holding(self, statements: Sequence[ast.stmt], words: Collection[str]) -> set[str]:
        """The names that hold what is made of these words; a name that is assigned from itself is a state."""
        held: set[str] = set()
        for _ in range(3):
            for node in statements:
                if isinstance(node, ast.Assign) and words_of(node.value) & {*words, *held}:
                    targets = {part.id for part in ast.walk(node.targets[0]) if isinstance(part, ast.Name)}
                    held |= targets - words_of(node.value)
        return held

    def _kind(self, node: ast.AST, parts: Parts) -> Kind:
        """Whose factor an expression is: of the noise where a draw stands in its call, else of the gradient where that does."""
        place: ast.AST | None = node
        while place is not None and not isinstance(place, ast.stmt):
            words = _handled(place)
            noise, gradient = bool(words & parts.noise), bool(words & parts.gradient)
            if noise or gradient:
                return "factor" if noise and gradient else "noise" if noise else "gradient"
            if is_sum(self.parents.get(place)):
                # What it is added to has factors of its own.
                return "factor"
            place = self.parents.get(place)
        return "noise" if place in parts.noisy else "factor"

    def _numbers(self, function: ast.FunctionDef, nodes: Sequence[ast.AST]) -> list[str]:
        """The numbers that a function knows, as it spells them: its arguments, entries of its group, and what it made of these."""
        found = dict.fromkeys(["2", *(name for name in self._known(function) if name in self.options)])
        for node in nodes:
            key = getattr(getattr(node, "slice", None), "value", None)
            if isinstance(node, ast.Attribute) and self.of(node.value) == "self":
                key = node.attr
            factor = (
                isinstance(node, ast.Name) and is_product(self.parents.get(node)) and node.id not in TENSORS
            )
            if factor or (isinstance(key, str) and key in self.options):
                found[self.of(node)] = None
        # Numbers that the file knows, such as that of its data.
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                number = type(node.value.value) in (int, float)
                found.update(
                    {part.id: None for part in node.targets if number and isinstance(part, ast.Name)}
                )
        found.update(dict.fromkeys(self.sizes))
        self.foreign |= {
            name for name in found if name != "2" and not any(option in name for option in self.options)
        }
        group = self._group(function)
        if group:
            for option in self.options:
                if not any(option in word for word in found):
                    found[f"{group}['{option}']"] = None
        # One spelling of one number: the local name of an option of the group.
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                value = node.value
                values = value.elts if isinstance(value, ast.Tuple) else [value]
                targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
                for target, part in zip(targets, values, strict=False):
                    if self.of(part) in found and isinstance(target, ast.Name):
                        found.pop(self.of(part))
                        found[target.id] = None
                        self.foreign.discard(target.id)
        return list(found)

    def _known(self, function: ast.FunctionDef) -> set[str]:
        arguments = function.args
        return {item.arg for item in (*arguments.args, *arguments.kwonlyargs)}

    def _group(self, function: ast.FunctionDef) -> str:
        """The name of the loop's variable over the groups of parameters."""
        for node in ast.walk(function):
            if isinstance(node, ast.For) and "param_groups" in self.of(node.iter):
                names = [part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)]
                return names[-1]
        return ""

    def _is_value(self, node: ast.expr) -> bool:
        parent = self.parents.get(node)
        if isinstance(parent, ast.UnaryOp) or (
            isinstance(parent, ast.Assign) and not is_product(node) and not self.is_root(node)
        ):
            return False
        if isinstance(node, ast.Constant) or isinstance(getattr(node, "ctx", None), ast.Store):
            return self.is_root(parent)
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow):
            return self.is_root(parent) and parent.left is node
        if isinstance(parent, ast.Call):
            argument = node in parent.args
            return argument and (
                called(parent) in ("sqrt", "add_", "add", "add_noise") or called(parent).endswith("_")
            )
        if isinstance(parent, ast.Tuple) and not isinstance(self.parents.get(parent), ast.Return):
            return False
        if isinstance(node, ast.Tuple) or not isinstance(
            parent, ast.keyword | ast.BinOp | ast.Assign | ast.AugAssign | ast.Return | ast.Tuple
        ):
            return False
        return not (isinstance(parent, ast.keyword) and parent.arg not in ("alpha", "value", "std"))


def _handled(node: ast.AST) -> set[str]:
    """The words of an expression; of a call those of its arguments: what it adds to is none of its factors."""
    if not isinstance(node, ast.Call):
        return words_of(node)
    return {called(node)}.union(*(words_of(part) for part in (*node.args, *node.keywords)))


def _computed(node: ast.AST) -> bool:
    """Is a value more than a name, an entry or several of these?"""
    return any(isinstance(part, ast.BinOp | ast.Call) for part in ast.walk(node))


def words_of(node: ast.AST) -> set[str]:
    """The names and attributes in an expression."""
    return {getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node)} - {""}
