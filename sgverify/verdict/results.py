"""What does `verify` return? Evidence that shows itself: an outcome, a screen of text, a table, a picture, a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeVar, overload

from sgverify.checks.progress import raised_on
from sgverify.errors import COLUMNS, UserError, printable
from sgverify.evidence import Evidence, Table, whole_outcome
from sgverify.evidence.crash import Crash
from sgverify.keeping.stopping import late
from sgverify.report.forms.result import Exhibit, Result
from sgverify.report.rate_plot import draw_rate, rate_to_draw
from sgverify.report.wording import (
    method_text,
)
from sgverify.subject.subject import Subject
from sgverify.user_code import own_code
from sgverify.verdict.asking import Enquiry
from sgverify.verdict.findings import (
    MATTERS,
    Finding,
    consequences,
    findings_of,
    folded,
    gradient_of,
    matter_of,
    place_in_lines,
    said,
)
from sgverify.verdict.rate_result import RateResult

if TYPE_CHECKING:
    from sgverify.advice.diagnosis.model import Diagnosis
    from sgverify.advice.size.model import HowLarge
    from sgverify.evidence import Provenance
    from sgverify.evidence.storage import WholeAnswer
    from sgverify.report.picture import Picture
    from sgverify.verdict.block import ClosingBlock
    from sgverify.verdict.untested import Untried

Answer = TypeVar("Answer")

_KIND = 6
_HANGING = " " * (2 + _KIND)
"""The columns of a gradient estimator beside the lines of its bias, and the indent of what does not fit a line."""


class Results(Sequence[Evidence], Result):
    """The answers of `verify`: a sequence of `Evidence` with one outcome.

    >>> import sgverify
    >>> results = sgverify.verify("sgld-euler", checks=["local-order"])
    >>> results.passed, results.outcome, len(results)
    (True, 'pass', 1)
    """

    def __init__(self, evidence: Sequence[Evidence], enquiry: Enquiry | None = None) -> None:
        self._evidence = tuple(evidence)
        self._enquiry = enquiry

    @overload
    def __getitem__(self, place: int) -> Evidence: ...
    @overload
    def __getitem__(self, place: slice) -> Results: ...
    def __getitem__(self, place: int | slice) -> Evidence | Results:
        if isinstance(place, slice):
            return Results(self._evidence[place], self._enquiry)
        return self._evidence[place]

    def __len__(self) -> int:
        return len(self._evidence)

    def __iter__(self) -> Iterator[Evidence]:
        return iter(self._evidence)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Results) and self._evidence == other._evidence

    __hash__ = None  # type: ignore[assignment]

    @property
    def outcome(self) -> str:
        """The outcome of the whole answer: pass, fail or undecided."""
        return whole_outcome(self._evidence)

    @property
    def passed(self) -> bool:
        """Is the outcome pass: something passes, nothing fails and nothing is undecided?"""
        return self.outcome == "pass"

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """The cause of a failure and the edit that mends it.

        None for another outcome, for stored evidence, and where the search ended with an exception, which `verdict` shows.
        """
        return None if isinstance(self._diagnosed, Crash) else self._diagnosed

    @cached_property
    def _diagnosed(self) -> Diagnosis | Crash | None:
        if self.outcome != "fail" or self._enquiry is None:
            return None
        from sgverify.advice.diagnosis.diagnosing import diagnose

        return _attempted(partial(diagnose, self._enquiry.subject, self._evidence))

    @cached_property
    def how_large(self) -> dict[str, HowLarge]:
        """How large the bias is at the configured step size, by gradient estimator; none for a failure, nor where it is unknown."""
        return {kind: size for kind, size in self._sizes.items() if not isinstance(size, Crash)}

    @cached_property
    def _sizes(self) -> dict[str, HowLarge | Crash]:
        if self.outcome == "fail" or self._enquiry is None:
            return {}
        from sgverify.advice.size.finding import how_large

        found: dict[str, HowLarge | Crash] = {}
        for subject in self._enquiry.subjects:
            size = _attempted(partial(how_large, subject))
            if size is not None:
                found[subject.configuration.gradient.kind] = size
        return found

    @cached_property
    def _contraction(self) -> str | None:
        """The certificate at the configured step for every potential with the curvatures of the target's, where there is one."""
        if self.outcome != "pass" or self._enquiry is None:
            return None
        from sgverify.advice.certified.asking import contraction_told

        return contraction_told(self._enquiry.subject)

    @property
    def _unsized(self) -> tuple[Untried, ...]:
        """The question how large the bias is, where no method answers it."""
        from sgverify.verdict.untested import Untried

        if self.outcome == "fail" or self._sizes:
            return ()
        if late():
            return (Untried(f"how large the bias is: {late()}"),)
        composite = self._enquiry is None or self._enquiry.subject.composite is not None
        asked = "" if composite else " (--set how_large=run)"
        return (
            Untried(f"how large the bias is: no exact law, grid or Gaussian approximation reaches it{asked}"),
        )

    @cached_property
    def answer(self) -> WholeAnswer:
        """The same as plain data: outcome, cause and mend, how large the bias is, what was not tested."""
        from sgverify.evidence.storage import StoredEdit, WholeAnswer

        found = self.diagnosis
        edit = None if found is None else found.edit
        return WholeAnswer(
            whole_outcome(self),
            tuple(map(str, self.verdict.untested)),
            None if found is None else found.cause.sentence,
            None if found is None else found.cause.name,
            None if edit is None else StoredEdit(edit.file, edit.line, edit.was, edit.now, edit.achieves),
            tuple(size.document() for size in self.how_large.values()),
        )

    @cached_property
    def verdict(self) -> ClosingBlock:
        """The block that ends the answer of the command line."""
        from sgverify.verdict.block import ClosingBlock
        from sgverify.verdict.untested import untested

        scheme = self._evidence[0].scheme if self._evidence else "nothing"
        enquiry = self._enquiry
        if enquiry is None:
            return ClosingBlock(scheme, self._evidence)
        return ClosingBlock(
            enquiry.subject.reference,
            self._evidence,
            enquiry.subject,
            (*untested(enquiry, self._evidence), *self._unsized),
            self._diagnosed,
            tuple(self._sizes.items()),
            self._contraction,
        )

    def details(self, width: int = COLUMNS) -> list[str]:
        """The lines that the whole text has beyond findings and block: every number on the bias, and all that was not tested."""
        found = [f"  {kind:<{_KIND}}{line}" for kind, size in self.how_large.items() for line in size.lines()]
        lines = ["How large is the bias?", *found] if found else []
        if self.verdict.untested:
            lines += ["What was not tested?", *(f"  {item}" for item in self.verdict.untested)]
        return [part for line in lines for part in wrap(line, width, subsequent_indent=_HANGING)]

    def text(self, width: int = COLUMNS, *, everything: bool = False) -> str:
        """What `sgverify verify` prints: the findings in three groups, and the block; with `everything` as by `--all`."""
        from sgverify.verdict.lines import Lines, introduced

        enquiry = self._enquiry
        scheme = self.verdict.scheme
        lines = Lines(scheme, width, everything)
        told = sorted(self, key=lambda item: place_in_lines(item.check))
        findings = [*lines.tell(told), *lines.end()]
        if everything:
            findings += self.details(width)
        heading = [] if enquiry is None else [introduced(scheme, enquiry.subject.scheme)]
        text = "\n".join([*heading, *findings, "", *self.verdict.lines(width)])
        return "\n".join(map(printable, text.split("\n")))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"{self.verdict.text()}\n  {len(self)} answers; results.to_dataframe() shows each"

    @property
    def exhibit(self) -> Exhibit:
        """A table of the findings on each matter, and the curve of the rate that is drawn."""
        drawn = rate_to_draw(self)
        panels = () if drawn is None else RateResult.of(drawn).exhibit.panels
        tables = []
        for matter, question in MATTERS.items():
            findings = folded(findings_of(item for item in self if matter_of(item) == matter))
            if findings:
                tables.append(Table(question, HEADS, tuple(map(_cells, findings))))
        block = self.verdict
        rows = dict(block.rows())
        told = (f"{block.outcome}  {block.scheme}: {block.finding}", rows.get("settings"))
        return Exhibit(
            tuple(tables),
            panels,
            settings=". ".join(filter(None, told)),
            notes=tuple(map(str, block.untested)),
        )

    def records(self) -> list[dict[str, Any]]:
        """One row for each piece of evidence: outcome, scheme, claim, check, gradient, exponents, method, reason, seconds."""
        same = ("outcome", "scheme", "claim", "check", "method", "verdict", "reason", "seconds", "id")
        return [
            {
                **{name: getattr(item, name) for name in same},
                "gradient": gradient_of(item),
                "predicted": item.predicted.exponent,
                "found": item.found.exponent,
            }
            for item in self
        ]

    def picture(self) -> Picture:
        """The picture of one rate, a failing one if there is any.

        Raises `UserError` where nothing of the answer is a rate with points.
        """
        drawn = rate_to_draw(self)
        if drawn is None:
            raise UserError("plot: nothing of this answer is a rate in h or L with points to draw")
        return draw_rate(drawn)

    def save(self, path: str | Path) -> None:
        """Write evidence and answer as JSON, in the form of `sgverify verify --json FILE`."""
        from sgverify.evidence import Provenance, write_evidence

        provenance = Provenance.gather(command="sgverify.verify", seconds=self._seconds)
        write_evidence(path, self._evidence, provenance, self.answer)

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """What was judged: the scheme under each gradient estimator; empty for stored evidence."""
        return () if self._enquiry is None else self._enquiry.subjects

    def write_page(self, path: str | Path, provenance: Provenance | None = None) -> None:
        """Write the whole answer as one HTML page that opens from disk: verdict, step, findings, rates, costs, evidence.

        Raises `UserError` where the file cannot be written.
        """
        from sgverify.evidence import Provenance
        from sgverify.keeping.files import write_atomically
        from sgverify.verdict.page import render_answer

        made = provenance or Provenance.gather(command="sgverify.verify", seconds=self._seconds)
        page = render_answer(self.verdict, self.subjects, self.how_large, made, _attempted)
        write_atomically(path, page)

    def write_badge(self, path: str | Path) -> None:
        """Write the outcome as a badge, an SVG of text. Raises `UserError` where the file cannot be written."""
        from sgverify.keeping.files import write_atomically
        from sgverify.verdict.page import badge_of

        write_atomically(path, badge_of(self.verdict))

    @property
    def _seconds(self) -> float:
        return round(sum(item.seconds for item in self), 3)


HEADS = ("outcome", "check", "gradients", "finding", "method")


def _cells(finding: Finding) -> tuple[str, ...]:
    item = finding.first
    kinds = ", ".join(dict.fromkeys(map(gradient_of, finding.evidence)))
    inside = f" ({consequences(finding.folded)})" if finding.folded else ""
    return (item.outcome, item.check, kinds, said(item) + inside, method_text(item))


def _attempted(question: Callable[[], Answer]) -> Answer | Crash | None:
    """The answer to a question beside the verdict, or the exception that it ended with: the verdict stands without the answer.

    None where the time of the command has ended.
    """
    try:
        if late():
            return None
        # The user's code may not print on stdout.
        with own_code():
            return question()
    except KeyboardInterrupt:
        if not late():
            raise
        return None
    except Exception as error:
        if raised_on():
            raise
        return Crash.of(error)
