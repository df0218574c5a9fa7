"""Of a regression: what each coordinate of theta multiplies, is there an intercept, and what would standardised covariates spare?

The posterior's precision at its mode, H = P + G with that of the prior, P, decides about the cost: a step is limited by the
steepest direction and the number of steps by the flattest, so that a chain without momentum takes steps in proportion to the
condition number, the largest eigenvalue of H over its smallest, and one with a momentum to its square root. Covariates
z_j = (x_j - m_j)/s_j say the same of the data: x . theta = z . theta' with theta = B theta', and H' = P + B^T G B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.targets import Target
from sgverify.targets.constants import read_precision
from sgverify.targets.data_files import column_names
from sgverify.targets.registry import TARGETS

WORTH = 10.0
"""The ratio of condition numbers from which standardised covariates are advised: a momentum then takes a third of the steps."""


@dataclass(frozen=True)
class Covariates:
    """The covariates of a regression. `names[i]` belongs to theta[i]; `intercept` is the place of the one that is constant.

    `condition` is the condition number of the posterior's precision, `standardised` that with covariates of standard deviation 1,
    and of mean 0 where there is an intercept, under the same prior. `prior` says what it is.
    """

    names: tuple[str, ...]
    intercept: int | None
    condition: float
    standardised: float
    prior: str

    @property
    def worth(self) -> bool:
        """Would standardised covariates make a chain much cheaper?"""
        return self.condition >= WORTH * self.standardised

    def lines(self) -> tuple[str, ...]:
        """What the coordinates are, and what standardising is worth."""
        if self.intercept is None:
            constant = "there is no intercept, as no covariate is constant: a column of ones is one"
        else:
            constant = f"theta[{self.intercept}] ({self.names[self.intercept]}) is the intercept"
        found = [
            f"{_places(self.names)}; {constant}",
            f"the prior of theta is {self.prior}, on the scale of the covariates as they are",
        ]
        said = f"the condition number of the posterior's precision is {self.condition:.2g}"
        if self.worth:
            mean = "mean 0 and " if self.intercept is not None else ""
            gain = self.condition / self.standardised
            found.append(
                f"{said}; with covariates of {mean}standard deviation 1 it is {self.standardised:.2g}: standardise them, and "
                f"a chain takes about {gain:.2g} times fewer steps without a momentum, {gain**0.5:.2g} times fewer with one "
                "(a posterior under the same prior on the new scale)"
            )
        else:
            found.append(
                f"{said}, and {self.standardised:.2g} with standardised covariates: they are well scaled"
            )
        return tuple(found)


def covariates_of(
    target: Target, covariance: np.ndarray, temperature: float, table: Any
) -> Covariates | None:
    """The covariates of a target whose data have labels; None for others, or where there is one covariate alone.

    `covariance` is that of a Gaussian approximation of exp(-U/T), shape (d, d), `table` the configured target table.
    """
    given = table.model_dump(exclude_none=True)
    kind = TARGETS.get(str(given.get("name")))
    if kind is None or kind.data is None or kind.data.labels != 1 or target.data is None or target.dim < 2:
        return None
    if "prior_precision" not in kind.constants:
        return None
    x = np.asarray(target.data, dtype=float)[:, : target.dim]
    stated = given.get("prior_precision", kind.constants["prior_precision"][1])
    prior = np.array(read_precision("target.prior_precision", stated, target.dim).rows, dtype=float)
    precision = temperature * np.linalg.inv(covariance)
    sd = x.std(axis=0)
    constant = np.flatnonzero(sd <= 1e-12 * np.abs(x).max(axis=0))
    intercept = int(constant[0]) if len(constant) else None
    change = np.diag(1 / np.where(np.isin(np.arange(target.dim), constant), 1.0, sd))
    if intercept is not None:
        moved = np.isin(np.arange(target.dim), constant, invert=True)
        change[intercept, moved] = -x[:, moved].mean(axis=0) / sd[moved] / x[0, intercept]
    named = column_names(given) or [f"x_{i}" for i in range(target.dim)]
    return Covariates(
        names=tuple(named[: target.dim]),
        intercept=intercept,
        condition=_condition(precision),
        standardised=_condition(prior + change.T @ (precision - prior) @ change),
        prior=_prior(given.get("prior_mean", kind.constants["prior_mean"][1]), stated),
    )


def _condition(matrix: np.ndarray) -> float:
    rates = np.linalg.eigvalsh(matrix)
    return float(rates[-1] / rates[0])


def _prior(mean: Any, precision: Any) -> str:
    if isinstance(precision, (int, float)) and isinstance(mean, (int, float)):
        return f"N({mean:g}, {1 / precision:g}) in each coordinate"
    return f"N({mean}, inverse of {precision})"


def _places(names: tuple[str, ...]) -> str:
    shown = [
        f"theta[{i}] is the coefficient of {name}" if i == 0 else f"theta[{i}] of {name}"
        for i, name in enumerate(names[:8])
    ]
    more = [f"and so on to theta[{len(names) - 1}]"] * (len(names) > len(shown))
    return ", ".join([*shown, *more])
