"""Which factor of prior, data, indices or noise explains a call of code with its own loss that is not that of its density?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sgverify.samplers.intercepted.replacing import DrawLaw

EXPLAINED = 0.01
"""The share of the mean displacement that a combination of prior and data may leave over: errors of the fit are smaller."""

NOTHING = 1e-6
"""The share of the due covariance below which there is none."""

MOST = 64
"""The largest denominator of the step sizes that a call may take."""

NEAR = 0.02
"""The relative distance up to which a factor counts as a fraction; factors of minibatches are fractions of small numbers."""


@dataclass(frozen=True)
class Terms:
    """What is due per unit of h at some states, shapes (states, n) and (states, n, n), with the parts of the drift.

    `prior` has shape (states, n), `data` (states, N, n); `size` is N, 0 without data.
    """

    drift: np.ndarray
    covariance: np.ndarray
    prior: np.ndarray
    data: np.ndarray
    size: int

    def over(self, time: float) -> Terms:
        """The terms of a call that moves for `time` of h."""
        return Terms(
            time * self.drift, time * self.covariance, time * self.prior, time * self.data, self.size
        )


def time_of_call(mean: np.ndarray, covariance: np.ndarray, terms: Terms) -> Fraction:
    """For how many h a call moves: the simple factor that its noise and its prior have in common; 1 where they have none.

    A call of a whole epoch makes several steps, and a step by half of the gradient and sqrt(lr) is one of lr/2.
    """
    due = terms.covariance
    share = float((covariance * due).sum() / (due * due).sum())
    columns = [terms.prior, *([terms.data.sum(axis=1)] if terms.size else [])]
    factors, _ = _fitted(mean - (terms.drift - sum(columns)), columns)
    time = Fraction(share).limit_denominator(MOST)
    alike = abs(share - time) <= NEAR * share and abs(factors[0] - share) <= NEAR * share
    return time if share > 0 and alike else Fraction(1)


def cause_of_noise(found: np.ndarray, terms: Terms) -> str:
    """The sentence about a covariance that is not due."""
    due = terms.covariance
    share = float((found * due).sum() / (due * due).sum())
    if np.abs(found).max() <= NOTHING * np.abs(due).max():
        return "per unit of h there is no noise: it is missing, or its scale has a higher power of the step size than the root"
    if np.abs(found - share * due).max() <= EXPLAINED * np.abs(due).max():
        half = Fraction(share).limit_denominator(1000)
        told = str(half) if abs(float(half) - share) <= NEAR * abs(share) and half else f"{share:.4g}"
        return f"the noise has {told} times the variance of the dynamics: per unit of h it is {share:.4g} times the one due"
    return "the covariance of the noise is not that of the dynamics, nor a multiple of it"


def cause_of_drift(found: np.ndarray, terms: Terms) -> str:
    """The sentence about a mean displacement that is not due: the factors of prior and data, or the datum that is left out."""
    rest = found - (terms.drift - terms.prior - terms.data.sum(axis=1))
    size = max(float(np.abs(rest).max()), float(np.abs(terms.drift).max()))
    if not terms.size:
        share = float((rest * terms.prior).sum() / (terms.prior**2).sum())
        if np.abs(rest - share * terms.prior).max() <= EXPLAINED * size:
            return f"the mean displacement is {share:.4g} times that of the density"
        return "the mean displacement is not that of the density, nor a multiple of it"
    factors, left = _fitted(rest, [terms.prior, terms.data.sum(axis=1)])
    if left <= EXPLAINED * size:
        return _told(float(factors[0]), float(factors[1]), terms.size)
    for k in range(terms.size):
        others = terms.data.sum(axis=1) - terms.data[:, k]
        factors, left = _fitted(rest, [terms.prior, others])
        if left <= EXPLAINED * size and abs(factors[0] - 1) <= NEAR:
            return f"datum {k} (from 0) is never drawn: the others count {_fraction(factors[1], terms.size)} times each"
    return (
        "the mean over its minibatches is no combination of the prior and the sum of the data: its data are not counted alike, or "
        "its loss is another one"
    )


def index_laws(laws: Sequence[DrawLaw], size: int) -> str:
    """A sentence about choices that are not among N data with equal chances; "" if there is none."""
    for law in laws:
        if not law.chances:
            continue
        many = len(law.chances)
        if max(law.chances) - min(law.chances) > NEAR / many:
            low, high = min(law.chances), max(law.chances)
            return f"a draw chooses among {many} outcomes with unequal chances, from {low:.3g} to {high:.3g}"
        if many < size:
            return f"a draw chooses among {many} outcomes, and there are {size} data"
    return ""


def _told(prior: float, data: float, size: int) -> str:
    """The factors of prior and data in words."""
    parts = []
    alike = abs(prior - data) <= NEAR * max(abs(prior), abs(data))
    if alike:
        return (
            f"prior and data both count {_fraction(prior, size)} times: drift and noise are those of different step sizes or "
            "temperatures"
        )
    if abs(data - 1) > NEAR:
        number = data * size
        n = round(number)
        hint = ""
        if 1 <= n < size and abs(number - n) <= NEAR * n:
            hint = (
                f": the mean of a minibatch is not multiplied by N = {size}"
                if n == 1
                else f": N/n is missing, with n = {n} of N = {size}"
            )
        sizes = [
            n for n in range(2, size) if size % n and abs(number - size**2 / (n * -(-size // n))) <= NEAR
        ]
        if sizes and not hint:
            many = -(-size // sizes[0])
            hint = (
                f": the last of the {many} minibatches of an epoch is smaller than n = {sizes[0]}, and is multiplied by N/n as "
                "the others are"
            )
        parts.append(f"the data count {_fraction(data, size)} times{hint}")
    if abs(prior) <= NEAR:
        parts.append("the prior is missing")
    elif abs(prior - 1) > NEAR:
        every = f": with every one of the N = {size} data" if abs(prior - size) <= NEAR * size else ""
        parts.append(f"the prior counts {_fraction(prior, size)} times{every}")
    return "; ".join(parts) + "; in the mean displacement, where each is due once"


def _fraction(value: float, size: int) -> str:
    near = Fraction(value).limit_denominator(max(4, size))
    return str(near) if abs(float(near) - value) <= NEAR * max(abs(value), 1 / size) else f"{value:.4g}"


def _fitted(rest: np.ndarray, columns: list[np.ndarray]) -> tuple[np.ndarray, float]:
    table = np.stack([column.reshape(-1) for column in columns], axis=1)
    factors, *_ = np.linalg.lstsq(table, rest.reshape(-1), rcond=None)
    return factors, float(np.abs(table @ factors - rest.reshape(-1)).max())
