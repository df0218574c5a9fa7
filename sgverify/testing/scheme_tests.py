"""What is one test of a scheme? One quantity of one claim, under one configuration or under generated ones.

A test function of this kind judges, and then passes, fails, skips or is an expected failure, which is strict: a test that does
not fail fails the suite.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from hypothesis.strategies import SearchStrategy

from sgverify.advice.diagnosis.model import Diagnosis
from sgverify.checks.applicable_claims import judge_pair
from sgverify.checks.registry import CHECKS, find_check
from sgverify.checks.verify_and_rate import Source
from sgverify.claims import claims, find_claim
from sgverify.configuration import Configuration, load_configuration
from sgverify.errors import UnknownNameError, UserError
from sgverify.evidence import Evidence
from sgverify.schemes import Scheme, TorchStep
from sgverify.subject.binding import bind
from sgverify.subject.subject import Subject
from sgverify.testing.places import PLUGIN, Places, places_for
from sgverify.testing.property import Property
from sgverify.testing.recording import Standing, record
from sgverify.testing.references import loadable, reference_of
from sgverify.testing.shrinking.counterexample import Violation
from sgverify.verdict.asking import Enquiry
from sgverify.verdict.block import ClosingBlock
from sgverify.verdict.results import Results

Reasons = Mapping[str, str | Mapping[str, str]]
"""{claim, check or claim-check: reason}, or the same for one scheme under the name by which its tests call it."""

KEYWORD = "expected_failures"


@dataclass(frozen=True)
class ExpectedFailure:
    """One entry: its key, its reason, and the label of the scheme that it speaks of; None for all schemes."""

    key: str
    reason: str
    scheme: str | None = None

    def concerns(self, label: str, claim: str, quantity: str) -> bool:
        """Does the entry name this test?"""
        return self.scheme in (None, label) and self.key in _names(claim, quantity)

    def __str__(self) -> str:
        return self.key if self.scheme is None else f"{self.scheme}: {self.key}"


def expected_failures(given: Reasons | None, labels: Sequence[str]) -> tuple[ExpectedFailure, ...]:
    """The entries of a mapping; raises `UserError` for what is no mapping of reasons, `UnknownNameError` for an unknown name."""
    if given is None:
        return ()
    found: list[ExpectedFailure] = []
    for key, said in _mapping(given, KEYWORD).items():
        if isinstance(said, str):
            found.append(_entry(key, said, None, labels))
            continue
        where = f"{KEYWORD}[{key!r}]"
        inside = _mapping(said, where)
        if key not in labels:
            raise UnknownNameError(f"scheme in {KEYWORD}", str(key), labels)
        found += [_entry(inner, reason, key, ()) for inner, reason in inside.items()]
    return tuple(found)


def expected(
    entries: Sequence[ExpectedFailure], label: str, claim: str, quantity: str
) -> ExpectedFailure | None:
    """The entry for one test: that of the scheme before that of all schemes, a narrower key before a wider one."""
    found = [entry for entry in entries if entry.concerns(label, claim, quantity)]
    order = _names(claim, quantity)
    return min(found, key=lambda entry: (entry.scheme is None, order.index(entry.key)), default=None)


def _names(claim: str, quantity: str) -> list[str]:
    """The keys that name a test, the narrowest first."""
    return [f"{claim}-{quantity}", claim, quantity]


def _mapping(given: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise UserError(
            f"{where}={given!r}: expected a mapping such as {{'chen2015/theorem-4': 'why it fails'}}; give a reason for each claim "
            "or check"
        )
    return given


def _entry(key: Any, reason: Any, scheme: str | None, labels: Collection[str]) -> ExpectedFailure:
    known = {name for claim in claims().values() for q in claim.quantities for name in _names(claim.id, q)}
    if key not in known and key not in CHECKS:
        raise UnknownNameError(
            f"claim, check or claim-check in {KEYWORD}", str(key), [*known, *CHECKS, *labels]
        )
    if not isinstance(reason, str) or not reason.strip():
        raise UserError(
            f"{KEYWORD}[{key!r}]={reason!r}: expected a sentence that says why it fails; write one"
        )
    return ExpectedFailure(key, reason.strip(), scheme)


Given = Scheme | TorchStep | str
"""A subject of a test that no adapter is asked for: a definition, one's own torch code, or a reference to one of the two."""

