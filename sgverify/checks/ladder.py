"""The ladder of replicas that a composite is configured with, in exact numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sgverify.checks.subject import Subject
from sgverify.configuration.model import ExchangeTable
from sgverify.schemes import exact


@dataclass(frozen=True)
class Ladder:
    """T_k of each replica, what multiplies its step size, F, and m, the steps from refresh to refresh of a control."""

    temperatures: tuple[Fraction, ...]
    factors: tuple[Fraction, ...]
    correction: Fraction
    period: int

    @staticmethod
    def of(subject: Subject) -> Ladder:
        """The configured ladder, its defaults where nothing is configured."""
        table = subject.configuration.exchange or ExchangeTable()
        base = exact(subject.configuration.temperature)
        factors = table.step_factors or [1.0] * len(table.ladder)
        batch, size = subject.configuration.gradient.batch, subject.target.size
        return Ladder(
            tuple(base * exact(value) for value in table.ladder),
            tuple(map(exact, factors)),
            exact(table.correction),
            table.refresh or (1 if size is None else -(-size // batch)),
        )

    @property
    def pairs(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Neighbours, the colder one first."""
        return tuple(zip(self.temperatures, self.temperatures[1:], strict=False))
