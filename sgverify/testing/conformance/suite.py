"""The sampled reading of one injected step: torch tensors, the sampler's constants and its gradient estimators.

The shipped conformance suite of readings: inherit it, say how your carrier takes a step, and run it.

    class TestMine(CarrierConformance):
        def schemes(self):
            return sgverify.strategies.schemes()

        def step(self, case):
            return ...  # {"theta": [...], "p": [...]}, the state after case.scheme's step with case's numbers

It needs no pytest: a plain call of `TestMine().test_one_step()` raises `AssertionError` with the smallest
step on which the reading and the definition part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import flint
import torch
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy
from torch import Tensor

from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.estimators import Estimator, MinibatchEstimator
from sgverify.samplers.reading.binding import bind_numbers
from sgverify.samplers.reading.constants import Clock
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import in_order, parameters_of
from sgverify.strategies import schemes
from sgverify.testing.conformance.case import Case, cases
from sgverify.testing.conformance.reference import DOUBLE, TrackedBall


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


BITS = 256


class CarrierConformance:
    """One step of the carrier under test equals the definition on balls, number for number.

    Two methods to override: `schemes` (optional), the schemes to try, and `step`. `unit` is the roundoff of
    the carrier's arithmetic, from which the tolerance of each number is derived; exact results must lie in the balls.
    `dims`, `kinds` (gradient estimators) and `examples` bound what is tried.
    """

    unit: float = DOUBLE
    dims: Sequence[int] = (1, 2, 3)
    kinds: Sequence[str] | None = None
    examples: int = 100

    def schemes(self) -> SearchStrategy[Scheme]:
        """The schemes that the carrier is to carry."""
        return schemes()

    def step(self, case: Case) -> Mapping[str, Sequence[Any]]:
        """The state after the step: floats, or exact numbers (arb, Fraction, int), by the state's names."""
        raise NotImplementedError("a carrier under test says how it takes one step: override `step`")

    def test_one_step(self) -> None:
        """The carrier's step is the definition's, for generated schemes, targets, estimators and draws."""

        @settings(max_examples=self.examples, deadline=None)
        @given(cases(schemes=self.schemes(), dims=self.dims, kinds=self.kinds))
        def agrees(case: Case) -> None:
            self.check(case)

        agrees()

    def check(self, case: Case) -> None:
        """Compare one case with the definition; raises `AssertionError` with the found and the expected values."""
        with flint.ctx.workprec(BITS):
            expected = case.expected(self.unit)
            found = self.step(case)
            if set(found) != set(expected):
                raise AssertionError(f"the step returned {sorted(found)}; expected {sorted(expected)}")
            for name, numbers in expected.items():
                if len(found[name]) != len(numbers):
                    raise AssertionError(f"{name}: {len(found[name])} coordinates; expected {len(numbers)}")
                for i, (value, number) in enumerate(zip(found[name], numbers, strict=True)):
                    gap = _gap(value, number)
                    if gap:
                        raise AssertionError(
                            f"{case.scheme.reference or case.scheme.name}: {name}[{i}] {gap}"
                        )


def _gap(value: Any, number: TrackedBall) -> str:
    """The difference in a coordinate as a sentence; empty where there is none."""
    if isinstance(value, arb):
        return "" if value.overlaps(number.value) else f"is {value}, the definition gives {number.value}"
    if isinstance(value, float):
        ball, bound = arb(value), number.error
    else:
        ball, bound = arb(fmpq(value.numerator, value.denominator)), arb(0)
    distance = (ball - number.value).abs_lower()
    if ball.is_finite() and distance <= bound.abs_upper():
        return ""
    return (
        f"is {value!r}, the definition gives {float(number.value.mid())!r}: apart by {float(arb(distance).mid()):.3g}, and "
        f"rounding explains at most {float(bound.mid()):.3g}"
    )
