"""The rung of transfer operators: which engine of grids reaches a subject, else the reason why none does."""

from __future__ import annotations

from collections.abc import Callable

from sgverify.checks.remembered import cached_per_subject
from sgverify.checks.subject import Subject
from sgverify.errors import OutOfReachError
from sgverify.exact.transfer.answers import GridAnswers
from sgverify.exact.transfer.line import LineAnswers
from sgverify.exact.transfer.plane import PlaneAnswers
from sgverify.schemes import exact

ENGINES: dict[tuple[str, ...], Callable[..., GridAnswers]] = {
    ("theta",): LineAnswers,
    ("theta", "p"): PlaneAnswers,
}
"""By the state of the dynamics."""


@cached_per_subject
def transfer_answers(subject: Subject) -> GridAnswers:
    """The grids' answers about `subject`; raises `OutOfReachError` with a sentence for the reader."""
    why = _why_not(subject)
    if why:
        raise OutOfReachError(f"no transfer operator on a grid: {why}")
    c = subject.configuration
    engine = ENGINES[subject.scheme.dynamics.state]
    try:
        return engine(
            subject.read_scheme, subject.target, subject.observable, exact(c.temperature), exact(c.friction)
        )
    except OutOfReachError as error:
        raise OutOfReachError(f"no transfer operator on a grid: {error}") from None


def _why_not(subject: Subject) -> str | None:
    gradient, state = subject.configuration.gradient, subject.scheme.dynamics.state
    if state not in ENGINES:
        return f"there is none for the state ({', '.join(state)})"
    if gradient.estimator.noisy:
        return f"gradient.kind={gradient.kind!r}: the grids are those of full gradients"
    if gradient.clip is not None:
        return f"gradient.clip={gradient.clip!r}: a clipped gradient is not smooth"
    if gradient.scale != 1:
        return f"gradient.scale={gradient.scale!r}: the grids are those of unbiased gradients"
    return None
