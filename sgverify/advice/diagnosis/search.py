"""Which edit of a scheme's own text makes the proof of its order go through? The simplest one, of one place or of two."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any

from sgverify.advice.diagnosis.candidates import candidates
from sgverify.advice.diagnosis.causes import required_order
from sgverify.advice.diagnosis.declared import declaration_of
from sgverify.advice.diagnosis.expressions import Expressions
from sgverify.advice.diagnosis.model import Edit
from sgverify.advice.diagnosis.rules import NUMBERS, SIMPLE, Candidate
from sgverify.advice.diagnosis.screening import Difference, Screen
from sgverify.advice.diagnosis.source import Text, texts_of
from sgverify.advice.diagnosis.trial import (
    OutOfTimeError,
    Passed,
    may_have_order,
    moves_early,
    passes,
    proved,
    wrong_dimension,
)
from sgverify.checks.subject.subject import Subject
from sgverify.errors import DefinitionError, SgverifyError
from sgverify.evidence import Evidence
from sgverify.exact.series.dimensions import Proved
from sgverify.schemes import Scheme


@dataclass(frozen=True)
class Mend:
    """An edit under which proof and exact checks pass, with the scheme that it makes of the wrong one."""

    text: Text
    candidate: Candidate
    scheme: Scheme = field(repr=False)
    passed: Passed
    wrong: Scheme = field(repr=False)


@dataclass(frozen=True)
class SearchResult:
    """The outcome of a search: the first mend, how many other edits as simple pass the proof, how many were tried.

    `stopped`: the time ended before every edit was tried.
    """

    mend: Mend | None
    alternatives: int
    tried: int
    stopped: bool


def search(subject: Subject, failed: Sequence[Evidence], seconds: float) -> SearchResult:
    """The simplest edit under which the proof of the scheme's order and the checks that failed pass.

    The search ends after `seconds` of processor time.
    """
    return _Search(subject, failed, seconds).found()


@dataclass(frozen=True)
class _Proved:
    text: Text
    candidate: Candidate
    scheme: Scheme
    proof: Proved
    difference: Difference | None


class _Search:
    def __init__(self, subject: Subject, failed: Sequence[Evidence], seconds: float) -> None:
        self._subject = subject
        self._failed = failed
        self._order = required_order(subject)
        self._end = time.process_time() + seconds
        # The wrong scheme's own proof tells how long one takes, until one has run to its end.
        self._longest = max((item.seconds for item in failed if item.method == "proof"), default=0.0)
        self._screen = Screen(subject.scheme, self._order, wrong_dimension(subject))
        self._early = moves_early(subject)
        before = self._screen.difference(subject.scheme)
        # A metric, or a dynamics of positive states: no edit is dropped by floats then.
        self._by_floats = before is not None
        self._known = {before.key} if before is not None and not before.passes else set()
        self._tried = 0
        self._idle: list[tuple[Text, Candidate]] = []

    def found(self) -> SearchResult:
        """The outcome."""
        alternatives, stopped = 0, False
        mend = None
        try:
            for level in self._levels():
                passing = sorted(self._proved(level), key=_nearness)
                for place, item in enumerate(passing):
                    passed = passes(self._subject, item.scheme, item.proof, self._failed, self._in_time)
                    if passed is not None:
                        mend = Mend(item.text, item.candidate, item.scheme, passed, self._subject.scheme)
                        alternatives = len(passing) - place - 1
                        break
                if mend is not None:
                    break
        except OutOfTimeError:
            stopped = True
        return SearchResult(mend, alternatives, self._tried, stopped)

    def _in_time(self, needed: float = 0.0) -> None:
        """Raise `OutOfTimeError` where less processor time is left than is needed."""
        if time.process_time() + needed > self._end:
            raise OutOfTimeError

    def _levels(self) -> Iterator[list[tuple[Text, Candidate]]]:
        """The edits in groups of one cost: those of one place, and the same mistake in two places."""
        single = [
            (text, candidate) for text in texts_of(self._subject.scheme) for candidate in candidates(text)
        ]
        single.sort(key=lambda item: (item[1].cost, item[1].length))
        yield [item for item in single if item[1].cost == SIMPLE]
        levels: dict[int, list[tuple[Text, Candidate]]] = {}
        for text, candidate in chain(single, _twice(single)):
            self._in_time()
            if candidate.cost > SIMPLE:
                levels.setdefault(candidate.cost, []).append((text, candidate))
        for cost in sorted(levels):
            yield sorted(levels[cost], key=lambda item: item[1].length)
        yield self._idle

    def _proved(self, level: Iterable[tuple[Text, Candidate]]) -> Iterator[_Proved]:
        for text, candidate in level:
            self._in_time()
            edited = candidate.applied(text.text)
            try:
                sketch = text.sketch(edited)
            except (SgverifyError, SyntaxError):
                continue
            self._tried += 1
            difference = self._screen.difference(sketch) if self._by_floats else None
            key: tuple[float, ...] | None = None
            if self._by_floats:
                if difference is None:
                    continue
                key = difference.key
                if key in self._known:
                    continue
                if not difference.passes:
                    self._known.add(key)
                    continue
            memory = self._subject.scheme.memory.keys()
            if not text.word and level is not self._idle and _used(text.text) - _used(edited) - memory:
                # It leaves out an ingredient or a line that the user wrote: a mend only where there is no other. What a memory
                # kept too long is not read by a right step.
                self._idle.append((text, candidate))
                continue
            try:
                made = text.made(edited)
            except DefinitionError:
                continue
            if not may_have_order(self._subject, made, self._order):
                continue
            if not self._early and self._is_hidden(text, candidate):
                continue
            self._in_time(self._longest)
            started = time.process_time()
            proof = proved(self._subject, made, self._order)
            self._longest = max(self._longest, time.process_time() - started)
            if proof is not None:
                if key is not None:
                    self._known.add(key)
                yield _Proved(text, candidate, made, proof, difference)

    def _is_hidden(self, text: Text, candidate: Candidate) -> bool:
        """Whether the proof passes as well with twice the expression that an edit writes.

        Then the edit moves a wrong term to a power of h that the proof does not see: sqrt(2 h) (2 h - s) z has the variance
        2 h + O(h^2) for s^2 = 1, and so has sqrt(2 h) (4 h - s) z. What is right, the proof determines with its number.
        """
        if text.word or candidate.rule[0] in ("without summand", "order"):
            return False
        edited = candidate.applied(text.text)
        read = Expressions(edited)
        for start, end in candidate.written:
            node = read.factor_at(start, end)
            if node is None:
                continue
            first, last = read.span(node)
            doubled = f"{edited[:first]}(2*({edited[first:last]})){edited[last:]}"
            try:
                made = text.made(doubled)
            except DefinitionError:
                continue
            if may_have_order(self._subject, made, self._order):
                return True
        return False


def _nearness(item: _Proved) -> float:
    """The distance of the step from exp(hL): of equally simple edits the one with the smallest error is taken."""
    return item.difference.size if item.difference is not None else 0.0


def _twice(single: Sequence[tuple[Text, Candidate]]) -> Iterator[tuple[Text, Candidate]]:
    """The same edit in two places of a text where the same stands, up to the names of variables."""
    groups: dict[tuple[Any, ...], list[tuple[Text, Candidate]]] = {}
    read: dict[int, Expressions] = {}
    for text, candidate in single:
        if not text.word:
            if id(text) not in read:
                read[id(text)] = Expressions(text.text)
            known = read[id(text)]
            (change,) = candidate.changes
            node = known.shown(change.start, change.end)
            surroundings = (
                "" if node is None else re.sub(r"[a-zA-Z_]\w*(?![\w(])", _anonymous, known.of(node))
            )
            groups.setdefault((id(text), candidate.rule, surroundings), []).append((text, candidate))
    for members in groups.values():
        for (text, one), (_, other) in combinations(members, 2):
            (a,), (b,) = one.changes, other.changes
            if a.end <= b.start or b.end <= a.start:
                changes = (*one.changes, *other.changes)
                yield text, Candidate(changes, one.cost + 1, one.rule)


def _anonymous(found: re.Match[str]) -> str:
    name = found.group()
    return name if name in NUMBERS else "_"


def _used(text: str) -> set[str]:
    """The names that a text reads."""
    tree = ast.parse(text)
    return {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def shown(mend: Mend) -> Edit:
    """The edit as it is shown: the changed expression, the lines around it, and their place in the file."""
    text, changes = mend.text, mend.candidate.changes
    achieves = str(mend.passed)
    edited = mend.candidate.applied(text.text)
    if text.word:
        return _of_word(mend, edited, achieves)
    read = Expressions(text.text)
    pieces = []
    for change in sorted(changes, key=lambda change: change.start):
        node = read.shown(change.start, change.end)
        start, end = read.span(node) if node is not None else _line(text.text, change.start, change.end)
        inside = [c for c in changes if start <= c.start and c.end <= end]
        now = text.text[start:end]
        for c in sorted(inside, key=lambda c: -c.start):
            now = now[: c.start - start] + c.new + now[c.end - start :]
        if (start, end, now) not in pieces:
            pieces.append((start, end, now))
    first = text.text.count("\n", 0, min(c.start for c in changes))
    last = text.text.count("\n", 0, max(c.end for c in changes))
    before = text.text.split("\n")[first : last + 1]
    grown = edited.count("\n") - text.text.count("\n")
    after = edited.split("\n")[first : last + 1 + grown]
    return Edit(
        was=" and ".join(text.text[start:end] for start, end, _ in pieces),
        now=" and ".join(now for _, _, now in pieces),
        before="\n".join(f"{text.margin}{line}" for line in before),
        after="\n".join(f"{text.margin}{line}" for line in after),
        achieves=achieves,
        file=text.file,
        line=None if text.line is None else text.line + first,
    )


def _of_word(mend: Mend, edited: str, achieves: str) -> Edit:
    word, declared = mend.text.text, declaration_of(mend.wrong)
    if declared is None:
        return Edit(word, edited, word, edited, achieves)
    line, before, after = declared.edited(declared.call.args[0], f'"{edited}"')
    return Edit(word, edited, before, after, achieves, declared.file, line)


def _line(text: str, start: int, end: int) -> tuple[int, int]:
    """The whole lines around a change, for one that is no part of one expression."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return first, len(text) if last < 0 else last


__all__ = ["Mend", "SearchResult", "search", "shown"]
