"""Which checks does a suite expect to fail, and why? An expected failure is strict: a test that does not fail fails the suite."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgverify.checks.registry import CHECKS
from sgverify.claims import claims
from sgverify.errors import UnknownNameError, UserError

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
