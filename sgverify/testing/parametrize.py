"""Every applicable check as a test of its own, for pytest suites of schemes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis.strategies import SearchStrategy

from sgverify import strategies as library
from sgverify.checks import Subject, make_subject
from sgverify.checks.applicable_claims import judge_pair
from sgverify.checks.registry import CHECKS
from sgverify.checks.unused_settings import refuse_unused
from sgverify.checks.verify_and_rate import Source
from sgverify.claims import claims, find_claim
from sgverify.configuration import Configuration, load_configuration
from sgverify.errors import UnknownNameError, UserError
from sgverify.evidence import Evidence
from sgverify.schemes import Scheme, TorchStep
from sgverify.schemes.loading import load_step
from sgverify.testing.places import Places, places_for
from sgverify.testing.property import MOST_EXAMPLES, Property
from sgverify.testing.recording import record
from sgverify.testing.references import reference_of
from sgverify.testing.regressions import Regressions
from sgverify.testing.shrinking.counterexample import DEFAULT_FOLDER, Violation

MARK = "sgverify"
"""The marker of these tests: `pytest -m sgverify` runs them alone, `-m "not sgverify"` the others."""

Given = Scheme | TorchStep | str
"""The subject of a test: a definition, one's own torch code, or a reference to one of the two."""


@dataclass(frozen=True, eq=False)
class Suite:
    """The subjects of one parametrised test, cached so that derivations from a scheme are made once a process."""

    configuration: Source = None
    namespace: Mapping[str, Any] = field(default_factory=dict, repr=False)
    subjects: dict[int | str, Subject] = field(default_factory=dict, repr=False)

    def subject(self, scheme: Given) -> Subject:
        """The scheme under the suite's configuration, named as a command line can load it."""
        key = scheme if isinstance(scheme, str) else id(scheme)
        if key not in self.subjects:
            subject = make_subject(scheme, load_configuration(self.configuration))
            refuse_unused(subject, "verify")
            # The subject keeps the scheme alive, so that its id means no other.
            self.subjects[key] = replace(subject, reference=reference_of(scheme, self.namespace))
        return self.subjects[key]


@dataclass(frozen=True)
class SchemeCheck:
    """One quantity of one claim as a test function of a scheme, which fails, skips or returns."""

    claim: str
    quantity: str
    suite: Suite = field(default_factory=Suite)

    def __call__(self, scheme: Given) -> None:
        """Judge `scheme`; `Violation` where it violates, a skip where nothing was settled.

        A printed claim that falls for every scheme of its order is no failure: the corrected one judges.
        """
        import pytest

        __tracebackhide__ = True
        subject = self.suite.subject(scheme)
        subject.validate()
        found = judge_pair(subject, find_claim(self.claim), self.quantity)
        for evidence in found:
            record(evidence)
        failed = [item for item in found if item.outcome == "fail"]
        if failed:
            raise Violation(failed[0])
        for evidence in found:
            if evidence.outcome in ("undecided", "not-applicable"):
                pytest.skip(f"{evidence.outcome}: {evidence.reason}{_replay(evidence)}")

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

    def __call__(self, scheme: Given) -> None:
        """Judge `scheme` under all of them; `Violation` with a minimal counterexample, a skip where nothing was settled."""
        import pytest

        __tracebackhide__ = True
        held = self.judge(scheme, places_for(self.suite.namespace))
        if not any(evidence.outcome == "pass" for evidence in held):
            found = ", ".join(f"{number} {outcome}" for outcome, number in _counted(held))
            pytest.skip(f"{len(held)} configurations: {found}; the first: {held[0].reason}")

    def judge(self, scheme: Given, places: Places) -> list[Evidence]:
        """The evidence of every configuration, with counterexamples kept in `places`."""
        return Property(
            self.suite.subject(scheme),
            find_claim(self.claim),
            self.quantity,
            self.strategy,
            self.max_examples,
            places.regressions,
            places.counterexamples,
        ).check()

    def __str__(self) -> str:
        return f"{self.claim}-{self.quantity}"


