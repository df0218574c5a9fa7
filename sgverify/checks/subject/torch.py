"""What does a check examine if the step is a user's torch code, from which no definition can be read?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sgverify.checks.subject.step_sizes import share_of_time_scale
from sgverify.checks.subject.subject import Subject
from sgverify.errors import ConfigurationError, NotExpandableError
from sgverify.exact.affine.noise import check_minibatch
from sgverify.schemes.torch_step import TorchStep
from sgverify.targets.scaled import check_likelihood

if TYPE_CHECKING:
    from sgverify.checks.order.quadrature import MeasuredOrder
    from sgverify.checks.registry import Check

MOST_COORDINATES = 4
"""The most coordinates of a state for which the order is also measured in the target's dimension: there are 7^n moments."""


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

    @cached_property
    def measured(self) -> MeasuredOrder | str:
        """The local order, measured by quadrature; or the reason why it cannot be measured."""
        # Imported here: torch is loaded when a step runs, not when a subject is made.
        if self.scheme.memory:
            return (
                f"it carries on a memory ({', '.join(self.scheme.memory)}), and what one step does depends on what that is: its "
                "law is judged"
            )
        from sgverify.checks.order.quadrature import measure_order
        from sgverify.samplers.intercepted import BlackBoxError, UnreadableDrawError

        try:
            found = measure_order(self.scheme, self.proof_dimension)
        except (BlackBoxError, UnreadableDrawError) as error:
            return str(error)
        # A step may treat its third coordinate differently; beyond four coordinates there are too many moments.
        dim = self.target.dim
        if self.proof_dimension < dim and dim * len(self.scheme.state) <= MOST_COORDINATES:
            try:
                larger = measure_order(self.scheme, dim)
            except (BlackBoxError, UnreadableDrawError):
                return found
            # Rounding accumulates over more nodes: a difference is still visible, while equality may not be provable.
            if larger.order < found.order or larger.resolved:
                return larger
        return found

    @property
    def predicted_order(self) -> int:
        """K in the predictions: the measured order if it is resolved, else the order that the code states; at least 1."""
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

    def why_not_asked(self, check: Check) -> str | None:
        """The reason why a check does not apply to torch code; None if the check applies."""
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


def limits(dim: int) -> str:
    """The certificate's sentence about the aspects of torch code that a verdict does not cover."""
    return (
        f"judged in float64 in dimension {dim} at the step sizes of this evidence; other dimensions, and what it computes in "
        "float32, are not judged; white-noise, independent-chains, moments and agreement do not exist for torch code"
    )


__all__ = ["TorchSubject", "limits"]
