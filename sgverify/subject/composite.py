"""Composites under a configuration, with their ladder of temperatures, and a user's torch code, of which no definition is read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sgverify.configuration.model import ExchangeTable
from sgverify.errors import ConfigurationError, NotExpandableError
from sgverify.exact.affine.noise import check_minibatch
from sgverify.schemes import exact
from sgverify.schemes.composites.adaptation import make_adaptation
from sgverify.schemes.composites.composite import AdaptivelyWeighted, Composite, ReplicaExchange
from sgverify.schemes.loading import scheme_reference
from sgverify.schemes.torch_step import TorchStep
from sgverify.subject.step_sizes import share_of_time_scale
from sgverify.subject.subject import Subject
from sgverify.targets.derived import check_likelihood

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


@dataclass(frozen=True)
class TorchSubject(Subject):
    """A torch step under a configuration; only quadrature over its normal draws examines it."""

    scheme: TorchStep  # type: ignore[assignment]

    black_box: ClassVar[bool] = True

    law_alone: ClassVar[bool] = False
    """Is the invariant law alone examined, at the order that the step states for that law?"""

    @property
    def front(self) -> tuple[int, ...]:
        """The leading axis (chains,) of a single state if the code takes many chains at once; else no axis."""
        return (1,) if self.scheme.chains else ()

    @cached_property
    def order(self) -> NotExpandableError:
        """The reason why there is no proved order: torch code has no power series."""
        return NotExpandableError("torch code")

    @property
    def step_at_rest(self) -> TorchStep:
        """The step; with memory, the one that it makes from the memory at which it comes to rest."""
        from sgverify.samplers.intercepted.equilibrated import equilibrated

        return equilibrated(self.scheme) if self.scheme.memory else self.scheme

    @property
    def kept(self) -> str:
        """The names of the memory."""
        return ", ".join(item.name for item in self.scheme.memory)

    @property
    def way_on(self) -> str:
        """What to do about a step whose memory gives it no order."""
        definition = f"write it as a definition, @scheme({self.scheme.dynamics.name}, memory=...)"
        if self.scheme.conventions and "p" not in self.scheme.dynamics.state:
            return f"if that is a momentum, say so by adapter.dynamics=kinetic and adapter.map, else {definition}"
        return f"{definition}, whose memory is brought to its own law first"

    @cached_property
    def why_not_affine(self) -> str:
        """The reason why no exact law of torch code is computed."""
        return "torch code is read at nodes of a quadrature, not as an exact map"

    @property
    def swaps(self) -> bool:
        """Does the code come with a rule by which replicas swap?"""
        return self.scheme.swap is not None

    @property
    def usual_step(self) -> float:
        """The step size where none is configured: on the data of a training script that of the optimizer's own defaults."""
        if self.scheme.own_step and self.configuration.target.loader:
            return self.scheme.own_step
        return share_of_time_scale(
            self.scheme.dynamics, self.effective_target.curvature_float64(self.configuration.temperature)
        )

    def validate(self) -> None:
        """Raise every error that the configuration alone can cause, before any computation."""
        _ = self.observable
        if self.configuration.dtype != "float64":
            raise ConfigurationError(
                f"dtype={self.configuration.dtype!r} with scheme={self.reference!r}: torch code is judged in "
                "float64; leave it out (the check dtype runs a step in float32 too)"
            )
        gradient = self.configuration.gradient
        if gradient.estimator.draws_data:
            check_minibatch(gradient, self.target)
        if gradient.clip is not None:
            check_likelihood(self.target, f"gradient.clip={gradient.clip!r}")
        if self.method == "monte-carlo":
            raise ConfigurationError(
                f"method='monte-carlo' with scheme={self.reference!r}: torch code is judged by quadrature; leave --method out"
            )
        _ = self.noise


def limits(dim: int) -> str:
    """The certificate's sentence about the aspects of torch code that a verdict does not cover."""
    return (
        f"judged in float64 in dimension {dim} at the step sizes of this evidence; other dimensions, and what it computes in "
        "float32, are not judged"
    )