def parametrize_with_checks(
    schemes: Iterable[Given],
    *,
    config: Source = None,
    checks: Sequence[str] | None = None,
    configurations: SearchStrategy[Configuration] | None = None,
    max_examples: int = MOST_EXAMPLES,
) -> Callable[[Any], Any]:
    """Decorate a test of two arguments, `scheme` and `check`, whose body is `check(scheme)`.

        @parametrize_with_checks([sgverify.find_scheme("sghmc-aboba"), mine])
        def test_conforms(scheme, check):
            check(scheme)

    One test for each scheme and each pair of printed claim and quantity; those that do not apply and those that
    settle nothing are skipped with the reason. `config` is a file, a mapping or a `Configuration`; `checks` holds
    ids of claims or checks, all of them by default. With `configurations`, a strategy such as
    `sgverify.strategies.configurations(dims=[1, 2])`, each test judges under the rows of the regression file and then
    `max_examples` generated configurations, and fails with a minimal one.
    The order and the names of the tests depend on the arguments alone, so that any number of workers collects the same.
    Raises `UserError` for an empty list, an entry that is no scheme, a reference that cannot be loaded and a regression
    file that cannot be read; `UnknownNameError` for an id.
    """
    import pytest

    namespace = sys._getframe(1).f_globals
    schemes, asked = listed_schemes(schemes), listed_checks(checks)
    check_strategy(configurations)
    if config is not None and configurations is not None:
        raise UserError(
            f"config={config!r}: one configuration beside a strategy for whole ones; expected one of the two; leave one out"
        )
    pairs_asked = pairs_of(asked)
    resolve(schemes, namespace)
    if configurations is not None and (regressions := places_for(namespace).regressions):
        # A row that cannot be read fails the module once, not each of its tests.
        regressions.rows()
    suite = Suite(config, namespace)
    made: list[Any] = [
        SchemeCheck(claim, quantity, suite)
        if configurations is None
        else SchemeProperty(claim, quantity, suite, configurations, max_examples)
        for claim, quantity in pairs_asked
    ]
    labels = labels_of(schemes, namespace)
    pairs = [(scheme, check) for scheme in schemes for check in made]
    names = [f"{label}-{check}" for label in labels for check in made]
    mark = getattr(pytest.mark, MARK)

    def decorate(test: Any) -> Any:
        return mark(pytest.mark.parametrize(("scheme", "check"), pairs, ids=names)(test))

    return decorate


def check_property(
    scheme: Given,
    *,
    checks: Sequence[str] | None = None,
    configurations: SearchStrategy[Configuration] | None = None,
    max_examples: int = MOST_EXAMPLES,
    regressions: str | Path | None = None,
    folder: str | Path = DEFAULT_FOLDER,
) -> list[Evidence]:
    """Judge `scheme` under generated configurations, outside pytest too: one piece of evidence for each one judged.

    `checks` holds ids of claims or checks, all of them by default; `configurations` is a strategy, by default the
    library's own for the scheme. The rows of the file `regressions` are tried first, and a violation is added to it.
    Raises `Violation`, whose text holds the minimal configuration, the command that replays it and the files left in
    `folder`; `UserError` where scheme, names, rows or configurations are wrong.
    """
    pairs = pairs_of(listed_checks(checks))
    check_strategy(configurations)
    suite = Suite(None, sys._getframe(1).f_globals)
    strategy = configurations
    if strategy is None:
        strategy = library.configurations(scheme=suite.subject(scheme).scheme)
    places = Places(None if regressions is None else Regressions(Path(regressions)), Path(folder))
    return [
        evidence
        for claim, quantity in pairs
        for evidence in SchemeProperty(claim, quantity, suite, strategy, max_examples).judge(scheme, places)
    ]


