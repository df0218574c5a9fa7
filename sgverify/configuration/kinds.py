"""Which kinds of gradients and schedules read which keys of their tables."""

from __future__ import annotations

from collections.abc import Mapping

MINIBATCHES = ("iid", "without-replacement", "reshuffle", "symmetric", "svrg", "saga", "control-variate")
FALLING = ("horizon", "power")

GRADIENT_KINDS: Mapping[str, tuple[str, ...]] = {
    "batch": MINIBATCHES,
    "refresh": ("svrg",),
    "covariance": ("additive",),
}
"""The kinds of gradients that read a key of the table; what is not here every kind reads."""

SCHEDULE_KINDS: Mapping[str, tuple[str, ...]] = {
    "scale": (*FALLING, "cyclical"),
    "alpha": FALLING,
    "cycles": ("cyclical",),
    "low": ("cyclical",),
    "threshold": ("cyclical",),
    "shape": ("cyclical",),
}
"""The kinds of schedules that read a key; `step` is what the scale of every other kind is by default."""


__all__ = ["FALLING", "GRADIENT_KINDS", "MINIBATCHES", "SCHEDULE_KINDS"]
