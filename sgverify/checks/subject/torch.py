"""What does a check examine if the step is a user's torch code, from which no definition can be read?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sgverify.checks.subject.caching import cached_by
from sgverify.checks.subject.step_sizes import share_of_time_scale
from sgverify.checks.subject.subject import Subject
from sgverify.errors import ConfigurationError, InstabilityError, NotExpandableError
from sgverify.exact.affine.noise import check_minibatch
from sgverify.schemes.torch_step import TorchStep
from sgverify.targets.scaled import check_likelihood

if TYPE_CHECKING:
    from sgverify.checks.check import Check
    from sgverify.checks.order.quadrature import MeasuredOrder

MOST_COORDINATES = 4
"""The most coordinates of a state for which the order is also measured in the target's dimension: there are 7^n moments."""

OF_OWN_LOSS = ("own-loss", "pure-step")
"""The checks of code that brings its own loss and data."""


@dataclass(frozen=True)
class TorchSubject(Subject):
    """A torch step under a configuration; only quadrature over its normal draws examines it."""

    scheme: TorchStep  # type: ignore[assignment]

    black_box: ClassVar[bool] = True

    @property
    def front(self) -> tuple[int, ...]:
        """The leading axis (chains,) of a single state if the code takes many chains at once; else no axis."""
        return (1,) if self.scheme.chains else ()

    @cached_property
    def order(self) -> NotExpandableError:
        """The reason why there is no proved order: torch code has no power series."""
        return NotExpandableError("torch code")

    @property
    def measured(self) -> MeasuredOrder | str:
        """The local order, measured by quadrature; or the reason why it cannot be measured."""
        return _measured(self)

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

    @property
    def predicted_order(self) -> int:
        """K in the predictions: the measured order if it is resolved, else the order that the code states; at least 1.

        1 with memory: one step from a memory at rest says what the chain tends to as h -> 0, and not how fast.
        """
        if self.scheme.memory:
            return 1
        if isinstance(self.measured, str) or not self.measured.resolved:
            return max(1, self.scheme.order or 1)
        return max(1, int(self.measured.order))

    @property
    def held_to_flow(self) -> bool:
        """Is one step compared with the flow of the dynamics, and not only its invariant law with the target?

        A step that is known not to be consistent with the flow is reported by its own check; its invariant law may be right.
        """
        measured = self.measured
        if self.scheme.memory:
            return False
        return isinstance(measured, str) or measured.order >= 1 or not measured.resolved

    @cached_property
    def why_not_affine(self) -> str:
        """The reason why no exact law of torch code is computed."""
        return "torch code is read at nodes of a quadrature, not as an exact map"

    @property
    def swaps(self) -> bool:
        """Does the code come with a rule by which replicas swap?"""
        return self.scheme.swap is not None

    @property
    def noise_enters_as_drift(self) -> bool:
        """Does gradient noise move one step, to leading order in h, by h times what it moves the drift?"""
        # Imported here: torch is loaded when a step runs, not when a subject is made.
        from sgverify.checks.one_step.torch_chain import NotReadError, chain_of

        try:
            return chain_of(self).noise_enters_as_drift
        except (NotReadError, InstabilityError):
            return False

    @cached_property
    def why_no_law(self) -> str | None:
        """The reason why the moments of the invariant law are not read off an affine map of the step; None if they are."""
        from sgverify.checks.one_step.torch_chain import NotReadError, chain_of

        try:
            chain = chain_of(self)
            chain.map(chain.first)
        except (NotReadError, InstabilityError) as error:
            return str(error)
        return None

    def why_not_asked(self, check: Check) -> str | None:
        """The reason why a check does not apply to torch code; None if the check applies."""
        if self.scheme.own_loss is not None and check.name not in OF_OWN_LOSS:
            return (
                f"{check.name} hands a step gradients of targets of its own choice, and scheme={self.reference!r} brings its own "
                f"loss and data; of that are read {', '.join(OF_OWN_LOSS)}"
            )
        if check.composite and not self.swaps:
            return f"{check.name} reads a rule of swaps, and scheme={self.reference!r} has none (torch_step(..., swap=))"
        if check.black_box:
            return None
        from sgverify.checks.registry import CHECKS

        able = ", ".join(name for name, other in CHECKS.items() if other.black_box)
        return f"{check.name} is read off a definition, and scheme={self.reference!r} is torch code; of that are read {able}"

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


@cached_by(lambda subject: (id(subject.scheme), subject.proof_dimension, subject.target.dim))
def _measured(subject: TorchSubject) -> MeasuredOrder | str:
    # Imported here: torch is loaded when a step runs, not when a subject is made.
    from sgverify.checks.order.quadrature import measure_order
    from sgverify.samplers.intercepted import BlackBoxError, UnreadableDrawError
    from sgverify.samplers.intercepted.equilibrated import NotAtRestError

    if subject.scheme.memory:
        try:
            return measure_order(subject.step_at_rest, subject.proof_dimension)
        except (BlackBoxError, UnreadableDrawError, NotAtRestError) as error:
            why = f"with a memory ({subject.kept}) one step has no order, and {error}"
            command = subject.as_momentum
            return (
                f"its memory is a momentum, judged by: {command}; {why}"
                if command
                else f"{why}: {subject.way_on}"
            )
    try:
        found = measure_order(subject.scheme, subject.proof_dimension)
    except (BlackBoxError, UnreadableDrawError) as error:
        return str(error)
    # A step may treat its third coordinate differently; beyond four coordinates there are too many moments.
    dim = subject.target.dim
    if subject.proof_dimension < dim and dim * len(subject.scheme.state) <= MOST_COORDINATES:
        try:
            larger = measure_order(subject.scheme, dim)
        except (BlackBoxError, UnreadableDrawError):
            return found
        # Rounding accumulates over more nodes: a difference is still visible, while equality may not be provable.
        if larger.order < found.order or larger.resolved:
            return larger
    return found


def limits(dim: int) -> str:
    """The certificate's sentence about the aspects of torch code that a verdict does not cover."""
    return (
        f"judged in float64 in dimension {dim} at the step sizes of this evidence; other dimensions, and what it computes in "
        "float32, are not judged"
    )


__all__ = ["TorchSubject", "limits"]