def pairs_of(asked: Sequence[str]) -> list[tuple[str, str]]:
    """Printed claims and their quantities, all or those that `asked` names as claims or checks."""
    known = claims()
    for name in asked:
        if name not in known and name not in CHECKS:
            raise UnknownNameError("check or claim", name, [*known, *CHECKS])
    return [
        (claim.id, quantity)
        for claim in known.values()
        if claim.corrects is None or claim.id in asked
        for quantity in claim.quantities
        if quantity in CHECKS and (not asked or claim.id in asked or quantity in asked)
    ]


def listed_schemes(schemes: Iterable[Given]) -> list[Given]:
    """The schemes as a list; raises `UserError` for one that stands alone, for none and for an entry of another kind."""
    if isinstance(schemes, Given):
        raise UserError(f"schemes={_name(schemes)}: expected a list; write [{_name(schemes)}]")
    try:
        found = list(schemes)
    except TypeError:
        raise UserError(
            f"schemes={schemes!r}: expected a list of schemes or references such as ['sghmc-aboba']"
        ) from None
    if not found:
        raise UserError("schemes=[]: expected at least one scheme or reference; give some")
    for scheme in found:
        if not isinstance(scheme, Given):
            raise UserError(
                f"schemes: {scheme!r} is a {type(scheme).__name__}; expected a Scheme or a reference such as 'sghmc-aboba' "
                "or 'mine.py:heun'"
            )
    return found


def listed_checks(checks: Sequence[str] | None) -> list[str]:
    """The ids as a list, empty for all; raises `UserError` for a string and for an empty list."""
    if checks is None:
        return []
    if isinstance(checks, str):
        raise UserError(f"checks={checks!r}: expected a list of ids; write [{checks!r}]")
    found = list(checks)
    if not found:
        raise UserError(
            f"checks={checks!r}: names nothing; give ids from `sgverify list checks`, or leave it out for all"
        )
    return found


def check_strategy(configurations: SearchStrategy[Any] | None) -> None:
    """Raises `UserError` where `configurations` is neither a strategy nor None."""
    if configurations is not None and not isinstance(configurations, SearchStrategy):
        raise UserError(
            f"configurations={configurations!r}: expected a strategy such as sgverify.strategies.configurations(dims=[1, 2]); "
            "leave it out to judge under `config`"
        )


def resolve(schemes: Iterable[Given], namespace: Mapping[str, Any]) -> None:
    """Load every reference; raises `UserError` once for a reference that names nothing.

    A reference to the test module itself is resolved later, since the module is still being imported.
    """
    module, file = namespace.get("__name__"), namespace.get("__file__")
    for scheme in schemes:
        if not isinstance(scheme, str):
            continue
        place = scheme.rpartition(":")[0]
        if place and (place == module or (file and Path(place).resolve() == Path(file).resolve())):
            continue
        load_step(scheme)


def labels_of(schemes: Sequence[Given], namespace: Mapping[str, Any]) -> list[str]:
    """How tests call each scheme: by its name, by its attribute where a name is shared, and numbered where that is too.

    >>> labels_of(["sgld-euler", "sgld-euler"], {})
    ['sgld-euler', 'sgld-euler-2']
    """
    names = [scheme if isinstance(scheme, str) else scheme.name for scheme in schemes]
    shared = Counter(names)
    labels = [
        reference_of(scheme, namespace).rpartition(":")[2] if shared[name] > 1 else name
        for name, scheme in zip(names, schemes, strict=True)
    ]
    taken: set[str] = set()
    for place, label in enumerate(labels):
        number = 1
        while labels[place] in taken:
            number += 1
            labels[place] = f"{label}-{number}"
        taken.add(labels[place])
    return labels


def _counted(held: Sequence[Evidence]) -> list[tuple[str, int]]:
    return Counter[str](evidence.outcome for evidence in held).most_common()


def _replay(evidence: Evidence) -> str:
    return f" (replay: {evidence.replay})" if evidence.outcome == "undecided" else ""


def _name(scheme: Given) -> str:
    return repr(scheme) if isinstance(scheme, str) else scheme.name


__all__ = ["SchemeCheck", "SchemeProperty", "Suite", "check_property", "parametrize_with_checks"]
