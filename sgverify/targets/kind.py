"""A kind of target: a potential and the configuration keys of its constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sgverify.targets.potential import PairPotential, Potential

VECTOR, MATRIX = "vector", "matrix"


@dataclass(frozen=True)
class TargetKind:
    """What it takes to add a target: one potential, and its constants with their shapes and defaults.

    `constants` maps a configuration key to (shape, default); a "matrix" is a precision, symmetric and
    positive definite. `potential` takes them as keywords and returns (prior, likelihood or None).
    """

    name: str
    summary: str
    source: str
    constants: Mapping[str, tuple[str, int]]
    potential: Callable[..., tuple[Potential, PairPotential | None]] = field(repr=False)
    has_data: bool

    @property
    def keys(self) -> tuple[str, ...]:
        """The configuration keys, below `target.`, that belong to this kind."""
        return ("name", "dim", *self.constants, *(("size", "data_seed", "data") if self.has_data else ()))
