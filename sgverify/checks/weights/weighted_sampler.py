"""What do all checks of adaptively weighted samplers use? The running rules, the masses of the regions, and theta*."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from flint import arb

from sgverify.exact.weights.fixed_point import Contour, cumulated_weights, visited_weights
from sgverify.exact.weights.masses import RegionMasses, region_masses
from sgverify.schemes.composites.adaptation import Adaptation, PartitionChoice, make_adaptation
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject


@dataclass(frozen=True)
class WeightedSampler:
    """One adaptively weighted sampler under one configuration: its running rules, and the exact quantities behind them.

    `adaptation` holds the rules of the run; the masses are those of exp(-U/T) at the configured temperature.
    """

    subject: Subject

    @staticmethod
    @cached_per_subject
    def of(subject: Subject) -> WeightedSampler:
        """The sampler of a subject; all its claims share one object, so that the masses are integrated once."""
        return WeightedSampler(subject)

    @cached_property
    def adaptation(self) -> Adaptation:
        """The rules by which the run adapts."""
        c = self.subject.configuration
        return make_adaptation(
            getattr(c, "partition", None) or PartitionChoice(),
            self.subject.target,
            c.temperature,
            cumulative=self.cumulates,
        )

    @property
    def cumulates(self) -> bool:
        """Does theta* grow with the cumulated masses (AWSGLD, True), or with the masses of the regions (CSGLD, False)?"""
        return not getattr(self.subject.composite, "contour")  # noqa: B009

    @property
    def zeta(self) -> Fraction:
        """zeta as the fraction of its printed decimal."""
        return Fraction(repr(self.adaptation.zeta))

    @property
    def rule(self) -> Any:
        """The rule in the mean field: for CSGLD with a fractional zeta its update with the exact zeta, else the running rules."""
        if not self.cumulates and self.adaptation.zeta != int(self.adaptation.zeta):
            return Contour(self.zeta)
        return self.adaptation

    @cached_property
    def masses(self) -> RegionMasses:
        """The masses p_1, ..., p_m. Raises `ConfigurationError` if neither enclosure nor quadrature computes them."""
        return region_masses(
            self.subject.target, self.adaptation.partition.inner, self.subject.configuration.temperature
        )

    @cached_property
    def star(self) -> tuple[arb, ...]:
        """The fixed point theta* of the weights. Raises `ConfigurationError` for an empty region."""
        if self.cumulates:
            return cumulated_weights(self.masses.masses, self.zeta)
        return visited_weights(self.masses.masses)


def text(value: arb, digits: int = 6) -> str:
    """The midpoint of a ball as text."""
    return str(value.str(digits, radius=False))
