"""Does an edit mend a scheme? Its local order is proved, and the exact checks that failed are asked again.

Two edits in two places that mend a step together, found by what each changes alone.

The difference E exp(xi . D) - sum_k h^k m_k(xi) of a step from exp(hL) has the leading coefficient c h, a vector over the xi. Two
edits of different terms of a step change c by amounts that add up: with the coefficients c of the wrong step, and a and b of
the steps with one edit each, both together leave a + b - c.
The pairs with a + b = c are found by a search tree and not by trying all pairs.
Where c = 0, the same holds of the coefficients of h^2 among the edits that leave c = 0.

Where a user's file declares a scheme, the decorator or the call of `word`; and an edit of the order that is claimed there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import floor
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from sgverify.advice.diagnosis.edits.rules import Candidate
from sgverify.advice.diagnosis.model import Edit
from sgverify.advice.diagnosis.screening import Difference
from sgverify.advice.diagnosis.source import Text, own_lines, shares_equally
from sgverify.checks.applicable_claims import judge_pair
from sgverify.checks.question import STATED
from sgverify.claims import find_claim
from sgverify.errors import DefinitionError, NotExpandableError, TooLargeError, UserError
from sgverify.evidence import Evidence
from sgverify.exact.rings.polynomials import check_time
from sgverify.exact.series.dimensions import Proved, prove_order
from sgverify.exact.series.local_order import compare_through
from sgverify.schemes import Scheme
from sgverify.schemes.compositions import read_coefficients
from sgverify.schemes.splittings import Word
from sgverify.subject.subject import Subject

SURE = ("proof", "exact", "quadrature")
"""The methods without samples."""

ALWAYS = (
    (STATED, "local-order"),
    ("chen2015/theorem-4", "stationary-bias"),
    ("chen2015/theorem-4", "covariance"),
)
"""What is asked of every edited scheme, whatever failed before."""

FEW_LENGTHS = [10, 100, 1000]
"""The lengths at which the questions of rates in L are illustrated."""


@dataclass(frozen=True)
class Passed:
    """What holds of an edited scheme: the proved local order, and how many exact checks conform; `every`: all that were asked."""

    order: Fraction
    at_least: bool
    conforming: int
    every: bool

    def __str__(self) -> str:
        order = f"order {'at least ' * self.at_least}{self.order}"
        return (
            f"{order} and everything conform"
            if self.every
            else f"{order}, and {self.conforming} exact checks conform"
        )


def failures(evidence: Sequence[Evidence]) -> list[Evidence]:
    """What failed; a printed claim that is refuted speaks against the paper, and not against the scheme."""
    return [item for item in evidence if item.outcome == "fail"]


def moves_early(subject: Subject) -> bool:
    """Whether the step moves below h^(1/2), or has no power series: then a term stands without its step size."""
    order = subject.order
    if isinstance(order, NotExpandableError):
        return not isinstance(order, TooLargeError)
    return order.given_minibatch is not None and order.given_minibatch.power < Fraction(1, 2)


def wrong_dimension(subject: Subject) -> int:
    """The dimension of proofs, or the one from which on the step is wrong where the proof found that."""
    order = subject.order
    return subject.proof_dimension if isinstance(order, NotExpandableError) else order.dim


def may_have_order(subject: Subject, scheme: Scheme, order: int) -> bool:
    """Whether the dimension in which the step is wrong has no difference through this order: a first part of `proved`."""
    try:
        found = compare_through(scheme, wrong_dimension(subject), order, at=subject.model_parameters)
    except (NotExpandableError, ArithmeticError, ValueError):
        return False
    given, start = found.given_minibatch, found.start
    return (given is None or given.power > order) and (start is None or start.power >= order)


def proved(subject: Subject, scheme: Scheme, order: int) -> Proved | None:
    """The proof that the scheme has at least this order, in every dimension that the subject asks for; None where it has not."""
    try:
        found = prove_order(scheme, subject.proof_dimension, subject.target.dim, at=subject.model_parameters)
    except (NotExpandableError, ArithmeticError, ValueError):
        return None
    everywhere = all(other.order >= order for other in found.order.elsewhere)
    reached = found.order.order >= order and everywhere and found.dimensions.covers([subject.target.dim])
    return found if reached else None


def asked_again(
    edited: Subject, asked: Mapping[tuple[str, str], float]
) -> Iterator[tuple[tuple[str, str], set[str]]]:
    """The outcomes of claims and checks of an edited scheme or code, those that took the fewest seconds first."""
    for pair in sorted(asked, key=asked.__getitem__):
        check_time()
        yield pair, {item.outcome for item in judge_pair(edited, find_claim(pair[0]), pair[1])}


def passes(subject: Subject, scheme: Scheme, proof: Proved, failed: Sequence[Evidence]) -> Passed | None:
    """What holds of the edited scheme where every check that failed without samples passes now; else None."""
    configuration = subject.configuration
    if configuration.sweep.lengths is None:
        # Verdicts of the exact engines come from expansions; the points that illustrate them cost most of the time.
        sweep = configuration.sweep.model_copy(update={"lengths": FEW_LENGTHS})
        configuration = configuration.model_copy(update={"sweep": sweep})
    edited = Subject(scheme, configuration, subject.reference, method="exact")
    # It is the proof that the edited subject would compute again.
    edited.__dict__["proved_order"] = proof
    conforming, every = 0, True
    seconds = {(item.claim, item.check): item.seconds for item in failed if item.method in SURE}
    asked = {**dict.fromkeys(ALWAYS, 0.0), **seconds}
    try:
        for pair, outcomes in asked_again(edited, asked):
            if "fail" in outcomes:
                return None
            if pair in seconds and "pass" not in outcomes:
                # What failed has to pass; left undecided it would be no mend that is known.
                return None
            conforming += "pass" in outcomes
            every = every and outcomes <= {"pass", "refuted", "not-applicable"}
    except UserError:
        # No step is stable, or the configured one is not: the edited scheme cannot be run as the user runs it.
        return None
    if not conforming:
        return None
    return Passed(proof.order.order, proof.order.given_minibatch is None, conforming, every)


CLOSE = 2e-4
"""The extrapolated coefficients are known to about h^2 = 2^-16, times a number of size 1; what passes is run together again."""

MOST = 400
"""The most pairs that are tried, those of one rule and the simplest ones first."""


@dataclass(frozen=True)
class TriedEdit:
    """An edit in one place and the difference of its step."""

    text: Text
    candidate: Candidate
    difference: Difference


def pairs(wrong: Difference, tried: Sequence[TriedEdit]) -> list[tuple[Text, Candidate]]:
    """The edits in two places of one text whose changes add up to the defect, those of one rule first."""
    found: dict[tuple[int, int], None] = {}
    first = wrong.coefficient(1)
    if np.abs(first).max() <= CLOSE:
        near = [k for k, item in enumerate(tried) if np.abs(item.difference.coefficient(1)).max() <= CLOSE]
        second = np.array([item.difference.coefficient(2) for item in tried])
        found.update(dict.fromkeys(_summing(second, wrong.coefficient(2), near)))
    coefficients = np.array([item.difference.coefficient(1) for item in tried])
    moving = np.abs(coefficients - first).max(axis=1, initial=0.0) > 10 * CLOSE if len(tried) else []
    found.update(dict.fromkeys(_summing(coefficients, first, list(np.flatnonzero(moving)))))
    both = [joined for one, other in found if (joined := _joined(tried[one], tried[other])) is not None]
    both.sort(key=lambda item: (item[1].cost, item[1].length))
    return both[:MOST]


def _summing(coefficients: np.ndarray, wrong: np.ndarray, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The pairs i < j among `places` with coefficients[i] + coefficients[j] = wrong."""
    if len(places) < 2:
        return
    own = coefficients[list(places)]
    sizes = np.maximum(1.0, np.abs(own).max(axis=1))
    usual = sizes < 1e6
    kept = [place for place, use in zip(places, usual, strict=True) if use]
    own = own[usual]
    tree = cKDTree(own)
    radius = CLOSE * np.maximum(1.0, np.abs(own).max(axis=1, initial=0.0))
    for i, near in zip(kept, tree.query_ball_point(wrong - own, radius, p=np.inf), strict=True):
        for k in near:
            if i < kept[k]:
                yield int(i), int(kept[k])


def _joined(one: TriedEdit, other: TriedEdit) -> tuple[Text, Candidate] | None:
    """Both edits as one; None where they touch one another or belong to different texts."""
    if one.text is not other.text:
        return None
    changes = sorted(
        (*one.candidate.changes, *other.candidate.changes), key=lambda change: (change.start, change.end)
    )
    if any(a.end >= b.start for a, b in pairwise(changes)):
        return None
    alike = one.candidate.rule == other.candidate.rule
    cost = one.candidate.cost + other.candidate.cost - alike
    rule = one.candidate.rule if alike else ("two", *one.candidate.rule, *other.candidate.rule)
    return one.text, Candidate(tuple(changes), cost, rule)


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
        return shares_equally(word)
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
