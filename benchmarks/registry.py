"""The benchmarks by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks import (
    commutators,
    compilers,
    cuda,
    dimensions,
    epochs,
    exact_growth,
    growth,
    local_order,
    mean_square_error,
    plane,
    posterior_averages,
    power_schedule,
    report,
    sampler,
    stationarity,
    stationary_bias,
    verdicts,
)
from benchmarks.measuring import Row, Setting

BENCHMARKS: dict[str, Callable[[Setting], Iterator[Row]]] = {
    "local-order": local_order.run,
    "bch": commutators.run,
    "stationarity": stationarity.run,
    "mse": mean_square_error.run,
    "dimensions": dimensions.run,
    "epochs": epochs.run,
    "plane": plane.run,
    "power-schedule": power_schedule.run,
    "posterior-averages": posterior_averages.run,
    "sampler": sampler.run,
    "compilers": compilers.run,
    "cuda": cuda.run,
    "growth": growth.run,
    "exact-growth": exact_growth.run,
    "stationary-bias": stationary_bias.run,
    "report": report.run,
    "verdicts": verdicts.run,
}
