"""Of a regression: what each coordinate of theta multiplies, is there an intercept, and are directions of the posterior unlike?

The posterior's precision at its mode decides about the cost: a step is limited by the steepest direction and the number of steps by
the flattest, so that a chain without momentum takes steps in proportion to the condition number, the largest eigenvalue over the
smallest, and one with a momentum to its square root.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from sgverify.advice.chain_laws import closure_of
from sgverify.advice.closure.gaussian_closure import GaussianClosure
from sgverify.errors import SgverifyError
from sgverify.subject.subject import Subject
from sgverify.targets.derived import FramedTarget, standardising
from sgverify.targets.landscape import laplace
from sgverify.targets.registry import TARGETS


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
    """What the coordinates of a regression multiply, and their prior; nothing of other targets, or of one covariate."""
    target, given = subject.target, subject.configuration.target.model_dump(exclude_none=True)
    kind = TARGETS.get(str(given.get("name")))
    if kind is None or kind.data is None or kind.data.labels != 1 or target.data is None or target.dim < 2:
        return ()
    if "prior_precision" not in kind.constants:
        return ()
    names = target.names or tuple(f"x_{i}" for i in range(target.dim))
    intercept = standardising(np.asarray(target.data, dtype=float)[:, : target.dim])[1]
    constant = "there is no intercept, as no covariate is constant: a column of ones is one"
    if intercept is not None:
        constant = f"theta[{intercept}] ({names[intercept]}) is the intercept"
    mean, precision = (given.get(name, kind.constants[name][1]) for name in ("prior_mean", "prior_precision"))
    prior = _prior(mean, precision)
    return (
        f"{_places(names)}; {constant}",
        f"the prior of theta is {prior}, on the scale of the covariates as they are",
    )


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
