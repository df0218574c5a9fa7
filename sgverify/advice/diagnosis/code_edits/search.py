"""Which edit of a line of somebody's torch code makes it right? The file is edited in memory, loaded again and judged again."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, cast

import numpy as np

from sgverify.advice.diagnosis.code_edits.candidates import CodeEdit, CodeEdits
from sgverify.advice.diagnosis.measured_terms.generator import due_law
from sgverify.advice.diagnosis.measured_terms.response import out_of_balance, response_cause
from sgverify.advice.diagnosis.model import Cause, Edit
from sgverify.advice.diagnosis.source import replaced
from sgverify.advice.diagnosis.trial import asked_again
from sgverify.checks.applicable_claims import judge_pair
from sgverify.checks.order.own_loss import call_error
from sgverify.claims import find_claim
from sgverify.code_files import place_in
from sgverify.errors import SgverifyError
from sgverify.evidence import Evidence
from sgverify.exact.rings.polynomials import OutOfTimeError, check_time
from sgverify.law.own_dynamics import SETTINGS
from sgverify.schemes.torch_step import TorchStep
from sgverify.subject.binding import make_subject
from sgverify.subject.composite import TorchSubject
from sgverify.user_code import LOADED, edited

WRONG_PART: dict[str, tuple[str, ...]] = {
    "diffusion-scaled": ("noise",),
    "diffusion-power-of-h": ("noise",),
    "temperature-missing": ("noise",),
    "temperature-misplaced": ("noise",),
    "noise-missing": ("noise", "steps"),
    "noise-law": ("noise",),
    "drift-scaled": ("gradient", "noise", "state"),
    "state-changed": ("state",),
    "data-scaling": ("gradient", "factor"),
    "prior-scaled": ("gradient", "factor"),
    "drift-sign": ("gradient",),
}
"""The kinds of edits that a measured cause speaks for: they come before others that are as simple."""

DIM, RIGHT, NEARLY = 3, 1e-3, 0.05
"""The dimension there, and the error of drift and covariance, in units of their sizes, of a step and a loop that may be right."""

FOLLOWING = ("bias", "mse", "consistency", "covariance", "wasserstein-2")
"""The checks whose failures follow from others."""

SLOW = 0.5
"""The processor seconds in which a file has to be loaded that is loaded again with every edit."""

MOST_RUNS = 40
"""The most edits that are tried by a check: one step shows nothing of what they mend."""


@dataclass(frozen=True)
class CodeMend:
    """An edit of a user's file under which what failed passes; `shown` is None where only what is due is known."""

    edit: CodeEdit
    shown: Edit | None
    step: TorchStep


def names_of(step: TorchStep) -> dict[str, str]:
    """The user's own names of h, T and D: those of the options or arguments that are put as these, or as h**2."""
    found = {value: name for name, value in re.findall(r"(\w+) ?= ?([hTD])(?![\w*/+-])", step.conventions)}
    squared = re.search(r"(\w+) ?= ?h\*\*2(?![\w*/+-])", step.conventions)
    if squared and "h" not in found:
        found["h"] = f"sqrt({squared[1]})"
    return {quantity: found.get(quantity, quantity) for quantity in ("h", "T", "D")}


def mended_code(subject: TorchSubject, failed: Sequence[Evidence], cause: Cause) -> CodeMend | None:
    """The simplest edit of a line that the step runs through, under which the code passes what it failed; None if none is found.

    Ends with the time of the context `limited`. Code that is no file is not edited, nor where a
    derivative is missing, which no factor of a line makes up for.
    """
    place = place_in(subject.reference)
    file = None if place is None else Path(place)
    if file is None or not file.is_file() or cause.name == "drift-correction-missing":
        return None
    text = file.read_text(encoding="utf-8")
    with _modules_kept():
        return _CodeSearch(subject, failed, cause, file, text).found()


@contextmanager
def _modules_kept() -> Iterator[None]:
    """Context after which the modules of users' files are those from before."""
    before = {name: module for name, module in sys.modules.items() if name.startswith(LOADED)}
    try:
        yield
    finally:
        sys.modules.update(before)


