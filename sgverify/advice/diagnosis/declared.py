"""Where a user's file declares a scheme, the decorator or the call of `word`; and an edit of the order that is claimed there."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor
from pathlib import Path

from sgverify.advice.diagnosis.model import Edit
from sgverify.advice.diagnosis.source import own_lines
from sgverify.advice.diagnosis.trial import passes
from sgverify.errors import DefinitionError, NotExpandableError
from sgverify.evidence import Evidence
from sgverify.schemes import Scheme
from sgverify.schemes.compositions import read_coefficients
from sgverify.schemes.splittings import Word
from sgverify.subject.subject import Subject


@dataclass(frozen=True)
class Declared:
    """The call that declares a scheme, in a file of these lines."""

    file: str
    lines: tuple[str, ...]
    call: ast.Call

    def letters_or_shares(self, shares: bool) -> ast.expr | None:
        """The word of a call of `word`, or its coefficients where these are one text; else None."""
        if not shares:
            return self.call.args[0]
        given = next((item.value for item in self.call.keywords if item.arg == "coefficients"), None)
        return given if isinstance(given, ast.Constant) and isinstance(given.value, str) else None

    def edited(self, node: ast.expr | ast.keyword, new: str) -> tuple[int, str, str]:
        """The line of a part of the call, as it stands and with `new` in the place of that part."""
        assert node.end_col_offset is not None
        before = self.lines[node.lineno - 1]
        # Columns of the parser count bytes of UTF-8.
        row = before.encode()
        after = row[: node.col_offset] + new.encode() + row[node.end_col_offset :]
        return node.lineno, before, after.decode()


def declaration_of(scheme: Scheme) -> Declared | None:
    """The one call that declares a scheme; None where there is no such file, or more than one call that may be it."""
    word = scheme.word
    functions = (
        [scheme.function] if word is None else [item.function for item in word.alphabet.letters.values()]
    )
    found: list[Declared] = []
    for file in dict.fromkeys(f.__code__.co_filename for f in functions if own_lines(f) is not None):
        if not Path(file).is_file():
            continue
        text = Path(file).read_text(encoding="utf-8")
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        calls = _words(tree, word) if word is not None else _decorators(tree, scheme)
        found += [Declared(file, tuple(text.split("\n")), call) for call in calls]
    return found[0] if len(found) == 1 else None


def _words(tree: ast.AST, word: Word) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "word"
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value == word.text
        and _has_shares(node, word)
    ]


def _has_shares(call: ast.Call, word: Word) -> bool:
    """Whether the coefficients of a call of `word` may be the word's."""
    given = next((item.value for item in call.keywords if item.arg == "coefficients"), None)
    if given is None:
        counts = Counter(word.text)
        return all(share * counts[letter] == 1 for letter, share in zip(word.text, word.shares, strict=True))
    if not (isinstance(given, ast.Constant) and isinstance(given.value, str)):
        return True
    try:
        return read_coefficients(word.text, given.value) == word.shares
    except DefinitionError:
        return False


def _decorators(tree: ast.AST, scheme: Scheme) -> list[ast.Call]:
    first = scheme.function.__code__.co_firstlineno
    return [
        decorator
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == scheme.function.__name__
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and decorator.lineno == first
    ]


def lower_claim(subject: Subject, failed: Sequence[Evidence]) -> tuple[Edit, Scheme] | None:
    """The edit that claims the order which a consistent method has, and the scheme with that claim; else None.

    The checks that failed pass then.
    """
    claimed, proof = subject.scheme.order, subject.proved_order
    if isinstance(proof, NotExpandableError) or claimed is None or not 1 <= proof.order.order < claimed:
        return None
    reached = floor(proof.order.order)
    lowered = replace(subject.scheme, order=reached)
    if passes(subject, lowered, proof, failed) is None:
        return None
    was, now = f"order={claimed}", f"order={reached}"
    file, line, before, after = None, None, was, now
    declared = declaration_of(subject.scheme)
    for keyword in () if declared is None else declared.call.keywords:
        value = keyword.value
        if keyword.arg == "order" and isinstance(value, ast.Constant) and value.value == claimed:
            assert declared is not None
            file = declared.file
            line, before, after = declared.edited(value, str(reached))
    edit = Edit(was, now, before, after, f"order {reached}", file, line, claim=True)
    return edit, lowered


__all__ = ["Declared", "declaration_of", "lower_claim"]
