"""Noisy properties: an example that seems to fail is sampled again, afresh and with many more draws, before it counts.

A sampled property has no yes or no, it has a z. At z > 3 a hypothesis test of a hundred examples fails every fifth time
for a scheme that is right. So a small sample only screens, z > 2.33; what it stops is confirmed on a fresh seed at 16 times
the budget, z > 4.75. Where z is standard normal or below, for an example that is right, both together happen with the chance
0.0099 x 1.02e-6 = 1.0e-8, whatever is tried and shrunk. An error of e standard errors at the screen has 4 e at the
confirmation: at e = 4.66 it is stopped with the chance 0.99 and then confirmed with the chance 1 - 1e-43.

The seeds are a hash of the example and the stage: the same example has the same answer however often hypothesis asks.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import currently_in_test_context, event, note

from sgverify.errors import ConfigurationError
from sgverify.evidence.model import canonical_numbers
from sgverify.subject.subject import Subject

SCREEN = 2.33
"""A one-sided chance of 1 % where nothing is wrong."""

CONFIRM = 4.75
"""A one-sided chance of 1e-6."""

FACTOR = 16
"""The factor of the confirmation's sample size over the screen's: an error then has four times as many standard errors."""

Oracle = Callable[[int, int], float | None]


@dataclass(frozen=True)
class Screening:
    """The result of a screening: `passes`, `fails` or `inconclusive`, and the z of each stage that was reached."""

    verdict: Literal["passes", "fails", "inconclusive"]
    reason: str
    screened: float | None = None
    confirmed: float | None = None


class Unconfirmed(Exception):
    """Raised by an oracle that cannot say; its text is the reason."""


class Faulty(AssertionError):
    """A sampled property that was screened and confirmed to fail."""


def screen_and_confirm(z: Oracle, *, example: Any, budget: int = 256) -> Screening:
    """The verdict whether `example` is faulty, by the noisy oracle `z`.

    `z(seed, budget)` draws a sample of that size from that seed and returns how many standard errors it lies on the
    faulty side, standard normal or smaller for an example that is right; with the absolute value of a two-sided one a false
    alarm has the chance 4e-8. It returns None or NaN, or raises `Unconfirmed`, where it cannot say: `inconclusive`, which is
    no pass and no failure. `example` is a `Subject`, or anything that JSON holds, from which the seeds are made.

    >>> screen_and_confirm(lambda seed, budget: 0.1 * budget**0.5, example="biased by a tenth", budget=1024).verdict
    'fails'
    >>> screen_and_confirm(lambda seed, budget: 0.0, example="right").verdict
    'passes'

    Raises `ConfigurationError` for a budget that is not positive.
    """
    if budget < 1:
        raise ConfigurationError(
            f"budget={budget!r}: expected a positive number, the size of the first sample"
        )
    try:
        first = z(seed_of(example, "screen"), budget)
        if first is None or math.isnan(first):
            return Screening("inconclusive", "the first sample does not say", None)
        if first <= SCREEN:
            return Screening("passes", f"z = {first:.3g}, at most {SCREEN}", first)
        second = z(seed_of(example, "confirm"), FACTOR * budget)
    except Unconfirmed as error:
        return Screening("inconclusive", str(error))
    if second is None or math.isnan(second):
        return Screening("inconclusive", "the second sample does not say", first)
    if second <= CONFIRM:
        reason = (
            f"z = {first:.3g} was not confirmed: {second:.3g} at {FACTOR} times the budget, at most {CONFIRM}"
        )
        return Screening("passes", reason, first, second)
    reason = (
        f"z = {first:.3g}, and {second:.3g} on a fresh seed at {FACTOR} times the budget, above {CONFIRM}"
    )
    return Screening("fails", reason, first, second)


def assert_sampled(z: Oracle, *, example: Any, budget: int = 256) -> Screening:
    """`screen_and_confirm`, as an assertion of a hypothesis test: raises `Faulty` for an example that fails.

    An inconclusive one goes through, counted as an event of the example.
    """
    found = screen_and_confirm(z, example=example, budget=budget)
    if currently_in_test_context():
        event(f"sampled property: {found.verdict}")
        if found.verdict != "passes":
            note(f"sampled property: {found.verdict}, {found.reason}")
    if found.verdict == "fails":
        raise Faulty(f"the sampled property fails: {found.reason}")
    return found


def seed_of(example: Any, stage: str) -> int:
    """The seed of a stage: a hash of the example in canonical form. In 0, ..., 2^63 - 1."""
    if isinstance(example, Subject):
        example = [example.reference, example.configuration.as_dict()]
    content = json.dumps(canonical_numbers([example, stage]), sort_keys=True)
    return int.from_bytes(hashlib.sha256(content.encode()).digest()[:8], "big") >> 1