class _CodeSearch:
    def __init__(
        self, subject: TorchSubject, failed: Sequence[Evidence], cause: Cause, file: Path, text: str
    ) -> None:
        self._cause = cause.name
        self._subject, self._file, self._text = subject, file, text
        own = [item for item in failed if item.check not in FOLLOWING] or list(failed)
        self._asked = {item.check: item for item in reversed(own)}
        own_loss = subject.scheme.own_loss is not None
        self._plain = not subject.scheme.memory and not own_loss
        self._balance = cause.name == "preconditioner-in-one"
        self._corrected = cause.name == "stratonovich"
        self._due = [due_law(subject.scheme, DIM, setting) for setting in SETTINGS] if self._plain else []
        self._known = self._plain or self._balance or self._corrected or own_loss
        self._right = NEARLY if own_loss else RIGHT
        self._by_law = self._known and self._error(subject) > self._right

    def found(self) -> CodeMend | None:
        """The first edit that is right."""
        runs = 0
        if not self._is_on_disk():
            return None
        for edit in self._edits():
            check_time()
            with self._loaded(edit) as made:
                if made is None:
                    continue
                if self._known and self._error(made) > self._right:
                    continue
                runs += not self._by_law
                try:
                    passed = self._passed(made) or "-" * self._balance
                except OutOfTimeError:
                    if not self._by_law:
                        raise
                    # One step has the law that is due; that it passes is not known, and no mend is shown.
                    return CodeMend(edit, None, made.scheme)
                if passed:
                    return CodeMend(edit, None if passed == "-" else self._shown(edit, passed), made.scheme)
            if runs > MOST_RUNS:
                break
        return None

    def _is_on_disk(self) -> bool:
        """Is it the text of the file that is wrong, and not code that was changed since it was loaded? Is it loaded quickly?"""
        started = time.process_time()
        try:
            made = make_subject(self._subject.reference, self._subject.configuration)
        except SgverifyError:
            return False
        if time.process_time() - started > SLOW:
            # A script that trains, say, is not run again and again.
            return False
        return not self._by_law or self._error(cast(TorchSubject, made)) > self._right

    def _edits(self) -> list[CodeEdit]:
        step = self._subject.scheme
        # What a step is called with, and what it leaves at its default.
        options = re.findall(r"(\w+) ?=", step.conventions) or ["h", *step.parameters]
        for told, _ in step.untried:
            options += re.findall(r"(\w+)=", told)
        own = names_of(step)["h"]
        options.sort(key=lambda name: not re.search(rf"\b{name}\b", own))
        size = self._subject.target.size if step.own_loss is not None else None
        editor = CodeEdits(
            self._text,
            self._lines(),
            [name for name in dict.fromkeys(options) if name != "params"],
            [str(size)] if size else [],
        )
        edits = editor.found
        if not self._by_law and self._known:
            # One step has its law: what departs is in the run, the draws, or what is kept.
            edits = [
                edit
                for edit in edits
                if edit.rule
                in (
                    "branch",
                    "draw",
                    "generator",
                    "anew",
                    "cached",
                    "without statement",
                    "without call",
                )
            ]
        if step.reuses is not None and self._cause == "noise-reused":
            edits = [edit for edit in edits if edit.rule == "key"]
        if self._cause == "localised":
            # What pulls besides is left out: a factor h would hide it.
            edits = [edit for edit in edits if edit.rule in ("sign", "without summand")]
        if self._balance:
            # A gradient without its preconditioner would be right as well, and is another method.
            # What the gradient is multiplied by comes first.
            edits = [edit for edit in edits if edit.kind == "noise"]
            return sorted(edits, key=lambda edit: edit.part.removesuffix("**0.5") not in editor.foreign)
        kinds = WRONG_PART.get(self._cause, ())
        counted = self._cause in ("data-scaling", "prior-scaled")
        return sorted(
            edits,
            key=lambda edit: (
                edit.cost
                + 2 * (bool(kinds) and edit.kind not in kinds)
                - 2 * (counted and edit.part in editor.foreign)
            ),
        )

    def _lines(self) -> set[int]:
        """The lines of the file through which loading, making and running it passes, with those of all functions around them."""
        own, found = str(self._file), set()

        def line(frame: FrameType, event: str, _: Any) -> Any:
            found.add(frame.f_lineno)
            return line

        def call(frame: FrameType, event: str, _: Any) -> Any:
            return line if frame.f_code.co_filename == own and frame.f_code.co_name != "<module>" else None

        before = sys.gettrace()
        sys.settrace(call)
        try:
            with suppress(SgverifyError, OutOfTimeError):
                subject = cast(
                    TorchSubject, make_subject(self._subject.reference, self._subject.configuration)
                )
                if self._known:
                    self._error(subject)
                else:
                    asked = next(iter(self._asked.values()))
                    judge_pair(subject, find_claim(asked.claim), asked.check)
        finally:
            sys.settrace(before)
        return found

    @contextmanager
    def _loaded(self, edit: CodeEdit) -> Iterator[TorchSubject | None]:
        """The subject of the edited file; None where it cannot be read, loaded or made."""
        with edited(self._file, replaced(self._text, (edit.change,))):
            try:
                made = make_subject(self._subject.reference, self._subject.configuration)
            except OutOfTimeError:
                raise
            except (Exception, SystemExit):
                # The edited code runs while its step is made, and may raise anything.
                yield None
                return
            yield cast(TorchSubject, made) if isinstance(made.scheme, TorchStep) else None

    def _error(self, subject: TorchSubject) -> float:
        """The error of one step or call, as far as it is measured in a moment; infinite where it cannot be read."""
        try:
            if self._balance:
                return out_of_balance(subject.scheme)
            if self._corrected:
                return 0.0 if response_cause(subject.scheme) is None else 1.0
            if not self._plain:
                return call_error(subject)
            errors = [self._due[0].error(subject.scheme)]
            if errors[0] <= RIGHT:
                errors += [due.error(subject.scheme) for due in self._due[1:]]
            return float(np.max(errors))
        except (SgverifyError, ArithmeticError, RuntimeError, TypeError, ValueError):
            return float("inf")

    def _passed(self, made: TorchSubject) -> str:
        """What the code achieves: the checks that failed and pass now; "" where one does not."""
        passed = set()
        asked = {(item.claim, item.check): item.seconds for item in self._asked.values()}
        for (_, check), outcomes in asked_again(made, asked):
            # The order of a preconditioner that depends on theta is measured against no dynamics.
            if "fail" in outcomes or ("pass" not in outcomes and not self._corrected):
                return ""
            passed |= {check} if "pass" in outcomes else set()
        # In the order of the answers, whatever time each took.
        return (
            f"pass {', '.join(check for check in reversed(self._asked) if check in passed)}"
            if passed
            else "-"
        )

    def _shown(self, edit: CodeEdit, achieves: str) -> Edit:
        before = self._text.split("\n")[edit.line - 1]
        after = replaced(self._text, (edit.change,)).split("\n")[edit.line - 1]
        return Edit(edit.was, edit.now, before, after, achieves, str(self._file), edit.line)
