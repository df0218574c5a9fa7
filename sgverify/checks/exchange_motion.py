"""A step of every replica redone in long double, on the draws and the gradients of the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sgverify.checks.exchange_plan import Plan
from sgverify.checks.exchange_transcript import Step
from sgverify.errors import DefinitionError
from sgverify.exact.long_double import LongDouble, step_in_long_double
from sgverify.schemes.binding import parameters_of
from sgverify.schemes.slope import FullSlope

STEP_ROUNDING = 1e-9
"""Of a step, relative to its largest number: some dozens of roundings of 1e-16, and those of constants that cancel."""


def motion_faults(step: Step, state: Sequence[np.ndarray], plan: Plan) -> Iterator[tuple[str, str]]:
    """The scheme's own step of every replica, at its temperature and its step size, on the draws and gradients of the run."""
    subject, h = plan.subject, plan.h_at(step.number)
    for k, T in enumerate(plan.temperatures):
        felt = _Felt([(felt.theta[k], felt.given[k]) for felt in step.felt])
        wanted = step_in_long_double(
            subject.scheme,
            [value[k] for value in state],
            [drawn[k] for drawn in step.draws],
            h=float(h[k]),
            gradient=felt,
            parameters={**parameters_of(subject.configuration), "T": float(T)},
            dim=subject.target.dim,
            metric=subject.metric,
        )
        slopes = max((float(np.abs(value).max()) for _, value in felt.given), default=0.0)
        for name, due, found, old in zip(subject.scheme.state, wanted, step.moved, state, strict=True):
            size = max(1.0, *(float(np.abs(part[k]).max()) for part in (*state, *step.moved)))
            bound = STEP_ROUNDING * (size + float(h[k]) * slopes)
            apart = float(np.abs(found[k] - due).max())
            if not apart <= bound or felt.count != len(felt.given):
                yield (
                    "motion",
                    f"step {step.number} of replica {k + 1} took {name} = {float(old[k].flat[0]):.6g} to "
                    f"{float(found[k].flat[0]):.9g}; the scheme at T = {T:.6g} and h = {h[k]:.6g} takes it to "
                    f"{float(np.asarray(due).flat[0]):.9g}",
                )
                return


class _Felt(FullSlope):
    """The gradients that a replica felt in a step, in turn."""

    def __init__(self, given: list[tuple[np.ndarray, np.ndarray]]) -> None:
        self.given, self.count = given, 0

    def __call__(self, place: LongDouble) -> LongDouble:
        """What was felt there; NaN where the run asked fewer times, or elsewhere."""
        self.count += 1
        if self.count > len(self.given):
            return type(place)(np.full(np.shape(place.value), np.nan))
        at, value = self.given[self.count - 1]
        size = 1 + float(np.abs(at).max())
        near = float(np.abs(place.value - at).max()) <= STEP_ROUNDING * size * 1e3
        return type(place)(np.asarray(value, dtype=np.longdouble) * (1 if near else np.nan))

    def hessian(self, place: LongDouble, vector: LongDouble) -> LongDouble:
        """Refused, as the parts are: what a replica felt was written down of its gradients alone."""
        raise DefinitionError(
            "the motion of replicas that ask for Hessian-vector products, or for prior and likelihood apart, is not redone"
        )

    def prior(self, place: LongDouble) -> LongDouble:
        """See `hessian`."""
        return self.hessian(place, place)

    likelihood = prior


__all__ = ["motion_faults"]
