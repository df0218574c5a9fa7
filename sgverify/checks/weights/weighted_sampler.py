"""What the checks of adaptively weighted samplers share: the rules as they run, the masses of their regions, and theta*."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from flint import arb

from sgverify.checks.subject.caching import cached_per_subject
from sgverify.checks.subject.subject import Subject
from sgverify.exact.weights.fixed_point import Contour, cumulated_weights, visited_weights
from sgverify.exact.weights.masses import RegionMasses, region_masses
from sgverify.schemes.composites.adaptation import Adaptation, PartitionChoice, make_adaptation


@dataclass(frozen=True)
class WeightedSampler:
    """One adaptively weighted sampler under one configuration: its rules, and what the exact rungs know of them.

    `adaptation` is what the run adapts by; the masses are those of exp(-U/T) at the temperature of the configuration.
    """

    subject: Subject

    @staticmethod
    @cached_per_subject
    def of(subject: Subject) -> WeightedSampler:
        """The same object for all claims of a subject, so that its masses are integrated once."""
        return WeightedSampler(subject)

    @cached_property
    def adaptation(self) -> Adaptation:
        """The rules that run."""
        c = self.subject.configuration
        return make_adaptation(
            getattr(c, "partition", None) or PartitionChoice(),
            self.subject.target,
            c.temperature,
            cumulative=self.cumulates,
        )

    @property
    def cumulates(self) -> bool:
        """Whether theta grows with the cumulated masses (AWSGLD), or with those of the regions (CSGLD)."""
        return not getattr(self.subject.composite, "contour")  # noqa: B009

    @property
    def zeta(self) -> Fraction:
        """zeta, as the decimal that it prints as."""
        return Fraction(repr(self.adaptation.zeta))

    @property
    def rule(self) -> Any:
        """What the mean field asks: CSGLD's pull with the same zeta as the law has, the run's own rules else."""
        if not self.cumulates and self.adaptation.zeta != int(self.adaptation.zeta):
            return Contour(self.zeta)
        return self.adaptation

    @cached_property
    def masses(self) -> RegionMasses:
        """p_1, ..., p_m. Raises `ConfigurationError` where they are beyond enclosure and quadrature."""
        return region_masses(
            self.subject.target, self.adaptation.partition.inner, self.subject.configuration.temperature
        )

    @cached_property
    def star(self) -> tuple[arb, ...]:
        """theta*. Raises `ConfigurationError` for an empty region."""
        if self.cumulates:
            return cumulated_weights(self.masses.masses, self.zeta)
        return visited_weights(self.masses.masses)


def text(value: arb, digits: int = 6) -> str:
    """The middle of a ball."""
    return str(value.str(digits, radius=False))
