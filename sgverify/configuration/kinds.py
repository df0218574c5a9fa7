"""The kinds of schedules, and which of them read which keys of their table."""

from __future__ import annotations

from collections.abc import Mapping

FALLING = ("horizon", "power")

SCHEDULES: Mapping[str, str] = {
    "fixed": "h = step",
    "horizon": "h = scale L^-alpha, for a run of L steps",
    "power": "h_l = scale l^-alpha",
    "cyclical": "h falls from scale to low in each of so many cycles; Zhang et al. 2020",
    "annealed": "h = scale for the first `after` epochs, then times decay in each; vr-resgld section 5.2",
}
"""The formula of the step sizes, by schedule.kind."""

SCHEDULE_KINDS: Mapping[str, tuple[str, ...]] = {
    "scale": (*FALLING, "cyclical", "annealed"),
    "alpha": FALLING,
    "cycles": ("cyclical",),
    "low": ("cyclical",),
    "threshold": ("cyclical",),
    "shape": ("cyclical",),
    "decay": ("annealed",),
    "after": ("annealed",),
}
"""The kinds of schedules that read a key; `step` is what the scale of every other kind is by default."""


__all__ = ["FALLING", "SCHEDULES", "SCHEDULE_KINDS"]
