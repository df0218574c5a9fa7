"""A violated claim as a test failure that can be read without knowing the toolkit."""

from __future__ import annotations

from dataclasses import replace

from sgverify.evidence import Evidence, Point
from sgverify.report import explain
from sgverify.testing.counterexample import Counterexample

SHOWN = 5
"""Points that a failure shows at most: the first ones, at the largest steps or shortest lengths."""


class Violation(AssertionError):
    """Evidence with the verdict `violates`; its text is the claim, what was found, the points and the replay.

    A property adds its minimal configuration, the files that it left and the row of the regression file.
    """

    def __init__(self, evidence: Evidence, counterexample: Counterexample | None = None) -> None:
        kept = [] if counterexample is None else counterexample.lines
        super().__init__(
            "\n".join([f"{evidence.claim}: {evidence.reason}", f"replay: {evidence.replay}", *kept])
        )
        self.evidence, self.counterexample = evidence, counterexample

    @property
    def text(self) -> str:
        """What a test report shows in the place of a traceback."""
        lines = [explain(replace(self.evidence, certificate={}))]
        lines += [f"  {'point':<12}{_point(point)}" for point in self.evidence.points[:SHOWN]]
        more = len(self.evidence.points) - SHOWN
        kept = [] if self.counterexample is None else self.counterexample.lines
        return "\n".join([*lines, *([f"  {'':<12}... and {more} more"] if more > 0 else []), *kept])


def _point(point: Point) -> str:
    place = ", ".join(
        f"{name} = {value:.6g}"
        for name, value in (("h", point.step), ("L", point.length))
        if value is not None
    )
    if point.value is None:
        return f"{place}: {point.note}"
    error = f" (standard error {point.standard_error:.2g})" if point.standard_error else ""
    return f"{place}: {point.value:.6g}{error}"


__all__ = ["Violation"]
