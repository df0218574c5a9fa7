"""Which settings has a sampled run besides scheme, target and rows?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import torch

from sgverify.errors import ConfigurationError
from sgverify.samplers.gradients.estimators import GradientChoice
from sgverify.targets.metric import MetricText

DTYPES = {"float64": torch.float64, "float32": torch.float32}


@dataclass(frozen=True)
class Settings:
    """Settings of a run; names, meanings and defaults are those of the configuration, which refuses values out of range.

    `start`: the start of every coordinate of theta, in standard deviations of exp(-U/T) from its mean; with replica exchange
    it may be a sequence with one number for each replica. `start_momentum`: "zero" or "stationary", N(0, T I). `chains` chains
    run, numbered from `first_chain`.
    By default each row has its own random streams, derived from its schedule's bits. `coupled=True` gives all rows equal random
    numbers, step by step; `coupled="brownian"` drives rows of steps h, h/2, h/4, ... by one Brownian path (see `Brownian`).
    `compiled`: "kernel" takes the steps in C generated from the definition, with equal bits (see `fused`); "auto" does so if it is
    possible and the run is long enough to repay the compiler; False never does.
    Averages are taken over the states l = burn_in + thinning, burn_in + 2 thinning, ..., up to L; a row's own `burn_in` takes
    precedence. `metric` is the polynomial b of G^-1 = diag(b(theta_i)^2), or the rows of B with G^-1 = B B^T, for dynamics with a
    metric.
    `exchange`: the ladder and the swaps of replica exchange (`ExchangeChoice`); None takes the defaults.
    `partition`: the regions and weights of adaptively weighted composites (`PartitionChoice`); None takes the defaults.
    `annealing`: what changes from epoch to epoch; None changes nothing. `resample_momentum`: the momentum is
    drawn anew from N(0, T I) after every so many steps; None never does.
    """

    temperature: float = 1.0
    friction: float = 2.0
    chains: int = 256
    seed: int = 0
    start: Any = 2.0
    start_momentum: str = "zero"
    dtype: str = "float64"
    device: str = "cpu"
    gradient: Any = field(default_factory=GradientChoice)
    coupled: bool | str = False
    compiled: bool | str = "auto"
    burn_in: int = 0
    thinning: int = 1
    first_chain: int = 0
    metric: MetricText | None = None
    exchange: Any = None
    partition: Any = None
    annealing: Any = None
    resample_momentum: int | None = None

    @staticmethod
    def of(configuration: Any, **changes: Any) -> Settings:
        """The settings of a configuration, with some fields changed."""
        names = [item.name for item in fields(Settings)]
        held = {name: getattr(configuration, name) for name in names if hasattr(configuration, name)}
        return Settings(**{**held, **changes})

    @property
    def torch_dtype(self) -> torch.dtype:
        """The dtype of the state."""
        return DTYPES[self.dtype]

    @property
    def torch_device(self) -> torch.device:
        """The device. Raises `ConfigurationError` if torch does not have it."""
        try:
            device = torch.device(self.device)
            torch.zeros(1, device=device).tolist()
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            reason = str(error).splitlines()[0]
            raise ConfigurationError(
                f"device={self.device!r}: expected a device that torch has here, such as 'cpu'; torch says: {reason}"
            ) from None
        return device


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which torch uses one thread; afterwards the number of threads is restored.

    The tensors of a sweep are small: more threads cost more than they gain.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
