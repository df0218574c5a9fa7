"""How large is the error of a chain at a step size, and which step keeps it small?

`model`: what is found (`HowLarge`). `finding` computes it from the law of a chain, by `crossings` the largest step within an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.advice.size.finding import how_large
    from sgverify.advice.size.model import HowLarge, Level, MonteCarlo, PowerOfStep

__all__ = ["HowLarge", "Level", "MonteCarlo", "PowerOfStep", "how_large"]

__getattr__, __dir__ = lazily(__name__)
