"""What draws: a scheme under a configuration, whole or some of its chains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from sgverify.checks.subject.subject import Subject
from sgverify.errors import ConfigurationError, InstabilityError, SgverifyError
from sgverify.samplers.run.leg import Divergence
from sgverify.samplers.run.recorder import Draws, kept_steps, widths_of
from sgverify.samplers.run.recording import bytes_needed
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Row
from sgverify.schemes.composites import Composite
from sgverify.schemes.loading import load_step


@dataclass(frozen=True, eq=False)
class DrawSource:
    """A run: its subject and ensemble of chains, whether energies are recorded, and its one row.

    `named`: the target can be made by its name, in another process. `made` makes InferenceData of draws of some chains.
    """

    subject: Subject
    ensemble: Ensemble = field(repr=False)
    energy: bool
    row: Row
    named: bool
    made: Callable[[Draws, range], Any] = field(repr=False)

    @property
    def size(self) -> int:
        """The bytes that all draws take up."""
        return bytes_needed(self.ensemble, energy=self.energy)

    @property
    def kept(self) -> int:
        """The number of recorded draws per chain."""
        return len(kept_steps(self.ensemble))

    def unstable(self, diverged: Sequence[Divergence]) -> InstabilityError:
        """The error of a run that has no draw before a chain diverges."""
        return InstabilityError(
            f"{diverged[0]} before any draw was kept; expected chains that stay within bounds; take a smaller "
            f"schedule.step or a start nearer to the target than start={self.subject.configuration.start!r}"
        )

    @property
    def steps(self) -> int:
        """The number of steps of the run."""
        return self.ensemble.rows[0].lengths[-1]

    @property
    def like(self) -> Draws:
        """One draw of zeros, of the kind of the run's draws."""
        widths, chains = widths_of(self.ensemble), len(self.ensemble.chains)
        dtype = torch.empty(0, dtype=self.ensemble.dtype).numpy().dtype
        hooks, weighted = self.ensemble.hooks, self.ensemble.rows[0].schedule.weighted
        return Draws(
            np.array([kept_steps(self.ensemble)[0]]),
            {name: np.zeros((chains, 1, width), dtype) for name, width in widths.items()},
            np.zeros((chains, 1)) if self.energy else None,
            np.array([self.row.at(1)]),
            {},
            np.zeros((chains, 1)) if weighted or (hooks is not None and hooks.weighted) else None,
            (),
            0,
            False,
        )

    def kept_before(self, step: int) -> int:
        """The number of draws of each chain before a step."""
        schedule = self.ensemble.rows[0].schedule
        return sum(1 for number in kept_steps(self.ensemble) if number < step and schedule.samples(number))

    def ensemble_of(self, chains: range) -> Ensemble:
        """The run of some of the chains."""
        whole = self.ensemble
        if chains == whole.chains:
            return whole
        settings = replace(whole.settings, chains=len(chains), first_chain=chains.start)
        runs = self.subject.composite or self.subject.scheme
        return Ensemble(runs, self.subject.target, [self.row], settings, potential=whole.potential)

    def check_divisible(self) -> None:
        """Raise `ConfigurationError` if several processes cannot draw the chains of this run, or not with the bits of one."""
        reference = self.subject.reference
        mend = "leave workers=1, which draws the same"
        if not self.named or not _same_step(
            _loaded(reference), self.subject.composite or self.subject.scheme
        ):
            what = f"target={self.subject.target.name!r}" if not self.named else f"scheme={reference!r}"
            raise ConfigurationError(
                f"{what} with workers: was made in Python, and another process cannot make it; expected a name of the catalogue, "
                f"module:attribute or path/to/file.py:attribute; name it so, or {mend}"
            )
        if not self.ensemble.potential.recordable:
            raise ConfigurationError(
                f"target={self.subject.target.name!r} with workers: is torch code that cannot be recorded, whose rounding may "
                f"depend on how many chains are in a tensor; expected a target whose chains do not; {mend}"
            )


def _same_step(found: Any, wanted: Any) -> bool:
    """Is it the step that runs? A composite is made anew, with its reference, whenever it is loaded."""
    return found is wanted or (isinstance(wanted, Composite) and bool(found == wanted))


def _loaded(reference: str) -> Any:
    """The scheme or composite of a reference; None if there is none."""
    try:
        return load_step(reference)
    except SgverifyError:
        return None


__all__ = ["DrawSource"]