UNANSWERED = ("undecided", "not-applicable")


@dataclass(frozen=True, eq=False)
class Suite:
    """The subjects of one parametrised test, cached so that derivations from a scheme are made once a process."""

    configuration: Source = None
    namespace: Mapping[str, Any] = field(default_factory=dict, repr=False)
    subjects: dict[int | str, Subject] = field(default_factory=dict, repr=False)
    causes: dict[str, Diagnosis | None] = field(default_factory=dict, repr=False)

    def subject(self, scheme: Any) -> Subject:
        """The scheme under the suite's configuration, named as a command line can load it."""
        key = scheme if isinstance(scheme, str) else id(scheme)
        if key not in self.subjects:
            subject = bind(scheme, load_configuration(self.configuration), "verify")
            # The subject keeps the scheme alive, so that its id means no other.
            self.subjects[key] = replace(subject, reference=reference_of(scheme, self.namespace))
        return self.subjects[key]

    def part(self, scheme: Any, quantity: str) -> Subject:
        """The subject that a check examines: of a composite, the composite or its scheme."""
        subject = self.subject(scheme)
        composite = find_check(quantity).composite
        return next((part for part in subject.parts if bool(part.composite) == composite), subject)

    def told(self, subject: Subject, evidence: Sequence[Evidence]) -> str:
        """FAIL with what decides it, its cause and its mend, as `verify` ends; the cause is sought once for a scheme."""
        if subject.reference not in self.causes:
            self.causes[subject.reference] = Results(evidence, Enquiry(subject)).diagnosis
        cause = self.causes[subject.reference]
        return ClosingBlock(subject.reference, tuple(evidence), diagnosis=cause).text()


@dataclass(frozen=True)
class Conclusion:
    """What a test found: a violation, or why nothing was settled; neither of the two where the scheme conforms.

    `undecided` tells an open question from a claim that does not apply, and `known` is what the run's baseline says of the
    violation, None where it does not hold it.
    """

    violation: Violation | None = None
    unanswered: str = ""
    undecided: bool = False
    known: str | None = None


@dataclass(frozen=True)
class SchemeCheck:
    """One quantity of one claim as a test function of a scheme, which fails, skips or returns."""

    claim: str
    quantity: str
    suite: Suite = field(default_factory=Suite)
    expected: ExpectedFailure | None = None

    def __call__(self, scheme: Any) -> None:
        """Judge `scheme`; `Violation` where it violates, a skip where nothing was settled.

        A printed claim that falls by an error of its own is no failure: the corrected one judges.
        """
        __tracebackhide__ = True
        conclude(self.judge(scheme), self.expected)

    def judge(self, scheme: Any) -> Conclusion:
        """The result for `scheme`, its evidence recorded."""
        subject = self.suite.part(scheme, self.quantity)
        subject.validate()
        found = judge_pair(subject, find_claim(self.claim), self.quantity)
        # A scheme that no command line can load shares its name with others, whose violations its row would excuse.
        standing: Standing = "row" if loadable(subject.reference) else "unheld"
        for evidence in found:
            record(evidence, standing if self.expected is None else "expected")
        failed = [
            (item, _known(item) if standing == "row" else None) for item in found if item.outcome == "fail"
        ]
        if failed:
            item, known = next((pair for pair in failed if pair[1] is None), failed[0])
            told = self.suite.told(subject, found) if known is None and self.expected is None else ""
            return Conclusion(Violation(item, told=told), known=known)
        open_ = [item for item in found if item.outcome in UNANSWERED]
        if not open_:
            return Conclusion()
        undecided = next((item for item in open_ if item.outcome == "undecided"), None)
        item = undecided or open_[0]
        return Conclusion(
            unanswered=f"{item.outcome}: {item.reason}{_replay(item)}", undecided=undecided is not None
        )

    def __str__(self) -> str:
        return f"{self.claim}-{self.quantity}"


