"""How large is the error of a chain at a step size, and which step keeps it small?

`model`: what is found (`HowLarge`). `finding` computes it from one of the laws of `laws`, by `crossings` the largest step within an
error.
"""

from __future__ import annotations

from sgverify.advice.size.finding import how_large
from sgverify.advice.size.model import HowLarge, Level, MonteCarlo, PowerOfStep

__all__ = ["HowLarge", "Level", "MonteCarlo", "PowerOfStep", "how_large"]
