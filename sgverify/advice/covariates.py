"""Of a regression: what each coordinate of theta multiplies, is there an intercept, and what would standardised covariates spare?

The posterior's precision at its mode, H = P + G with that of the prior, P, decides about the cost: a step is limited by the
steepest direction and the number of steps by the flattest, so that a chain without momentum takes steps in proportion to the
condition number, the largest eigenvalue of H over its smallest, and one with a momentum to its square root. Covariates
z_j = (x_j - m_j)/s_j say the same of the data: x . theta = z . theta' with theta = B theta', and H' = P + B^T G B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from sgverify.advice.chain_laws import closure_of
from sgverify.advice.closure.gaussian_closure import GaussianClosure
from sgverify.errors import SgverifyError
from sgverify.subject.subject import Subject
from sgverify.targets import Target
from sgverify.targets.constants import read_precision
from sgverify.targets.derived import FramedTarget, standardising
from sgverify.targets.landscape import laplace
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
    change, intercept = standardising(x)
    return Covariates(
        names=target.names or tuple(f"x_{i}" for i in range(target.dim)),
        intercept=intercept,
        condition=_condition(precision),
        standardised=_condition(prior + change.T @ (precision - prior) @ change),
        prior=_prior(given.get("prior_mean", kind.constants["prior_mean"][1]), stated),
    )


def covariance_of(subject: Subject) -> np.ndarray | None:
    """The covariance of exp(-U/T), or of its Gaussian approximation; None where there is none. Shape (d, d)."""
    target, T = subject.target, float(subject.configuration.temperature)
    if target.quadratic:
        return np.asarray(T * target.covariance_float64())
    if GaussianClosure.why_not(subject) is not None:
        return None
    try:
        return closure_of(subject).target_law.covariance
    except (SgverifyError, LinAlgError):
        return None


def covariate_lines(subject: Subject) -> tuple[str, ...]:
    """What is said of a regression's covariates; nothing of other targets, or where no Gaussian was found."""
    covariance = covariance_of(subject)
    if covariance is None:
        return ()
    T = float(subject.configuration.temperature)
    found = covariates_of(subject.target, covariance, T, subject.configuration.target)
    if found is None:
        return ()
    # In other coordinates the condition number is no longer that of the covariates.
    return found.lines()[:2] if isinstance(subject.target, FramedTarget) else found.lines()


BAD = 1e4
"""The condition number from which it is the headline: a chain with a momentum takes a hundred times the steps that it might."""


def scale_line(subject: Subject) -> str:
    """The headline where directions of the posterior are so unlike that they decide what it costs; "" where they are not."""
    target = subject.target
    if isinstance(target, FramedTarget) or target.dim < 2 or target.positive:
        return ""
    if not target.quadratic and GaussianClosure.why_not(subject) is not None:
        return ""
    try:
        if not target.quadratic and closure_of(subject).distrust_of_target is not None:
            # The scales at a mode are not those of a funnel.
            return ""
        covariance = target.covariance_float64() if target.quadratic else laplace(target)[1]
    except (SgverifyError, LinAlgError):
        return ""
    condition = _condition(covariance)
    if not condition > BAD:
        return ""
    sd = np.sqrt(np.diag(covariance))
    label = target.labels
    low, high = int(np.argmin(sd)), int(np.argmax(sd))
    said = [
        f"standard deviations go from {sd[low]:.2g} of {label[low]} to {sd[high]:.2g} of {label[high]}: scale them"
    ]
    alike = covariance / np.outer(sd, sd) - np.eye(len(sd))
    i, j = np.unravel_index(int(np.argmax(np.abs(alike))), alike.shape)
    if abs(alike[i, j]) > ALIKE:
        said.append(
            f"{label[min(i, j)]} and {label[max(i, j)]} are correlated by {alike[i, j]:.6g}: centre what they multiply"
        )
    return (
        f"badly scaled: the condition number of the posterior is {condition:.2g}; {'; '.join(said)}; or set "
        f"target.whiten=true, which "
        f"samples the same posterior in coordinates where it is 1, and takes about {condition:.1g} times fewer steps "
        f"without a momentum, "
        f"{condition**0.5:.1g} times fewer with one"
    )


ALIKE = 0.9
"""The correlation from which two coordinates are named."""


def _condition(matrix: np.ndarray) -> float:
    rates = np.linalg.eigvalsh(matrix)
    return float(rates[-1] / rates[0]) if rates[0] > 0 else math.inf


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
