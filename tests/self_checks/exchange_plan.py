"""Which temperatures, step sizes and periods must a run of replica exchange have, by its configuration alone?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.subject.composite import CompositeSubject


@dataclass(frozen=True)
class ExchangePlan:
    """The expected run: a subject, the table `[exchange]` in use, and the schedule h_l = h l^-alpha."""

    subject: CompositeSubject
    table: Any
    h: float
    alpha: float

    @property
    def temperatures(self) -> np.ndarray:
        """T_k = temperature x ladder_k, shape (R,)."""
        return self.subject.configuration.temperature * np.array(self.table.ladder, dtype=np.float64)

    @property
    def starts(self) -> np.ndarray:
        """The start of theta of each replica, shape (R, d): its configured number of standard deviations from the mean."""
        c, target = self.subject.configuration, self.subject.target
        offsets = np.array([[c.start_of(replica)] for replica in range(len(self.table.ladder))])
        return np.asarray(
            target.location_float64(c.temperature) + offsets * target.spread_float64(c.temperature)
        )

    def h_at(self, number: int) -> np.ndarray:
        """The step size of each replica at step l = `number`, shape (R,)."""
        factors = self.table.step_factors or [1.0] * len(self.table.ladder)
        return self.h * float(number) ** -self.alpha * np.array(factors, dtype=np.float64)

    @property
    def exact(self) -> bool:
        """Do swaps compare the energies of all data?"""
        estimator = self.subject.configuration.gradient.estimator
        return self.table.energies == "exact" or not estimator.draws_data

    @property
    def controlled(self) -> bool:
        """Do the energies have a control variate?"""
        return bool(getattr(self.subject.composite, "reduced", False)) and not self.exact

    @property
    def learns(self) -> bool:
        """Is the coefficient of the control variate learnt (Algorithm 2), and not fixed at -1 (Algorithm 1)?"""
        return self.controlled and bool(getattr(self.subject.composite, "adaptive", False))

    @property
    def period(self) -> int:
        """The steps between two measurements: `refresh`, else N/n rounded up with a control variate, and 1 without one."""
        size, batch = self.subject.target.size or 1, self.subject.configuration.gradient.batch
        if not getattr(self.subject.composite, "reduced", False):
            return int(self.table.refresh or 1)
        return int(self.table.refresh or -(-size // batch))
