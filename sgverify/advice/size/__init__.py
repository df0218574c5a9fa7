"""The size of a chain's error at a step size, and the largest step that keeps it within a bound.

`model`: the answer (`HowLarge`). `finding` computes it from the law of a chain, with the largest step within an error,
and `coupled` by a run at three step sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.advice.size.finding import how_large
    from sgverify.advice.size.model import HowLarge, Level, MonteCarlo, PowerOfStep

__all__ = ["HowLarge", "Level", "MonteCarlo", "PowerOfStep", "how_large"]

__getattr__, __dir__ = lazily(__name__)
