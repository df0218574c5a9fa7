"""Is a scheme right? The question is asked under the configured gradient and, where none is, under random minibatches too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from sgverify.checks.applicable_claims import Progress, not_validated, settle, stable_questions
from sgverify.checks.check import Matter
from sgverify.checks.question import STATED, Question
from sgverify.checks.readings import why_no_law
from sgverify.checks.registry import CHECKS
from sgverify.claims import claims
from sgverify.configuration import Configuration, load_configuration, tree_of
from sgverify.errors import UserError
from sgverify.evidence import Evidence
from sgverify.schemes import Scheme, TorchStep
from sgverify.schemes.composites import Composite
from sgverify.subject.binding import bind
from sgverify.subject.subject import Subject
from sgverify.user_code import own_code
from sgverify.verdict.findings import place_in_lines

BATCH = 10
"""The size of the minibatches that are judged beside the full gradients, or N where there are fewer data."""

Told = Callable[[list[Evidence]], None]


class Answered(NamedTuple):
    """The evidence that answers one question, and why minibatches are left out if that question says so."""

    evidence: list[Evidence]
    left_out: str | None


@dataclass
class Enquiry:
    """What is asked of a scheme: the subjects, and why minibatches are left out where they are (`without_minibatches`)."""

    subject: Subject
    selected: tuple[str, ...] = ()
    minibatches: Subject | None = None
    without_minibatches: str | None = None

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """The subject as configured, then that with minibatches."""
        return (self.subject, *((self.minibatches,) if self.minibatches is not None else ()))

    @cached_property
    def questions(self) -> list[Question]:
        """All questions: those on the method before those on the code and on the paper, one quantity after the other."""
        asked = stable_questions(self.subject, self.selected)
        known = {(item.claim.id, item.quantity) for item in asked}
        self._leave_out_unread()
        try:
            more = [] if self.minibatches is None else stable_questions(self.minibatches, self.selected)
        except UserError as error:
            more = []
            self._leave_out(None, error)
            self.minibatches = None
        for item in more:
            same = item.check.any_gradient or (item.subject.black_box and item.check.torch_any_gradient)
            if not (same and (item.claim.id, item.quantity) in known):
                asked.append(item)
        return sorted(asked, key=lambda item: place_in_lines(item.quantity))

    def ask(
        self,
        progress: Progress | None = None,
        told: Told | None = None,
        *matters: Matter,
    ) -> list[Evidence]:
        """The evidence on the `matters`, by default on all; `told` gets the answers to each question as soon as it is settled.

        Raises what `settle` raises; a `UserError` about minibatches leaves them out and is kept in `without_minibatches`.
        """
        # The user's code may not print on stdout; what is told may.
        with own_code():
            unmet = self.not_validated
            questions = (
                []
                if unmet
                else [item for item in self.questions if not matters or item.check.matter in matters]
            )
        found = unmet or settle(questions, self.selected, progress, told=told, excused=self._leave_out)
        return self.in_order(found)

    @cached_property
    def portions(self) -> list[tuple[int, ...]]:
        """The places of the questions, together where they share chains: those of a subject about a matter along a schedule."""
        found: dict[tuple[str | None, ...], list[int]] = {}
        with own_code():
            for place, item in enumerate(self.questions):
                schedule = item.schedule.kind if item.check.along_schedule else None
                gradient = item.subject.configuration.gradient.kind
                found.setdefault((item.subject.reference, gradient, item.check.matter, schedule), []).append(
                    place
                )
        return [tuple(places) for places in found.values()]

    def answered(self, place: int, progress: Progress | None = None, done: int = 0) -> Answered:
        """The answers to one question; `done` others are answered already. Raises what `ask` raises."""
        before, self.without_minibatches = self.without_minibatches, None
        total = len(self.questions)

        def tell(text: str, share: float, _: int) -> None:
            assert progress is not None
            progress(text, done + share, total)

        try:
            with own_code():
                found = settle(
                    [self.questions[place]], self.selected, progress and tell, excused=self._leave_out
                )
            return Answered(found, self.without_minibatches)
        finally:
            self.without_minibatches = before

    def concluded(self, answers: Sequence[Answered]) -> list[Evidence]:
        """The evidence of all answers, given in the order of the questions; minibatches are left out where an answer says so."""
        for answer in answers:
            self.without_minibatches = answer.left_out or self.without_minibatches
        return self.in_order([item for answer in answers for item in answer.evidence])

    def in_order(self, evidence: Sequence[Evidence]) -> list[Evidence]:
        """Evidence in the order of an answer, which depends on nothing but the questions."""
        return sorted(evidence, key=self._place)

    def _place(self, item: Evidence) -> tuple[int, ...]:
        """The place in an answer: full gradients first, then the order of the claims, corrected ones after printed."""
        kinds = [subject.configuration.gradient.kind for subject in self.subjects]
        schemes = [part.reference for part in self.subject.parts]
        card = claims()[item.claim]
        printed = card.corrects or card.id
        return (
            kinds.index(item.configuration["gradient"]["kind"]),
            schemes.index(item.scheme),
            printed != STATED,
            list(claims()).index(printed),
            card.quantities.index(item.check),
            card.corrects is not None,
        )

    @cached_property
    def not_validated(self) -> list[Evidence]:
        """Inconclusive evidence where validating a configuration raised an unforeseen exception."""
        found = [not_validated(part) for part in self.subject.parts]
        try:
            found += [not_validated(part) for part in self.minibatches.parts] if self.minibatches else []
        except UserError as error:
            self._leave_out(None, error)
            self.minibatches = None
        return [item for item in found if item is not None]

    def asks(self, matter: Matter) -> bool:
        """Is there a question about the matter?"""
        if not self.selected:
            return True
        known = claims()
        quantities = {
            name for item in self.selected for name in (known[item].quantities if item in known else (item,))
        }
        return any(CHECKS[name].matter == matter for name in quantities if name in CHECKS)

    def _leave_out_unread(self) -> None:
        """Leave minibatches out of torch code of which no chain is read under them."""
        other = self.minibatches
        if other is None or not other.black_box or self.not_validated:
            return
        why = why_no_law(other)
        if why is not None:
            self._leave_out(None, UserError(why))
            self.minibatches = None

    def _leave_out(self, question: Question | None, error: UserError) -> bool:
        """Excuse a mistake that only the minibatches meet, which the user did not ask for."""
        if (
            question is not None
            and question.subject.configuration.gradient.kind == self.subject.configuration.gradient.kind
        ):
            return False
        self.without_minibatches = str(error)
        return True


def enquire(
    scheme: Scheme | TorchStep | Composite | str,
    configuration: Configuration,
    selected: Sequence[str] = (),
    *,
    brief: bool = False,
) -> Enquiry:
    """What to ask of a scheme.

    Full gradients and minibatches drawn with replacement are both judged, unless the configuration names a gradient estimator or
    checks are selected. A `brief` enquiry leaves out points that only illustrate. Raises `UserError` where scheme,
    configuration or names are wrong.
    """
    subject = replace(bind(scheme, configuration, "verify"), brief=brief, whole=not selected)
    enquiry = Enquiry(subject, tuple(selected))
    if selected:
        enquiry.without_minibatches = "only the checks that were named were asked"
    elif "gradient" in configuration.model_fields_set:
        enquiry.without_minibatches = f"gradient.kind={configuration.gradient.kind} was chosen"
    elif subject.black_box and not {"grad", "log_density"} & {*subject.scheme.declaration.ingredients}:
        enquiry.without_minibatches = "the code takes no gradient"
    elif subject.target.size is None:
        enquiry.without_minibatches = f"target.name={subject.target.name} has no data"
    else:
        gradient = {"kind": "iid", "batch": min(BATCH, subject.target.size)}
        both = load_configuration({**tree_of(configuration), "gradient": gradient})
        enquiry.minibatches = subject.with_gradient(both)
    return enquiry
