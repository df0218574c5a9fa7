"""Does `step` of an optimizer draw its noise only where a flag asks for it?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sgverify.adapters.optimizers.finding import AT, DIMS, probe
from sgverify.adapters.optimizers.step import OptimizerStep, apart
from sgverify.samplers.intercepted.interception import Recording
from sgverify.schemes.adapting import parameter


def silent_flag(step: OptimizerStep) -> str:
    """The setting of a flag of `step` without whose other value a step draws nothing; "" where there is none."""
    still = _draws(step)
    for name in step.options.of_step if not still else ():
        default = step.options.left.get(name)
        if not isinstance(default, (bool, int, float)):
            continue
        other = not default if isinstance(default, bool) else 1.0 - bool(default)
        read = {**step.options.read, name: parameter(name, other)}
        if _draws(OptimizerStep(replace(step.options, read=read), step.function, step.kept, None, step.told)):
            return f"{name}={default!r} of step, without the noise that it has with --set adapter.map.{name}={float(other):g}"
    return ""


def _draws(step: OptimizerStep) -> int:
    """The number of random operations of a step."""
    theta, values = probe(step, np.random.default_rng(0))
    with apart(), Recording() as recording:
        step.take(step.options.at({**AT, "dim": float(DIMS[0])}), theta, values, lambda x: 0.5 * x)
    return len(recording.values)


__all__ = ["silent_flag"]
