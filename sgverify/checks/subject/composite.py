"""The ladder of replicas that a composite is configured with, in exact numbers.

A subject that is a composite: its own checks read the rule around the steps, its scheme has all of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sgverify.checks.subject.subject import Subject
from sgverify.configuration.model import ExchangeTable
from sgverify.errors import ConfigurationError, NotExpandableError
from sgverify.exact.series.dimensions import Proved
from sgverify.schemes import exact
from sgverify.schemes.composites.composite import Composite
from sgverify.schemes.loading import scheme_reference

if TYPE_CHECKING:
    from sgverify.checks.registry import Check


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


@dataclass(frozen=True)
class CompositeSubject(Subject):
    """A composite under a configuration; `scheme` is the one that it is made around, `reference` names the composite."""

    composite: Composite = None  # type: ignore[assignment]

    strange: ClassVar[tuple[str, ...]] = ()

    @cached_property
    def alone(self) -> Subject:
        """Its scheme as a subject of its own, which starts where the coldest replica does."""
        alone = self.configuration
        if isinstance(alone.start, list):
            alone = alone.model_copy(update={"start": alone.start_of()})
        return Subject(self.scheme, alone, scheme_reference(self.composite))

    @property
    def parts(self) -> tuple[Subject, ...]:
        """Itself, and its scheme."""
        return self, self.alone

    @property
    def proved_order(self) -> Proved | NotExpandableError:
        """That of its scheme."""
        return self.alone.proved_order

    def why_not_asked(self, check: Check) -> str | None:
        """Why a check is not asked of such a subject; None where it may be."""
        if check.composite:
            return None
        return f"{check.name} is asked of the scheme of a composite; verify {self.alone.reference}"

    def validate(self) -> None:
        """Meet every error that the configuration alone can cause, before anything is computed."""
        super().validate()
        if self.method is not None:
            raise ConfigurationError(
                f"method={self.method!r} with scheme={self.reference!r}: a composite has no rates of its own; leave it out, or "
                f"ask about its scheme {self.alone.reference}"
            )


__all__ = ["CompositeSubject"]
