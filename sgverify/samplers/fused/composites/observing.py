"""How are the test functions of all replicas recorded for a kernel?"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sgverify.samplers.fused.composites.program import Variable
from sgverify.samplers.fused.gradients import TRACED
from sgverify.samplers.fused.translation import NUMBER
from sgverify.samplers.reading.carrier import ObservedFunctions
from sgverify.samplers.reading.constants import Clock
from sgverify.samplers.reading.tape import Tape, record
from sgverify.samplers.run.weighted_sums import with_weights


def observed_tape(
    asked: ObservedFunctions | None,
    replicas: Sequence[Sequence[Variable]],
    groups: int,
    *,
    weighted: bool,
) -> tuple[Tape | None, list[tuple[str, Tensor]]]:
    """The tape of the test functions of all replicas, and its inputs in C; with weighted states, of the sums after a state."""
    if asked is None:
        return None, []
    parts = [[torch.ones((groups, TRACED, v.width), dtype=v.dtype) for v in one] for one in replicas]
    state = [value for part in parts for value in part]
    names = [v.name for one in replicas for v in one]
    inputs = list(zip(names, state, strict=True))
    if not weighted:
        tape = record(
            lambda: [value for part in parts for value in asked.evaluate(part)], state, (), Clock()
        )[0]
        return tape, inputs
    log = torch.ones((groups, TRACED, 1), dtype=torch.float64)
    factor = torch.ones((), dtype=torch.float64)
    sums = [torch.ones_like(log) for _ in range(len(asked.observables) + 2)]
    inputs += [("L0", log), (f"{NUMBER}weights[k * rows + s]", factor)]
    inputs += [(f"(sums + {o})", value) for o, value in enumerate(sums)]

    def summed() -> Sequence[Tensor]:
        return with_weights([value[..., 0] for value in sums], asked.evaluate(parts[0]), log[..., 0], factor)

    summed()
    return record(summed, [value for _, value in inputs], (), Clock())[0], inputs
