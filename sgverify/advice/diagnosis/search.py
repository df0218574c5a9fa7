"""Which edit of a scheme's own text makes the proof of its order go through? The simplest one, of one place or of two."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from sgverify.advice.diagnosis.causes import required_order
from sgverify.advice.diagnosis.edits.candidates import candidates
from sgverify.advice.diagnosis.edits.expressions import Expressions
from sgverify.advice.diagnosis.edits.rules import RARE, USUAL, Candidate, Guidance, empties, plainness
from sgverify.advice.diagnosis.model import Cause, Edit
from sgverify.advice.diagnosis.screening import Difference, Screen
from sgverify.advice.diagnosis.source import Text, texts_of
from sgverify.advice.diagnosis.trial import (
    Passed,
    TriedEdit,
    declaration_of,
    may_have_order,
    moves_early,
    pairs,
    passes,
    proved,
    wrong_dimension,
)
from sgverify.errors import DefinitionError, SgverifyError
from sgverify.evidence import Evidence
from sgverify.exact.rings.polynomials import OutOfTimeError, check_time, limited
from sgverify.schemes import Scheme
from sgverify.subject.subject import Subject

FIRST_PART = 0.4
"""The processor time of one expansion of an edited step, in seconds: those of right steps take a quarter of it."""


@dataclass(frozen=True)
class Mend:
    """An edit under which proof and exact checks pass, with the scheme that it makes of the wrong one."""

    text: Text
    candidate: Candidate
    scheme: Scheme = field(repr=False)
    passed: Passed
    wrong: Scheme = field(repr=False)


Edits = list[tuple[Text, Candidate]]


@dataclass(frozen=True)
class _Screened:
    """Edits under which the step has one and the same law, as far as floats show; `difference` is None where nothing was run."""

    edits: Edits
    difference: Difference | None

    def order(self) -> tuple[float, int]:
        """The distance of the step from exp(hL), and up to rounding how plain its text is: of simple edits the first is taken."""
        size = self.difference.size if self.difference is not None else 0.0
        return float(f"{size:.6g}"), min(_plainness(*edit) for edit in self.edits)

    def plainest_first(self) -> Edits:
        """The edits, by how plain the edited text is."""
        return sorted(self.edits, key=lambda edit: (_plainness(*edit), edit[1].length))


def _plainness(text: Text, candidate: Candidate) -> int:
    edited = candidate.applied(text.text)
    return len(edited) if text.word else plainness(edited, text.clock) + 2 * len(candidate.changes)


class MendSearch:
    """The search for the simplest edit under which the proof of the scheme's order and the checks that failed pass.

    Of equally simple edits those come first that `cause` speaks for. It ends with the time of the context `limited`: `stopped`
    says that the time ended before every edit was tried, `tried` counts them, and `mend` is the edit.
    """

    def __init__(self, subject: Subject, failed: Sequence[Evidence], cause: Cause) -> None:
        self._subject, self._failed, self._cause = subject, failed, cause
        self._order = required_order(subject)
        self._screen = Screen(subject.scheme, self._order, wrong_dimension(subject))
        self._early = moves_early(subject)
        self._before = self._screen.difference(subject.scheme)
        self._wrong: set[tuple[float, ...]] = set()
        if self._before is not None and not self._before.passes:
            self._wrong.add(self._before.key)
        self._measured: list[TriedEdit] = []
        self._idle: Edits = []
        self._odd: Edits = []
        self.mend: Mend | None = None
        self.tried, self.stopped = 0, False

    def run(self) -> None:
        """Try the edits."""
        levels = self._levels()
        try:
            self.mend = next((mend for level in levels for mend in self._mends(level)), None)
            if self.mend is not None:
                self.mend = self._plainer(self.mend, next(levels, []))
        except OutOfTimeError:
            self.stopped = True
        self.stopped = self.stopped and self.mend is None

    def _plainer(self, mend: Mend, level: Edits) -> Mend:
        """An edit of the next level that makes the same law in plainer words, or the same one."""
        scale = _plainness(mend.text, mend.candidate)
        others = [*level, *self._idle]
        plainer = [edit for edit in others if not edit[0].word and _plainness(*edit) < scale]
        difference = self._screen.difference(mend.scheme) if plainer else None
        for screened in self._screened(plainer, late=True):
            if (
                difference is not None
                and screened.difference is not None
                and screened.difference.key == difference.key
            ):
                for text, candidate in screened.plainest_first():
                    passed = self._passed(text, candidate)
                    if passed is not None:
                        return Mend(text, candidate, *passed, self._subject.scheme)
        return mend

    def _levels(self) -> Iterator[Edits]:
        """The edits in groups of one cost, those that the cause speaks for first; then two edits that are right together alone."""
        single: dict[int, Edits] = {}
        for text in texts_of(self._subject.scheme):
            guidance = Guidance(self._cause.name, None if text.word else Expressions(text.text))
            for candidate in candidates(text):
                check_time()
                level = candidate.cost + (not guidance.speaks_for(candidate))
                single.setdefault(level, []).append((text, candidate))
        for level in range(min(single, default=0), max(single, default=0) + 1):
            yield single.get(level, [])
            if level > USUAL:
                yield self._idle
                self._idle = []
            if level == USUAL:
                yield [(text, both) for text, both in self._pairs() if both.rule[0] != "two"]
        yield self._idle
        yield self._pairs()
        yield self._odd

    def _pairs(self) -> Edits:
        return pairs(self._before, self._measured) if self._before is not None else []

    def _mends(self, level: Edits) -> Iterator[Mend]:
        """The edits of a level that are right, those nearest to exp(hL) first."""
        late = level is self._idle or level is self._odd
        for screened in sorted(self._screened(level, late), key=_Screened.order):
            for text, candidate in screened.plainest_first():
                check_time()
                passed = self._passed(text, candidate, level is self._odd)
                if passed is not None:
                    yield Mend(text, candidate, *passed, self._subject.scheme)

    def _screened(self, level: Edits, late: bool = False) -> list[_Screened]:
        """The edits of a level that floats do not refuse, those of one law together; `late`: those that leave something out too."""
        found: dict[tuple[float, ...] | int, _Screened] = {}
        for text, candidate in level:
            check_time()
            edited = candidate.applied(text.text)
            try:
                sketch = text.sketch(edited)
            except (SgverifyError, SyntaxError, ValueError):
                continue
            self.tried += 1
            difference = None
            if self._before is not None:
                difference = self._screen.difference(sketch)
                if difference is None:
                    continue
                if len(candidate.changes) == 1 and candidate.cost <= RARE:
                    self._measured.append(TriedEdit(text, candidate, difference))
                if difference.key in self._wrong:
                    continue
                if not difference.passes:
                    self._wrong.add(difference.key)
                    continue
            if not text.word and level is not self._odd and empties(edited) > empties(text.text):
                self._odd.append((text, candidate))
                continue
            if not text.word and not late and self._left_out(text.text, edited):
                self._idle.append((text, candidate))
                continue
            key = difference.key if difference is not None else len(found)
            found.setdefault(key, _Screened([], difference)).edits.append((text, candidate))
        return list(found.values())

    def _left_out(self, text: str, edited: str) -> bool:
        """Whether an edit leaves out an ingredient, a line or a memory that the user wrote: others come before it.

        A memory that is kept too long is what a right step does not read.
        """
        scheme = self._subject.scheme
        kept = self._cause.name in ("gradient-at-old-point", "old-value")
        unneeded = set(scheme.memory) if kept else set()
        if _used(text) - _used(edited) - unneeded:
            return True
        count = len(scheme.dynamics.state)
        before, after = (Expressions(item).arguments_of_state(count) for item in (text, edited))
        return bool((before - after) & set(scheme.memory) - unneeded)

    def _passed(self, text: Text, candidate: Candidate, late: bool = False) -> tuple[Scheme, Passed] | None:
        """The scheme of an edit with what holds of it, where proof and checks pass; `late`: nothing else is right."""
        try:
            made = text.made(candidate.applied(text.text))
        except DefinitionError:
            return None
        try:
            with limited(FIRST_PART):
                may = may_have_order(self._subject, made, self._order)
        except OutOfTimeError:
            # The square of a memory, say, has an expansion of millions of terms: the other edits still have their time.
            check_time()
            self.stopped = True
            return None
        if not may:
            return None
        if self._is_hidden(text, candidate):
            if self._early and candidate.rule == ("times", text.clock) and not late:
                # A term that forgot its step size is given it where nothing else is right.
                self._odd.append((text, candidate))
            if not (self._early and candidate.rule == ("times", text.clock) and late):
                return None
        proof = proved(self._subject, made, self._order)
        passed = None if proof is None else passes(self._subject, made, proof, self._failed)
        return None if passed is None else (made, passed)

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
    # A statement that is put in front of another one, and a name that the signature asks for, are named behind the expressions.
    further = [c for c in changes if c.start == c.end and ("\n" in c.new or c.new.startswith(", "))]
    for change in sorted(changes, key=lambda change: change.start):
        if change in further:
            continue
        node = read.shown(change.start, change.end)
        start, end = read.span(node) if node is not None else _line(text.text, change.start, change.end)
        inside = [c for c in changes if start <= c.start and c.end <= end]
        now = text.text[start:end]
        for c in sorted(inside, key=lambda c: -c.start):
            now = now[: c.start - start] + c.new + now[c.end - start :]
        if (start, end, now) not in pieces:
            pieces.append((start, end, now))
    first = text.text.count("\n", 0, min(c.start for c in changes if c not in further))
    before, after = _changed_lines(text.text.split("\n"), edited.split("\n"))
    return Edit(
        was=" and ".join(text.text[start:end] for start, end, _ in pieces),
        now=" and ".join(now for _, _, now in pieces)
        + "".join(", with " + part.new.strip(", \n") for part in further),
        before="\n".join(f"{text.margin}{line}" for line in before),
        after="\n".join(f"{text.margin}{line}" for line in after),
        achieves=achieves,
        file=text.file,
        line=None if text.line is None else text.line + first,
    )


def _changed_lines(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    """The lines of two texts that differ."""
    old: list[str] = []
    new: list[str] = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            old += before[a:b]
            new += after[c:d]
    return old, new


def _of_word(mend: Mend, edited: str, achieves: str) -> Edit:
    was, declared = mend.text.text, declaration_of(mend.wrong)
    node = None if declared is None else declared.letters_or_shares(mend.text.shares)
    if declared is None or node is None:
        return Edit(was, edited, was, edited, achieves)
    line, before, after = declared.edited(node, f'"{edited}"')
    return Edit(was, edited, before, after, achieves, declared.file, line)


def _line(text: str, start: int, end: int) -> tuple[int, int]:
    """The whole lines around a change, for one that is no part of one expression."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return first, len(text) if last < 0 else last
