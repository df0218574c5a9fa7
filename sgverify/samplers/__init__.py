"""How is a scheme sampled? All chains and all step sizes of a sweep run in one torch tensor.

`reading` runs a definition on tensors, `randomness` has the random streams, `gradients` the gradient estimators, `run` the loop.
`composites` act around steps (swaps, adaptive weights). `own` runs users' potentials, `intercepted` users' steps with
prescribed draws, and `fused` runs steps in one C kernel. `importance` estimates averages of the target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily
from sgverify.samplers.own import functions as _functions  # noqa: F401 - teaches a log density to read tensors

if TYPE_CHECKING:
    from sgverify.samplers.gradients.estimators import GradientChoice
    from sgverify.samplers.run.averages import Averages, sample
    from sgverify.samplers.run.leg import Divergence
    from sgverify.samplers.run.schedules import (
        Annealed,
        Cyclical,
        Fixed,
        Power,
        Row,
        annealed,
        cyclical,
        fixed,
        horizon,
        power,
    )
    from sgverify.samplers.run.settings import Settings, one_thread

__all__ = [
    "Annealed",
    "Averages",
    "Cyclical",
    "Divergence",
    "Fixed",
    "GradientChoice",
    "Power",
    "Row",
    "Settings",
    "annealed",
    "cyclical",
    "fixed",
    "horizon",
    "one_thread",
    "power",
    "sample",
]

__getattr__, __dir__ = lazily(__name__)
