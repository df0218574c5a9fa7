"""What is wrong with an outcome?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sgverify.evidence.model import canonical_numbers
from tests.fuzz.case import Case

CODES = frozenset({0, 1, 2, 3, 130})
LONGEST = 2100
"""The most characters of a refusal: `sgverify.errors.LONGEST`, with the words before it and in its middle."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]")


def wrong_with(
    case: Case, code: int | None, accepted: Mapping[str, Any] | None, out: str, err: str
) -> str | None:
    """A sentence about an outcome that may not be; None for one that may. `code` is None where the input was accepted."""
    if "Traceback (most recent call last)" in err or "Traceback (most recent call last)" in out:
        return f"a traceback: {_last_error(err)}"
    if code is not None and code not in CODES:
        return f"exit code {code}: {_last_error(err)}"
    if case.must == "be refused" and code != 2:
        return f"accepted in silence (exit code {code})"
    if case.must == "be accepted" and code == 2:
        return f"refused: {err.strip()[:300]}"
    if code == 2:
        return _wrong_refusal(case, out, err)
    for key, value in case.recorded.items() if accepted is not None else ():
        shown = _at(accepted, key)
        if _as_json(shown) != _as_json(value):
            return f"{key}={value!r} was accepted and the configuration shows {shown!r}"
    return None


def _wrong_refusal(case: Case, out: str, err: str) -> str | None:
    lines = [line for line in err.splitlines() if line.strip()]
    said = [line for line in lines if line.startswith("error: ")]
    # A call without arguments shows the help.
    if not case.words or out.startswith("Usage:"):
        return None
    if len(said) != 1 or lines[-1] != said[0]:
        return f"the refusal is not one line: {err[:400]!r}"
    if len(said[0]) > LONGEST:
        return f"the refusal has {len(said[0])} characters: {said[0][:200]!r}"
    if _CONTROL.search(err):
        return f"the refusal has control characters: {said[0][:300]!r}"
    # What is found before a mistake is met is shown: no finding is lost.
    if out and not (case.computes and case.command in ("verify", "replay")):
        return f"a refusal prints on stdout: {out[:200]!r}"
    if case.names and not any(name in said[0] for name in case.names):
        return f"the refusal names none of {case.names}: {said[0][:300]!r}"
    return None


def _as_json(value: Any) -> Any:
    """The value with lists for tuples, and with numbers as a document shows them."""
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    return canonical_numbers(value)


def _last_error(err: str) -> str:
    """The line with which a traceback ends."""
    before = err.partition("\nsgverify: internal error")[0]
    return (before.strip().splitlines() or [""])[-1][:300]


def _at(tree: Any, key: str) -> Any:
    for step in key.split("."):
        tree = tree.get(step) if isinstance(tree, Mapping) else None
    return tree
