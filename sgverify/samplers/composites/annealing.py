"""Which settings of a run change from epoch to epoch, and when are momenta drawn anew?

Both happen between two steps, at multiples of a number of steps: a run ends a leg there and begins the next one with other
constants, or with other momenta. Steps themselves are taken by the definition, its tape or a kernel in C as in every other leg.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sgverify.errors import ConfigurationError
from sgverify.samplers.run.settings import Settings
from sgverify.targets import Target


@dataclass(frozen=True)
class Annealing:
    """Epochs of `epoch` steps; step l is in epoch k = floor((l - 1)/epoch), and k' = min(k, until) counts:

        T_k = T / cooling^k',        F_k = F correction^k'.

    With replica exchange every temperature of the ladder is divided, so that the ladder keeps its ratios.
    Source: vr-resgld section 5.2, tau_k = 0.01/1.02^k, kept fixed after the burn-in.
    """

    epoch: int
    cooling: float
    correction: float
    until: int | None

    def epochs(self, done: int) -> int:
        """k' of the step after `done` steps."""
        k = done // self.epoch
        return k if self.until is None else min(k, self.until)

    def settings(self, settings: Settings, done: int) -> Settings:
        """The settings of the step after `done` steps: T_k in the place of T, and F_k of F where replicas swap."""
        changed = replace(settings, temperature=settings.temperature / self.cooling ** self.epochs(done))
        if self.correction == 1 or settings.exchange is None:
            return changed
        factor = settings.exchange.correction * self.correction ** self.epochs(done)
        return replace(changed, exchange=_with_correction(settings.exchange, factor))

    def end(self, done: int) -> int | None:
        """The step with which the present epoch ends; None where nothing changes any more."""
        k = done // self.epoch
        return None if self.until is not None and k >= self.until else (k + 1) * self.epoch


def make_annealing(settings: Settings, target: Target) -> Annealing | None:
    """What is annealed in a run; None where neither temperature nor F is. Raises `ConfigurationError` without an epoch."""
    choice = settings.annealing
    if choice is None or (choice.cooling == 1 and choice.correction == 1):
        return None
    return Annealing(
        epoch_of(settings, target), float(choice.cooling), float(choice.correction), choice.until
    )


def epoch_of(settings: Any, target: Target) -> int:
    """The steps of an epoch: `annealing.epoch`, else N/n rounded up. Raises `ConfigurationError` where there are no minibatches."""
    choice, gradient = settings.annealing, settings.gradient
    if choice is not None and choice.epoch is not None:
        return int(choice.epoch)
    if not gradient.estimator.draws_data or target.size is None:
        raise ConfigurationError(
            f"annealing.epoch left open with gradient.kind={gradient.kind!r}: an epoch is then one pass over the data in "
            "minibatches, and there are none; set annealing.epoch to a number of steps"
        )
    return -(-target.size // int(gradient.batch))


def next_break(annealing: Annealing | None, resampled: int | None, done: int) -> int | None:
    """The next step after which settings change or momenta are drawn anew, behind `done`; None if there is none."""
    ends = [
        None if annealing is None else annealing.end(done),
        None if resampled is None else done + resampled - done % resampled,
    ]
    return min((end for end in ends if end is not None), default=None)


def check_changes(settings: Settings) -> None:
    """Raise `ConfigurationError` for changes along a run that the run cannot make."""
    choice = settings.annealing
    moving = choice is not None and (choice.cooling != 1 or choice.correction != 1)
    if choice is not None:
        for name, value, least in (("epoch", choice.epoch, 1), ("until", choice.until, 0)):
            if value is not None and value < least:
                raise ConfigurationError(
                    f"annealing.{name}={value!r}: expected a whole number of at least {least}"
                )
        if not (1 <= choice.cooling < float("inf") and 0 < choice.correction < float("inf")):
            raise ConfigurationError(
                f"annealing.cooling={choice.cooling!r}, annealing.correction={choice.correction!r}: expected cooling >= 1, by "
                "which temperatures are divided in each epoch, and correction > 0, by which F is multiplied"
            )
    if settings.resample_momentum is not None and settings.resample_momentum < 1:
        raise ConfigurationError(
            f"resample_momentum={settings.resample_momentum!r}: expected a number of steps of at least 1"
        )
    if settings.coupled == "brownian" and (moving or settings.resample_momentum is not None):
        raise ConfigurationError(
            "coupled='brownian' with annealing or resample_momentum: rows of several step sizes share one path in time, and an "
            "epoch is a number of steps; leave coupled out"
        )


def _with_correction(exchange: Any, correction: float) -> Any:
    copied = getattr(exchange, "model_copy", None)
    return (
        replace(exchange, correction=correction)
        if copied is None
        else copied(update={"correction": correction})
    )


__all__ = ["Annealing", "check_changes", "epoch_of", "make_annealing", "next_break"]
