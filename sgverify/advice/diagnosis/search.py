"""Which edit of a scheme's own text makes the proof of its order go through? The simplest one, of one place or of two."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sgverify.advice.diagnosis.candidates import candidates
from sgverify.advice.diagnosis.causes import required_order
from sgverify.advice.diagnosis.declared import declaration_of
from sgverify.advice.diagnosis.expressions import Expressions
from sgverify.advice.diagnosis.guidance import Guidance
from sgverify.advice.diagnosis.model import Cause, Edit
from sgverify.advice.diagnosis.pairs import Tried, pairs
from sgverify.advice.diagnosis.plainness import plainness
from sgverify.advice.diagnosis.rules import RARE, USUAL, Candidate
from sgverify.advice.diagnosis.screening import Difference, Screen
from sgverify.advice.diagnosis.source import Text, texts_of
from sgverify.advice.diagnosis.trial import (
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
from sgverify.exact.rings.time_limit import OutOfTimeError, check_time
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
    """The outcome of a search: the first mend, and how many edits were tried.

    `stopped`: the time ended before every edit was tried.
    """

    mend: Mend | None
    tried: int
    stopped: bool


def search(subject: Subject, failed: Sequence[Evidence], cause: Cause) -> SearchResult:
    """The simplest edit under which the proof of the scheme's order and the checks that failed pass.

    Of equally simple edits those come first that `cause` speaks for. The search ends with the time of the context `limited`.
    """
    return _Search(subject, failed, cause).found()


Edits = list[tuple[Text, Candidate]]


@dataclass(frozen=True)
class _Screened:
    """Edits under which the step has one and the same law, as far as floats show; `difference` is None where nothing was run."""

    edits: Edits
    difference: Difference | None

    @property
    def nearness(self) -> float:
        """The distance of the step from exp(hL): of equally simple edits the one with the smallest error is taken."""
        return self.difference.size if self.difference is not None else 0.0

    def plainest_first(self) -> Edits:
        """The edits, by how plain the edited text is."""
        return sorted(self.edits, key=lambda edit: (_plainness(*edit), edit[1].length))


def _plainness(text: Text, candidate: Candidate) -> int:
    edited = candidate.applied(text.text)
    return len(edited) if text.word else plainness(edited, text.clock) + 2 * len(candidate.changes)


class _Search:
    def __init__(self, subject: Subject, failed: Sequence[Evidence], cause: Cause) -> None:
        self._subject, self._failed, self._cause = subject, failed, cause
        self._order = required_order(subject)
        self._screen = Screen(subject.scheme, self._order, wrong_dimension(subject))
        self._early = moves_early(subject)
        self._before = self._screen.difference(subject.scheme)
        self._wrong: set[tuple[float, ...]] = set()
        if self._before is not None and not self._before.passes:
            self._wrong.add(self._before.key)
        self._measured: list[Tried] = []
        self._idle: Edits = []
        self._tried = 0

    def found(self) -> SearchResult:
        """The outcome."""
        mend = None
        try:
            mend = next((mend for level in self._levels() for mend in self._mends(level)), None)
        except OutOfTimeError:
            return SearchResult(None, self._tried, True)
        return SearchResult(mend, self._tried, False)

    def _levels(self) -> Iterator[Edits]:
        """The edits in groups of one cost, those that the cause speaks for first; then two edits that are right together alone."""
        single: dict[tuple[int, bool], Edits] = {}
        for text in texts_of(self._subject.scheme):
            guidance = Guidance(self._cause.name, None if text.word else Expressions(text.text))
            for candidate in candidates(text):
                check_time()
                key = (candidate.cost, not guidance.speaks_for(candidate))
                single.setdefault(key, []).append((text, candidate))
        costs = sorted({cost for cost, _ in single})
        for cost in costs:
            for key in ((cost, False), (cost, True)):
                yield single.get(key, [])
            if cost == USUAL:
                yield [(text, both) for text, both in self._pairs() if both.rule[0] != "two"]
            if cost == RARE:
                yield self._pairs()
        yield self._idle

    def _pairs(self) -> Edits:
        return pairs(self._before, self._measured) if self._before is not None else []

    def _mends(self, level: Edits) -> Iterator[Mend]:
        """The edits of a level that are right, those nearest to exp(hL) first."""
        for screened in sorted(self._screened(level), key=lambda item: item.nearness):
            for text, candidate in screened.plainest_first():
                check_time()
                passed = self._passed(text, candidate)
                if passed is not None:
                    yield Mend(text, candidate, *passed, self._subject.scheme)
            if screened.difference is not None:
                self._wrong.add(screened.difference.key)

    def _screened(self, level: Edits) -> list[_Screened]:
        """The edits of a level that floats do not refuse, those of one law together."""
        found: dict[tuple[float, ...] | int, _Screened] = {}
        memory = self._subject.scheme.memory.keys()
        for text, candidate in level:
            check_time()
            edited = candidate.applied(text.text)
            try:
                sketch = text.sketch(edited)
            except (SgverifyError, SyntaxError, ValueError):
                continue
            self._tried += 1
            difference = None
            if self._before is not None:
                difference = self._screen.difference(sketch)
                if difference is None:
                    continue
                if len(candidate.changes) == 1:
                    self._measured.append(Tried(text, candidate, difference))
                if difference.key in self._wrong:
                    continue
                if not difference.passes:
                    self._wrong.add(difference.key)
                    continue
            if not text.word and level is not self._idle and _used(text.text) - _used(edited) - memory:
                # It leaves out an ingredient or a line that the user wrote: a mend only where there is no other. What a memory
                # kept too long is not read by a right step.
                self._idle.append((text, candidate))
                continue
            key = difference.key if difference is not None else len(found)
            found.setdefault(key, _Screened([], difference)).edits.append((text, candidate))
        return list(found.values())

    def _passed(self, text: Text, candidate: Candidate) -> tuple[Scheme, Passed] | None:
        """The scheme of an edit with what holds of it, where proof and checks pass."""
        try:
            made = text.made(candidate.applied(text.text))
        except DefinitionError:
            return None
        if not may_have_order(self._subject, made, self._order) or self._is_hidden(text, candidate):
            return None
        proof = proved(self._subject, made, self._order)
        passed = None if proof is None else passes(self._subject, made, proof, self._failed)
        return None if passed is None else (made, passed)

    def _is_hidden(self, text: Text, candidate: Candidate) -> bool:
        """Whether the proof passes as well with twice the expression that an edit writes.

        Then the edit moves a wrong term to a power of h that the proof does not see: sqrt(2 h) (2 h - s) z has the variance
        2 h + O(h^2) for s^2 = 1, and so has sqrt(2 h) (4 h - s) z. What is right, the proof determines with its number. A term
        that forgot its step size is given it without more ado.
        """
        if text.word or candidate.rule[0] in ("without summand", "order"):
            return False
        if self._early and candidate.rule == ("times", text.clock):
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
