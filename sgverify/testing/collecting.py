"""Which tests does a suite of schemes have? One for each check that applies, found when pytest collects the module.

Until then the module is being imported, and a reference to a scheme in it cannot be loaded. Whether a claim applies is decided from
its hypotheses, in a fraction of a second for a scheme, without a sample and without an import of torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

from hypothesis.strategies import SearchStrategy

from sgverify.checks.applicable_claims import questions_of
from sgverify.configuration import Configuration
from sgverify.errors import UserError
from sgverify.testing.scheme_tests import (
    KEYWORD,
    ExpectedFailure,
    Mistake,
    SchemeCheck,
    SchemeProperty,
    Suite,
    expected,
)

Test = SchemeCheck | SchemeProperty | Mistake


@dataclass(frozen=True, eq=False)
class Collected(Sequence[Any]):
    """The pairs (scheme, check) of a parametrised test, as `pytest.param` with their ids, found when they are first read.

    `labels` are the names by which tests call the schemes, `asked` the ids of claims and checks that the user named, empty for
    all. Where a scheme cannot be loaded, or its configuration is refused, its one test raises the error. The order depends
    on the arguments alone, so that any number of workers collects the same.
    """

    schemes: Sequence[Any]
    labels: Sequence[str]
    suite: Suite
    asked: Sequence[str] = ()
    strategy: SearchStrategy[Configuration] | None = None
    max_examples: int = 0
    failures: Sequence[ExpectedFailure] = ()

    @cached_property
    def pairs(self) -> list[Any]:
        """The pairs with their ids."""
        import pytest

        found: list[Any] = []
        met: set[ExpectedFailure] = set()
        for scheme, label in zip(self.schemes, self.labels, strict=True):
            for test in self.tests_of(scheme, label):
                if isinstance(test, Mistake):
                    # It is not known which tests of this scheme there are.
                    met |= {entry for entry in self.failures if entry.scheme in (None, label)}
                elif test.expected is not None:
                    met.add(test.expected)
                found.append(pytest.param(scheme, test, id=f"{label}-{test}"))
        for entry in self.failures:
            if entry not in met:
                error = UserError(
                    f"{KEYWORD}: {str(entry)!r} names no test of this suite: it applies to none of the schemes, or narrower keys "
                    "name its tests; expected a test that fails; remove it"
                )
                found.append(pytest.param(self.schemes[0], Mistake(error, KEYWORD), id=f"{KEYWORD}-{entry}"))
        return found

    def tests_of(self, scheme: Any, label: str) -> list[Test]:
        """The tests of one scheme, in the order of `verify`."""
        try:
            subject = self.suite.subject(scheme)
            questions = questions_of(subject, self.asked, any_configuration=self.strategy is not None)
        except UserError as error:
            return [Mistake(error)]
        return [self._test(label, question.claim.id, question.quantity) for question in questions]

    def _test(self, label: str, claim: str, quantity: str) -> SchemeCheck | SchemeProperty:
        failure = expected(self.failures, label, claim, quantity)
        if self.strategy is None:
            return SchemeCheck(claim, quantity, self.suite, failure)
        return SchemeProperty(claim, quantity, self.suite, self.strategy, self.max_examples, failure)

    def __len__(self) -> int:
        return len(self.pairs)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        """One pair, or several."""
        return self.pairs[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.pairs)
