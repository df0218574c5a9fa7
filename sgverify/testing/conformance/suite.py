"""The shipped conformance suite of readings: inherit it, say how your reading takes a step, and run it.

    class TestMine(CarrierConformance):
        def schemes(self):
            return sgverify.strategies.schemes()

        def step(self, case):
            return ...  # {"theta": [...], "p": [...]}, the state after case.scheme's step with case's numbers

It needs no pytest: a plain call of `TestMine().test_one_step()` raises `AssertionError` with the smallest step on which the
reading and the definition part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import flint
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy

from sgverify.schemes import Scheme
from sgverify.strategies import schemes
from sgverify.testing.conformance.case import Case, cases
from sgverify.testing.conformance.reference import DOUBLE, TrackedBall

BITS = 256


class CarrierConformance:
    """One step of the carrier under test equals the definition on balls, number for number.

    Two methods to override: `schemes` (optional), the schemes to try, and `step`. `unit` is the roundoff of
    the carrier's arithmetic, from which the tolerance of each number is derived; exact results must lie in the balls.
    `dims`, `kinds` (gradient estimators) and `examples` bound what is tried.
    """

    unit: float = DOUBLE
    dims: Sequence[int] = (1, 2, 3)
    kinds: Sequence[str] | None = None
    examples: int = 100

    def schemes(self) -> SearchStrategy[Scheme]:
        """The schemes that the carrier is to carry."""
        return schemes()

    def step(self, case: Case) -> Mapping[str, Sequence[Any]]:
        """The state after the step: floats, or exact numbers (arb, Fraction, int), by the state's names."""
        raise NotImplementedError("a carrier under test says how it takes one step: override `step`")

    def test_one_step(self) -> None:
        """The carrier's step is the definition's, for generated schemes, targets, estimators and draws."""

        @settings(max_examples=self.examples, deadline=None)
        @given(cases(schemes=self.schemes(), dims=self.dims, kinds=self.kinds))
        def agrees(case: Case) -> None:
            self.check(case)

        agrees()

    def check(self, case: Case) -> None:
        """Compare one case with the definition; raises `AssertionError` with the found and the expected values."""
        with flint.ctx.workprec(BITS):
            expected = case.expected(self.unit)
            found = self.step(case)
            if set(found) != set(expected):
                raise AssertionError(f"the step returned {sorted(found)}; expected {sorted(expected)}")
            for name, numbers in expected.items():
                if len(found[name]) != len(numbers):
                    raise AssertionError(f"{name}: {len(found[name])} coordinates; expected {len(numbers)}")
                for i, (value, number) in enumerate(zip(found[name], numbers, strict=True)):
                    gap = _gap(value, number)
                    if gap:
                        raise AssertionError(
                            f"{case.scheme.reference or case.scheme.name}: {name}[{i}] {gap}"
                        )


def _gap(value: Any, number: TrackedBall) -> str:
    """The difference in a coordinate as a sentence; empty where there is none."""
    if isinstance(value, arb):
        return "" if value.overlaps(number.value) else f"is {value}, the definition gives {number.value}"
    if isinstance(value, float):
        ball, bound = arb(value), number.error
    else:
        ball, bound = arb(fmpq(value.numerator, value.denominator)), arb(0)
    distance = (ball - number.value).abs_lower()
    if ball.is_finite() and distance <= bound.abs_upper():
        return ""
    return (
        f"is {value!r}, the definition gives {float(number.value.mid())!r}: apart by {float(arb(distance).mid()):.3g}, and "
        f"rounding explains at most {float(bound.mid()):.3g}"
    )
