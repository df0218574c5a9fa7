"""What does a library do beside the step that is judged: how a chain starts, and other ways to take the same step?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LifeCycle:
    """What was tried around a step, each as a clause, and a sentence for each fault."""

    tried: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


__all__ = ["LifeCycle"]
