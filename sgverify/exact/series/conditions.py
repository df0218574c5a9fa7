"""What a power series is said under: the states that it speaks of, and how small h is to be."""

from __future__ import annotations

from dataclasses import dataclass

WHERE = "where"
"""A condition on the state or the parameters, such as theta != 0, beside which the definition is not defined."""

LIMIT = "as h -> 0"
"""A condition on h, such as h < 1/5, beyond which the definition is not real, or its series not known to be it."""

UNSEEN = "as h -> 0 alone"
"""What no coefficient at h = 0 knows of: a term such as exp(-1/h), or an h beyond which the definition is another function."""


@dataclass(frozen=True)
class Condition:
    """One condition; `kind` is WHERE, LIMIT or UNSEEN, `text` is for the middle of a sentence."""

    kind: str
    text: str
