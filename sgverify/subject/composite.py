"""A composite under a configuration: its rule, the scheme inside, and its ladder of temperatures."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sgverify.configuration.model import ExchangeTable
from sgverify.errors import ConfigurationError, NotExpandableError
from sgverify.schemes import exact
from sgverify.schemes.composites.adaptation import make_adaptation
from sgverify.schemes.composites.composite import Composite, ReplicaExchange
from sgverify.schemes.composites.weighting import AdaptivelyWeighted
from sgverify.schemes.loading import scheme_reference
from sgverify.subject.subject import Subject

if TYPE_CHECKING:
    from sgverify.exact.series.dimensions import Proved


@dataclass(frozen=True)
class Ladder:
    """The replicas' temperatures T_k and step-size factors, the factor F, and the steps m between refreshes of a control.

    All numbers are exact.
    """

    temperatures: tuple[Fraction, ...]
    factors: tuple[Fraction, ...]
    correction: Fraction
    period: int

    @staticmethod
    def of(subject: Subject) -> Ladder:
        """The configured ladder, with defaults for the keys that are not configured."""
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
        """The pairs of neighbouring temperatures, the colder one first."""
        return tuple(zip(self.temperatures, self.temperatures[1:], strict=False))


@dataclass(frozen=True)
class CompositeSubject(Subject):
    """A composite under a configuration; `scheme` is the scheme inside the composite, `reference` names the composite."""

    composite: Composite = None  # type: ignore[assignment]

    strange: ClassVar[tuple[str, ...]] = ()

    @cached_property
    def alone(self) -> Subject:
        """The composite's scheme as a subject of its own, from the start of the coldest replica."""
        alone = self.configuration
        if isinstance(alone.start, list):
            alone = alone.model_copy(update={"start": alone.start_of()})
        found = Subject(self.scheme, alone, scheme_reference(self.composite))
        vars(found)["target"] = self.target
        return found

    @property
    def parts(self) -> tuple[Subject, ...]:
        """The composite and its scheme, each as a subject."""
        return self, self.alone

    @property
    def proved_order(self) -> Proved | NotExpandableError:
        """The proved local order of the composite's scheme."""
        return self.alone.proved_order

    def validate(self) -> None:
        """Raise every error that the configuration alone can cause, before any computation."""
        super().validate()
        c = self.configuration
        if isinstance(self.composite, AdaptivelyWeighted):
            make_adaptation(c.partition, self.target, c.temperature, cumulative=not self.composite.contour)
        if isinstance(self.composite, ReplicaExchange):
            # Imported here: the modules import torch.
            from sgverify.samplers.composites.exchange import check_choice
            from sgverify.samplers.composites.swap_energies import check_energies

            check_choice(c.exchange or ExchangeTable())
            check_energies(c.exchange or ExchangeTable(), c.gradient)
        if self.method is not None:
            raise ConfigurationError(
                f"method={self.method!r} with scheme={self.reference!r}: a composite has no rates of its own; leave it out, or "
                f"ask about its scheme {self.alone.reference}"
            )


__all__ = ["CompositeSubject"]
