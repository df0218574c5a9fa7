"""The sampled reading of one injected step: torch tensors, the sampler's constants and its gradient estimators."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.estimators import Estimator, MinibatchEstimator
from sgverify.samplers.reading.binding import bind_numbers
from sgverify.samplers.reading.constants import Clock
from sgverify.schemes.definition.binding import in_order, parameters_of
from sgverify.testing.conformance.suite import Case


def torch_step(
    case: Case, *, dtype: torch.dtype = torch.float64, hoist: bool = True
) -> dict[str, Sequence[float]]:
    """The state after the step, as floats; `hoist=False` visits the data by autograd at every gradient."""
    bound = bind_numbers(case.scheme, parameters_of(case), case.target.dim, Clock())
    estimator = _estimator(case, Potential(case.target, dtype=dtype, device="cpu", hoist=hoist), dtype)
    with torch.no_grad():
        values = bound.step(
            [_tensor(case.state[name], dtype) for name in case.scheme.state],
            h=case.step,
            grad=estimator.of_step(0),
            draw=in_order(_tensor(draw, dtype) for draw in case.draws),
        )
    results = {}
    for name, value in zip(case.scheme.state, values, strict=True):
        if value.dtype != dtype:
            raise AssertionError(f"{name} became {value.dtype}; expected {dtype}")
        results[name] = value.reshape(-1).to(torch.float64).tolist()
    return results


class _Given:
    """Minibatches that were written down."""

    def __init__(self, minibatches: Sequence[Sequence[int]]) -> None:
        self._drawn = torch.tensor(minibatches, dtype=torch.int64)[:, :, None, None]

    def block(self, first: int, count: int) -> Tensor:
        return self._drawn[first : first + count]


class _Shifted(Estimator):
    """The full gradient and a vector that was written down for each evaluation."""

    def __init__(self, potential: Potential, shifts: Sequence[Tensor]) -> None:
        super().__init__(potential)
        self._shifts = shifts

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        return self.potential.full(theta) + self._shifts[evaluation]


def _estimator(case: Case, potential: Potential, dtype: torch.dtype) -> Estimator:
    if case.gradient.estimator.each_evaluation:
        return _Shifted(potential, [_tensor(shift, dtype) for shift in case.shifts])
    if not case.minibatches:
        return Estimator(potential)
    count = len(case.minibatches)
    estimator = MinibatchEstimator(
        potential, _Given(case.minibatches), batch=case.gradient.batch, per_step=count
    )
    estimator.prepare(0, 1)
    return estimator


def _tensor(values: Sequence[float], dtype: torch.dtype) -> Tensor:
    return torch.tensor(values, dtype=dtype)[None, None, :]
