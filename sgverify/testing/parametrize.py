"""Every applicable check as a test of its own, for pytest suites of schemes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sgverify.checks import make_subject
from sgverify.checks.judging import judge_pair
from sgverify.checks.questions import Source
from sgverify.checks.registry import CHECKS
from sgverify.claims import claims, find_claim
from sgverify.configuration import load_configuration
from sgverify.errors import UserError
from sgverify.schemes import Scheme


@dataclass(frozen=True)
class SchemeCheck:
    """One claim and the quantity that it is about, as a call that fails, skips or returns."""

    claim: str
    quantity: str
    configuration: Source = None

    def __call__(self, scheme: Scheme | str) -> None:
        """Judge `scheme`; `AssertionError` where it violates, a skip where nothing was settled.

        A printed claim that falls for every scheme of its order is no failure: the corrected one judges.
        """
        import pytest

        subject = make_subject(scheme, load_configuration(self.configuration))
        for evidence in judge_pair(subject, find_claim(self.claim), self.quantity):
            if evidence.verdict == "violates" and not evidence.refuted:
                raise AssertionError(f"{evidence.claim}: {evidence.reason}\nreplay: {evidence.replay}")
            if evidence.verdict in ("inconclusive", "not-applicable"):
                pytest.skip(f"{evidence.verdict}: {evidence.reason}")

    def __str__(self) -> str:
        return f"{self.claim}-{self.quantity}"


def parametrize_with_checks(
    schemes: Sequence[Scheme | str], *, config: Source = None
) -> Callable[[Any], Any]:
    """Decorate a test of two arguments, `scheme` and `check`, whose body is `check(scheme)`.

        @parametrize_with_checks([sgverify.find_scheme("sghmc-aboba"), mine])
        def test_conforms(scheme, check):
            check(scheme)

    One test for each scheme and each pair of printed claim and quantity; those that do not apply are skipped.
    Raises `UserError` for an empty list of schemes.
    """
    import pytest

    if not schemes:
        raise UserError("schemes=[]: expected at least one scheme or reference; give some")
    checks = [
        SchemeCheck(claim.id, quantity, config)
        for claim in claims().values()
        if claim.corrects is None
        for quantity in claim.quantities
        if quantity in CHECKS
    ]
    pairs = [(scheme, check) for scheme in schemes for check in checks]
    names = [f"{scheme if isinstance(scheme, str) else scheme.name}-{check}" for scheme, check in pairs]
    return pytest.mark.parametrize(("scheme", "check"), pairs, ids=names)


__all__ = ["SchemeCheck", "parametrize_with_checks"]
