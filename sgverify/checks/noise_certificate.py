"""What gradient noise adds to a local order, for a certificate."""

from __future__ import annotations

from typing import Any

from sgverify.checks.question import whole
from sgverify.checks.subject import Subject
from sgverify.errors import NotExpandableError


def noise_certificate(subject: Subject) -> dict[str, Any]:
    """What the gradient noise adds to the local order, where the order was proved; and where there is none."""
    order, noise = subject.order, subject.noise
    said = {}
    cancelled = subject.configuration.gradient.estimator.cancelled
    if cancelled and subject.target.common_curvature and noise.minibatch is None:
        said["gradient_noise"] = (
            f"none: every datum has the same Hessian, so the minibatch cancels from {cancelled} are full gradients here"
        )
    if isinstance(order, NotExpandableError):
        return said
    return {
        **said,
        "local_order_given_minibatch": whole(order.order),
        "local_order_averaged": whole(order.averaged_order),
    }
