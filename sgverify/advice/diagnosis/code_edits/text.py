"""What the names of torch code stand for, and which of its expressions may lack a factor."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

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


class CodeText(SourceText):
    """The functions of a file, on the lines that were run; `options` are what the code is made or called with."""

    def __init__(self, text: str, lines: Collection[int], options: Sequence[str]) -> None:
        super().__init__(text)
        self.lines, self.options = lines, options
        self.foreign: set[str] = set()
        self.functions = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef) and any(item.lineno in lines for item in node.body)
        ]

    def _draws(self, node: ast.AST) -> bool:
        """Does an expression or a statement draw?"""
        return any(called(part) in DRAWS for part in ast.walk(node))

    def _noisy(self, function: ast.FunctionDef) -> set[ast.AST]:
        """The statements of a function in which a draw, or a name that holds one or scales one, stands."""
        held: set[str] = set()
        statements = [
            node
            for node in ast.walk(function)
            if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Return)
        ]
        found: set[ast.AST] = set()
        for _ in range(3):
            for node in statements:
                words = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
                if self._draws(node) or words & held:
                    found.add(node)
                    if isinstance(node, ast.Assign):
                        held |= {
                            part.id for part in ast.walk(node.targets[0]) if isinstance(part, ast.Name)
                        } - {"p", "theta", "w"}
        return found

    def _kind(self, node: ast.AST, noisy: Collection[ast.AST]) -> Kind:
        """Whose factor an expression is: of the noise where a draw stands in its call, else of the gradient where that does."""
        place: ast.AST | None = node
        while place is not None and not isinstance(place, ast.stmt):
            words = {getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(place)}
            if words & {*DRAWS, "noise", "z", "xi", "eps", "std", "sigma"}:
                return "noise"
            if words & {"grad", "d_p", "g_t"}:
                return "gradient"
            if is_sum(self.parents.get(place)):
                # What it is added to has factors of its own.
                return "factor"
            place = self.parents.get(place)
        return "noise" if place in noisy else "factor"

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
        self.foreign = {
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
        if isinstance(node, ast.Tuple) or not isinstance(
            parent, ast.keyword | ast.BinOp | ast.Assign | ast.AugAssign | ast.Return | ast.Tuple
        ):
            return False
        return not (isinstance(parent, ast.keyword) and parent.arg not in ("alpha", "value", "std"))