@dataclass(frozen=True)
class SchemeProperty:
    """One quantity of one claim under generated configurations as a test function, which fails, skips or returns."""

    claim: str
    quantity: str
    suite: Suite
    strategy: SearchStrategy[Configuration] = field(repr=False)
    max_examples: int
    expected: ExpectedFailure | None = None

    def __call__(self, scheme: Any) -> None:
        """Judge `scheme` under all of them; `Violation` with a minimal counterexample, a skip where nothing was settled."""
        __tracebackhide__ = True
        try:
            held = self.evidence(scheme, places_for(self.suite.namespace))
        except Violation as violation:
            if self.expected is None and violation.counterexample is not None:
                minimal = violation.counterexample.configuration
                subject = replace(self.suite.part(scheme, self.quantity), configuration=minimal)
                violation.told = self.suite.told(subject, [violation.evidence])
            conclude(Conclusion(violation), self.expected)
            return
        found = ", ".join(f"{number} {outcome}" for outcome, number in _counted(held))
        passes = any(evidence.outcome == "pass" for evidence in held)
        unanswered = "" if passes else f"{len(held)} configurations: {found}; the first: {held[0].reason}"
        undecided = not passes and any(evidence.outcome == "undecided" for evidence in held)
        conclude(Conclusion(unanswered=unanswered, undecided=undecided), self.expected)

    def evidence(self, scheme: Any, places: Places) -> list[Evidence]:
        """The evidence of every configuration, with counterexamples kept in `places`."""
        return Property(
            self.suite.part(scheme, self.quantity),
            find_claim(self.claim),
            self.quantity,
            self.strategy,
            self.max_examples,
            places.regressions,
            places.counterexamples,
        ).check()

    def __str__(self) -> str:
        return f"{self.claim}-{self.quantity}"


@dataclass(frozen=True)
class Mistake:
    """A user's mistake as a test function that raises it: the tests beside it are collected and run."""

    error: UserError
    about: str = "subject"

    def __call__(self, scheme: Any) -> NoReturn:
        """Raise the error."""
        __tracebackhide__ = True
        raise self.error

    def __str__(self) -> str:
        return self.about


def conclude(judged: Conclusion, expected: ExpectedFailure | None) -> None:
    """End a test: return where the scheme conforms, else raise `Violation` or pytest's own skip, xfail or failure.

    An expected failure is strict: the test fails where the scheme conforms, and where the claim does not apply, for then the entry
    says what is not so. An undecided answer is neither the failure nor its end, and skips the test as ever.
    """
    import pytest

    __tracebackhide__ = True
    violation = judged.violation
    if expected is not None:
        if violation is not None:
            pytest.xfail(expected.reason)
        if judged.undecided:
            pytest.skip(f"expected to fail because {expected.reason}, and {judged.unanswered}")
        found = f"does not apply ({judged.unanswered})" if judged.unanswered else "passes"
        pytest.fail(f"expected to fail because {expected.reason}, and {found}: remove it", pytrace=False)
    if violation is not None:
        if judged.known is not None:
            pytest.xfail(judged.known)
        raise violation
    if judged.unanswered:
        pytest.skip(judged.unanswered)


def _known(evidence: Evidence) -> str | None:
    """Why the violation does not fail the run, where the run's baseline holds it."""
    plugin = sys.modules.get(PLUGIN)
    return None if plugin is None else plugin.told_known(evidence)


def _counted(held: Sequence[Evidence]) -> list[tuple[str, int]]:
    return Counter[str](evidence.outcome for evidence in held).most_common()


def _replay(evidence: Evidence) -> str:
    return f" (replay: {evidence.replay})" if evidence.outcome == "undecided" else ""
