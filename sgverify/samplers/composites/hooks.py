"""What a composite does around the steps of its scheme while it runs: the hooks of an `Ensemble`.

The rows of a sweep become those of the tensor: `replicas` consecutive ones for each. At every step the run asks the
estimator that `estimator` has made of its own for gradients, looks for chains that left every bound, and hands the state
to `after`. All hooks see tensors of shape (S, C, d or 1), the S rows that run; chains are to stay independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.estimators import Estimator
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.reading.motion import State
from sgverify.samplers.run.schedules import Row
from sgverify.samplers.run.settings import Settings
from sgverify.schemes import Scheme
from sgverify.schemes.composites.composite import Composite


@dataclass(frozen=True, eq=False)
class Stage:
    """The rows that run together, and what they are made of.

    `streams` gives the random stream of a kind: one for each row where the kind begins as one of `OF_REPLICAS`, else
    the same for all replicas of a row. `temperatures` holds T of each row, float64, shape (S,).
    """

    scheme: Scheme
    potential: Potential
    rows: tuple[Row, ...]
    settings: Settings
    temperatures: np.ndarray
    streams: Callable[[str], Stream]


class StepHooks:
    """What is done around the steps; this one does nothing. One is made for an ensemble, and serves one run at a time."""

    replicas = 1
    """Consecutive rows that are made of one; they end together."""

    def rows(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        """The rows of the tensor. Raises `ConfigurationError` for rows that it cannot take."""
        return tuple(rows)

    def temperatures(self, rows: Sequence[Row], settings: Settings) -> np.ndarray:
        """T of each row of the tensor. Shape (S,)."""
        return np.full(len(rows), settings.temperature, dtype=np.float64)

    def enter(self, stage: Stage, state: State, carried: tuple[Tensor, ...]) -> None:
        """Begin with these rows at `state`; `carried` is () before step 1, else begins with what was `carried`."""

    def estimator(self, estimator: Estimator) -> Estimator:
        """The gradient estimate that the steps use, made of theirs."""
        return estimator

    def prepare(self, first: int, count: int) -> None:
        """Draw what the steps first, ..., first + count - 1 need; steps are counted from 0."""

    def after(self, place: int, number: int, state: State, steps: np.ndarray) -> State:
        """The state that step l = `number` leaves, `place` of its block, of sizes `steps` (S,); it may be overwritten."""
        return state

    @property
    def carried(self) -> tuple[Tensor, ...]:
        """What later steps need of the earlier ones, always as many tensors, each of shape (S, C, anything)."""
        return ()

    weighted = False
    """Whether states count differently in averages, by `log_weights`."""

    def log_weights(self) -> Tensor:
        """log of what the present state counts in averages, times what its schedule says; float64, shape (S, C)."""
        raise NotImplementedError(f"{type(self).__name__} weighs no states")

    def why_diverged(self, row: int, chains: np.ndarray) -> str:
        """What may have driven chains of a row off, for the message; `row` counts those that run, `chains` are places."""
        return ""

    def recorded(self) -> Mapping[str, Tensor]:
        """Statistics of the latest step by name, each of shape (S, C)."""
        return {}


@singledispatch
def hooks_of(composite: Any, settings: Settings) -> StepHooks:
    """What a composite does around steps, under these settings; a new type registers itself here."""
    raise ConfigurationError(
        f"scheme={getattr(composite, 'name', composite)!r}: a {type(composite).__name__} cannot be sampled; expected a Scheme, or "
        "a composite whose type is registered with sgverify.samplers.composites.hooks.hooks_of"
    )


def starts_of(start: float | Sequence[float], rows: Sequence[Row], hooks: StepHooks | None) -> np.ndarray:
    """Where each row of the tensor starts, in standard deviations from the mean: that of its replica. Shape (S, 1).

    Raises `ConfigurationError` for a list that has not one number for each replica.
    """
    replicas = 1 if hooks is None else hooks.replicas
    given = np.atleast_1d(np.asarray(start, dtype=np.float64)).tolist()
    given = given * replicas if np.ndim(start) == 0 else given
    if len(given) != replicas:
        mend = (
            f"one number, or {replicas}, the coldest replica first"
            if replicas > 1
            else "one number: only replica exchange starts at several places"
        )
        raise ConfigurationError(
            f"start={given}: expected {mend}; mend start, or the length of exchange.ladder"
        )
    return np.array([[given[row.replica]] for row in rows], dtype=np.float64)


def check_settings(composite: Composite, settings: Settings) -> None:
    """Raise `ConfigurationError` for settings under which the rule around the steps would not be what it is."""
    for name in ("coupled", "compiled"):
        if getattr(settings, name) not in (False, "auto"):
            raise ConfigurationError(
                f"{name}={getattr(settings, name)!r} with the composite {composite.name}: expected False; leave {name} out, or "
                f"run its scheme {composite.scheme.name}"
            )


__all__ = ["Stage", "StepHooks", "check_settings", "hooks_of", "starts_of"]
