"""Which kinds of gradients and schedules read which keys of their tables."""

from __future__ import annotations

from collections.abc import Mapping

MINIBATCHES = ("iid", "without-replacement", "reshuffle", "symmetric", "svrg", "saga", "control-variate")
FALLING = ("horizon", "power")

GRADIENTS: Mapping[str, str] = {
    "full": "All data at every evaluation",
    "iid": "A minibatch of data drawn with replacement, fresh at every step",
    "without-replacement": "A fresh subset of the data at every step",
    "reshuffle": "A random permutation of the data in each epoch, consumed in blocks",
    "symmetric": "The blocks of a permutation forward, and then backward; arXiv 2410.19780",
    "svrg": "The full gradient at a snapshot, and a minibatch of the change since; arXiv 2511.04413",
    "saga": "A table of every datum's gradient where it was last drawn, and a minibatch of the change since",
    "control-variate": "All gradients at one centre, and a minibatch of the change from there; Baker et al. 2019",
    "additive": "The full gradient and normal noise, fresh at every evaluation",
}
"""What the estimators are, by gradient.kind."""

SCHEDULES: Mapping[str, str] = {
    "fixed": "h = step",
    "horizon": "h = scale L^-alpha, for a run of L steps",
    "power": "h_l = scale l^-alpha",
    "cyclical": "h falls from scale to low in each of so many cycles; Zhang et al. 2020",
}
"""What the step sizes are, by schedule.kind."""

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


__all__ = ["FALLING", "GRADIENTS", "GRADIENT_KINDS", "MINIBATCHES", "SCHEDULES", "SCHEDULE_KINDS"]
