"""Is each step of a replica between swaps the scheme's step at its temperature and step size, recomputed in long double?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sgverify.errors import DefinitionError
from sgverify.exact.readings.long_double import LongDouble, step_in_long_double
from sgverify.schemes.definition.binding import FullGradientIngredient, parameters_of
from tests.self_checks.exchange_plan import ExchangePlan
from tests.self_checks.exchange_transcript import ExchangeStep

STEP_ROUNDING = 1e-9
"""The rounding bound of a step, relative to its largest number: dozens of roundings of 1e-16, and cancelling constants."""


def motion_faults(
    step: ExchangeStep, state: Sequence[np.ndarray], plan: ExchangePlan
) -> Iterator[tuple[str, str]]:
    """Faults of the scheme's step, recomputed for every replica at its temperature and step size on the run's draws."""
    subject, h = plan.subject, plan.h_at(step.number)
    for k, T in enumerate(plan.temperatures):
        recorded, wanted = _redone_step(step, state, plan, k, float(T), float(h[k]))
        largest = max((float(np.abs(value).max()) for _, value in recorded.given), default=0.0)
        for name, due, found, old in zip(subject.scheme.state, wanted, step.moved, state, strict=True):
            size = max(1.0, *(float(np.abs(part[k]).max()) for part in (*state, *step.moved)))
            bound = STEP_ROUNDING * (size + float(h[k]) * largest)
            apart = float(np.abs(found[k] - due).max())
            if not apart <= bound or recorded.count != len(recorded.given):
                yield (
                    _of_another(step, state, plan, k, bound) or "motion",
                    f"{name} {float(found[k].flat[0]):.6g}, required {float(np.asarray(due).flat[0]):.6g}; step {step.number} of "
                    f"replica {k + 1} took {name} = {float(old[k].flat[0]):.6g} to {float(found[k].flat[0]):.9g}; the "
                    f"scheme at T = {T:.6g} and h = {h[k]:.6g} takes it to "
                    f"{float(np.asarray(due).flat[0]):.9g}",
                )
                return


def _redone_step(
    step: ExchangeStep, state: Sequence[np.ndarray], plan: ExchangePlan, k: int, T: float, h: float
) -> tuple[_RecordedGradients, Sequence[Any]]:
    """The scheme's step of replica k at a temperature and step size, with the gradients that it asked for."""
    subject = plan.subject
    recorded = _RecordedGradients([(call.theta[k], call.given[k]) for call in step.gradient_calls])
    wanted = step_in_long_double(
        subject.scheme,
        [value[k] for value in state],
        [drawn[k] for drawn in step.draws],
        h=h,
        gradient=recorded,
        parameters={**parameters_of(subject.configuration), "T": T},
        dim=subject.target.dim,
        metric=subject.metric,
    )
    return recorded, wanted


def _of_another(
    step: ExchangeStep, state: Sequence[np.ndarray], plan: ExchangePlan, k: int, bound: float
) -> str | None:
    """Is the step of replica k the one at the "temperature" or the "step size" of another replica? None where it is neither."""
    h = plan.h_at(step.number)
    own = float(plan.temperatures[k]), float(h[k])
    for other in range(len(plan.temperatures)):
        for kind, at in (
            ("temperature", (float(plan.temperatures[other]), own[1])),
            ("step size", (own[0], float(h[other]))),
        ):
            _, wanted = _redone_step(step, state, plan, k, *at)
            gaps = [np.abs(found[k] - due).max() for found, due in zip(step.moved, wanted, strict=True)]
            if at != own and max(gaps) <= bound:
                return kind
    return None


class _RecordedGradients(FullGradientIngredient):
    """The recorded gradients of one replica in one step, returned in the order in which the run evaluated them."""

    def __init__(self, given: list[tuple[np.ndarray, np.ndarray]]) -> None:
        self.given, self.count = given, 0

    def __call__(self, place: LongDouble) -> LongDouble:
        """The recorded gradient at `place`; NaN if the run evaluated fewer gradients, or evaluated this one elsewhere."""
        self.count += 1
        if self.count > len(self.given):
            return type(place)(np.full(np.shape(place.value), np.nan))
        at, value = self.given[self.count - 1]
        size = 1 + float(np.abs(at).max())
        near = float(np.abs(place.value - at).max()) <= STEP_ROUNDING * size * 1e3
        return type(place)(np.asarray(value, dtype=np.longdouble) * (1 if near else np.nan))

    def hessian(self, place: LongDouble, vector: LongDouble) -> LongDouble:
        """Raise an error, as for separate prior and likelihood: only gradients of U were recorded."""
        raise DefinitionError(
            "the motion of replicas that ask for Hessian-vector products, or for prior and likelihood apart, is not redone"
        )

    def prior(self, place: LongDouble) -> LongDouble:
        """See `hessian`."""
        return self.hessian(place, place)

    likelihood = prior


__all__ = ["motion_faults"]
