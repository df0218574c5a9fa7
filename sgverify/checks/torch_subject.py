"""A subject whose step is somebody else's torch code: what is derived from a definition it has not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sgverify.checks.subject import Subject
from sgverify.checks.typical_step import SHARE_WITH_MOMENTUM, SHARE_WITHOUT
from sgverify.errors import ConfigurationError, NotExpandableError
from sgverify.exact.affine.gradient_noise import check_minibatch
from sgverify.schemes.torch_step import TorchStep
from sgverify.targets.scaled import check_likelihood

if TYPE_CHECKING:
    from sgverify.checks.quadrature_order import MeasuredOrder


@dataclass(frozen=True)
class TorchSubject(Subject):
    """A torch step under a configuration: read by quadrature where its draws are normal, and by nothing else."""

    scheme: TorchStep  # type: ignore[assignment]

    @cached_property
    def order(self) -> NotExpandableError:
        """There is no power series of torch code."""
        return NotExpandableError("torch code")

    @cached_property
    def measured(self) -> MeasuredOrder | str:
        """The local order, measured by quadrature; or why it cannot be."""
        # torch is loaded where a step is run, not where one is named.
        from sgverify.checks.quadrature_order import measure_order
        from sgverify.samplers.intercepted import BlackBoxError, UnreadableDrawError

        try:
            return measure_order(self.scheme, self.proof_dimension)
        except (BlackBoxError, UnreadableDrawError) as error:
            return str(error)

    @property
    def predicted_order(self) -> int:
        """K in the predictions: the order that was measured, else the one that the code states, at least 1."""
        if isinstance(self.measured, str):
            return max(1, self.scheme.order or 1)
        return max(1, int(self.measured.order))

    @cached_property
    def why_not_affine(self) -> str:
        """Why no exact law is computed."""
        return "torch code is read at nodes of a quadrature, not as an exact map"

    @property
    def _default_step(self) -> float:
        curvature = self.felt.curvature_float64(self.configuration.temperature)
        if "p" in self.scheme.dynamics.state:
            return SHARE_WITH_MOMENTUM / math.sqrt(curvature)
        return SHARE_WITHOUT / curvature

    def validate(self) -> None:
        """Meet every error that the configuration alone can cause, before anything is computed."""
        _ = self.observable
        gradient = self.configuration.gradient
        if gradient.kind not in ("full", "additive"):
            check_minibatch(gradient, self.target)
        if gradient.clip is not None:
            check_likelihood(self.target, f"gradient.clip={gradient.clip!r}")
        if self.method == "monte-carlo":
            raise ConfigurationError(
                f"method='monte-carlo' with scheme={self.reference!r}: torch code is judged by quadrature; leave --method out"
            )
        _ = self.noise


__all__ = ["TorchSubject"]
