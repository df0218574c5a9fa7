"""A user's torch code under a configuration: a step from which no definition can be read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from sgverify.errors import ConfigurationError, NotExpandableError
from sgverify.exact.affine.noise import check_minibatch
from sgverify.schemes.torch_step import TorchStep
from sgverify.subject.step_sizes import share_of_time_scale
from sgverify.subject.subject import Subject
from sgverify.targets.derived import check_likelihood


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

    @property
    def as_momentum(self) -> str:
        """The command that judges the step with its memory as a momentum; "" where the mean of its steps shows none."""
        found = self.scheme.as_momentum and self.scheme.as_momentum()
        settings = [part for key, value in (found or {}).items() for part in ("--set", f"{key}={value}")]
        return self.command("verify", *settings) if settings else ""

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
        """The step size where none is configured."""
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


__all__ = ["TorchSubject", "limits"]
