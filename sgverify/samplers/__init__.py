"""The sampled reading of a scheme: all chains and all step sizes of a sweep in one torch tensor."""

from sgverify.samplers.averages import Averages, sample
from sgverify.samplers.blocks import Divergence
from sgverify.samplers.checkpoint import Checkpoint
from sgverify.samplers.gradients import GradientChoice
from sgverify.samplers.pausing import Run
from sgverify.samplers.schedules import Cyclical, Fixed, Power, Row, cyclical, fixed, horizon, power
from sgverify.samplers.settings import Settings, one_thread
from sgverify.samplers.states import States, sample_states

__all__ = [
    "Averages",
    "Checkpoint",
    "Cyclical",
    "Divergence",
    "Fixed",
    "GradientChoice",
    "Power",
    "Row",
    "Run",
    "Settings",
    "States",
    "cyclical",
    "fixed",
    "horizon",
    "one_thread",
    "power",
    "sample",
    "sample_states",
]
