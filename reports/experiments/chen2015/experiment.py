"""Errors over draws of the data, which the paper does not print: statements about its figures are judged over all of them.

theta_0 is random and the noise of a minibatch is additive on this model, so that an exact error is a polynomial in the posterior
mean m and in the data's second, third and fourth cumulants s^2, k_3 and k_4. With theta_l = m + delta_l the bias of theta^2 has
the terms 1, m^2 and, of minibatches, s^2; the mean square error, of the square of (delta_l^2 + 2 m delta_l) averaged, those
of second degree in them, and m k_3 and k_4. So a few draws, computed exactly, give all others; and since the noise of full
gradients is zero, so do theirs the part of minibatches that their noise has no share in.

From which length on one error is smaller than another.

One scheme under the paper's settings: exact and sampled errors from a random start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from flint import arb, arb_mat
from scipy.linalg import qr, solve

from reports.experiments.chen2015 import settings
from reports.experiments.chen2015.settings import holds
from sgverify.configuration import load_configuration
from sgverify.errors import InstabilityError
from sgverify.exact.affine.model import Model, fixed_step, horizon_step
from sgverify.exact.answers import QuadraticAnswers
from sgverify.exact.chain.varying_steps import power_steps
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import Certified
from sgverify.samplers import Averages, Row, Settings, sample
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject

PER_DECADE = 3
"""Lengths at which errors are compared: a stretch shorter than their distance may be missed."""

RATIO = 1.02
"""A crossing is bisected until its ends differ by this factor."""


@dataclass(frozen=True)
class Crossing:
    """The last interval of lengths on which the first error is smaller than the second; None if there is none.

    `until` is None if the first error is still smaller at the longest length computed.
    """

    since: int | None
    until: int | None


def crossing(
    first: Callable[[int], float | None], second: Callable[[int], float | None], shortest: int, longest: int
) -> Crossing:
    """Compare |first(L)| with |second(L)| on three lengths a decade; ends of the last stretch are bisected.

    A diverged error (None) is larger than every other.
    """

    def below(length: int) -> bool:
        ours, theirs = first(length), second(length)
        return ours is not None and (theirs is None or abs(ours) < abs(theirs))

    lengths, k = [shortest], 1
    while lengths[-1] < longest:
        lengths.append(min(longest, round(shortest * 10 ** (k / PER_DECADE))))
        k += 1
    signs = [below(length) for length in lengths]
    if True not in signs:
        return Crossing(None, None)
    last = len(signs) - 1 - signs[::-1].index(True)
    start = last
    while start and signs[start - 1]:
        start -= 1
    since = lengths[0] if start == 0 else _edge(below, lengths[start - 1], lengths[start])
    until = (
        None if last == len(signs) - 1 else _edge(lambda n: not below(n), lengths[last], lengths[last + 1])
    )
    return Crossing(since, until)


def _edge(true: Callable[[int], bool], low: int, high: int) -> int:
    """The length between `low` (false) and `high` (true) from which it is true, up to a factor of `RATIO`."""
    while high > low + 1 and high > RATIO * low:
        middle = max(low + 1, min(high - 1, round((low * high) ** 0.5)))
        if true(middle):
            high = middle
        else:
            low = middle
    return high


TERMS: dict[str, Callable[..., Sequence[np.ndarray]]] = {
    "bias": lambda m, s2, k3, k4: (m**0, m**2),
    "mse": lambda m, s2, k3, k4: (m**0, m**2, m**4),
}
"""The terms whose linear combination an error with full gradients is, by its quantity."""

ADDED: dict[str, Callable[..., Sequence[np.ndarray]]] = {
    "bias": lambda m, s2, k3, k4: (s2,),
    "mse": lambda m, s2, k3, k4: (s2, s2**2, m**2 * s2, m * k3, k4),
}
"""The terms that the noise of minibatches adds, by the quantity."""

Evaluate = Callable[[str, int], float | None]
"""An error by the estimator of gradients and the data_seed; None where it diverges."""


@dataclass(frozen=True)
class DataDraws:
    """The data of data_seed 0, 1, ..., count - 1."""

    count: int

    @cached_property
    def means(self) -> np.ndarray:
        """The posterior mean m of each draw."""
        return self.cumulants[0]

    def errors(
        self, quantity: str, gradient: str, evaluate: Evaluate, seeds: Sequence[int] | None = None
    ) -> np.ndarray:
        """The error at every draw or at those of `seeds`, NaN where it diverges; `evaluate` computes it at one draw."""
        asked = list(range(self.count) if seeds is None else seeds)
        estimators = dict.fromkeys(("full", gradient))
        parts = [(estimator, *_terms(self, quantity, estimator)) for estimator in estimators]
        if len(asked) <= sum(len(nodes) for _, _, nodes in parts):
            return self._each(evaluate, gradient, asked)
        total = np.zeros(self.count)
        known: list[float | None] = []
        for estimator, terms, nodes in parts:
            at_nodes = [evaluate(estimator, int(seed)) for seed in nodes]
            known += at_nodes
            if None not in at_nodes:
                rest = np.array(at_nodes, dtype=np.float64) - total[nodes]
                total = total + terms @ solve(terms[nodes], rest)
        if all(value is None for value in known):
            return np.full(len(asked), np.nan)
        return self._each(evaluate, gradient, asked) if None in known else total[asked]

    def judged(self, answers: Sequence[np.ndarray | bool]) -> tuple[str, str]:
        """The |m| at which a statement holds, and its verdict; an answer has one entry per draw, or one for all draws."""
        asked = [np.broadcast_to(answer, self.count) for answer in answers]
        said = [holds([bool(answer[draw]) for answer in asked]) for draw in range(self.count)]
        sizes = abs(self.means)
        parts = []
        for word in dict.fromkeys(said):
            here = [float(size) for size, found in zip(sizes, said, strict=True) if found == word]
            where = (
                f"|m| from {min(here):.3g} to {max(here):.3g}" if len(here) > 1 else f"|m| = {here[0]:.3g}"
            )
            parts.append(f"{word} at {len(here)} of {self.count}: {where}")
        return "; ".join(parts), said[0] if len(set(said)) == 1 else "depends on the data"

    @staticmethod
    def _each(evaluate: Evaluate, gradient: str, seeds: Sequence[int]) -> np.ndarray:
        return np.array([evaluate(gradient, seed) for seed in seeds], dtype=np.float64)

    @cached_property
    def cumulants(self) -> np.ndarray:
        """m, s^2, k_3, k_4 of each draw. Shape (4, count)."""
        rows = []
        for seed in range(self.count):
            target = experiment("sgld-euler", "full", 1.0, seed).subject.target
            x = np.asarray(target.data, dtype=np.float64)[:, 0]
            second, third, fourth = (float(((x - x.mean()) ** k).mean()) for k in (2, 3, 4))
            rows.append((float(target.mean[0]), second, third, fourth - 3 * second**2))
        return np.array(rows).T


@cache
def _terms(draws: DataDraws, quantity: str, gradient: str) -> tuple[np.ndarray, np.ndarray]:
    """The terms at each draw, shape (count, k), and k draws: the first one, and those that tell them apart best."""
    terms = np.stack((TERMS if gradient == "full" else ADDED)[quantity](*draws.cumulants), axis=1)
    # Columns of one size: those of pivoted QR are then the draws that are farthest from what the others span. The first
    # draw, of which curves are shown, is computed in any case: made the largest, it is taken first.
    columns = (terms / np.abs(terms).max(axis=0)).T
    columns[:, 0] *= 2 * np.linalg.norm(columns, axis=0).max() / np.linalg.norm(columns[:, 0])
    _, _, order = qr(columns, pivoting=True)
    return terms, order[: terms.shape[1]]


@cache
def draws_of(count: int) -> DataDraws:
    """The first `count` draws, made once."""
    return DataDraws(count)


def smaller(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """A mask: where |ours| < |theirs|; a diverged error is larger than every other."""
    return np.asarray(
        np.where(np.isnan(ours), np.inf, abs(ours)) < np.where(np.isnan(theirs), np.inf, abs(theirs))
    )


BEYOND = 1e3
"""An error of theta^2 beyond this has diverged: the start's is about 1."""

NODES = 3
"""Gauss-Hermite nodes of the start: exact for polynomials of degree 5 in it, and a square error has degree 4."""


@dataclass(frozen=True)
class RandomStart(Model):
    """A model whose theta_0 is N(mean, variance) in every coordinate instead of a point."""

    def start_law(self, step: arb | None = None) -> tuple[arb_mat, arb_mat | None]:
        """Mean and covariance of X_0; the momentum starts as it does in the model."""
        mean, spread = super().start_law(step)
        at = list(self.scheme.state).index("theta") * self.target.dim
        covariance = arb_mat(self.size, self.size) if spread is None else arb_mat(spread)
        for i in range(at, at + self.target.dim):
            mean[i, 0] = ball.number(settings.START_MEAN)
            covariance[i, i] = ball.number(settings.START_VARIANCE)
        return mean, covariance


@dataclass(frozen=True)
class Experiment:
    """A scheme with a friction D and an estimator of the gradient on the paper's Gaussian model, of one draw of its data."""

    scheme: str
    gradient: str
    friction: float
    data_seed: int = 0

    @cached_property
    def subject(self) -> Subject:
        """The scheme under the paper's configuration, p_0 ~ N(0, 1)."""
        given = {
            "friction": self.friction,
            "start_momentum": "stationary",
            "test_function": settings.TEST_FUNCTION,
            "target": {"name": "gaussian-mean", "size": settings.SIZE, "data_seed": self.data_seed},
            "gradient": {"kind": self.gradient, "batch": settings.BATCH},
        }
        return make_subject(self.scheme, load_configuration(given))

    @cached_property
    def answers(self) -> QuadraticAnswers:
        """The exact engine, started at random."""
        model = self.subject.model
        given = {field.name: getattr(model, field.name) for field in fields(Model)}
        return QuadraticAnswers(RandomStart(**given))

    @property
    def limit(self) -> float:
        """The stability limit of the step size; minibatch noise does not change it."""
        return _limit(self.scheme, self.friction)

    def at_step(self, quantity: str, step: float | Fraction, length: int) -> Certified | None:
        """Bias or mean square error of phi_hat at a fixed step; None where the step is unstable."""
        if float(step) >= self.limit:
            return None
        values = self.answers.mean_square_error if quantity == "mse" else self.answers.bias
        return values(fixed_step(step), length)

    def at_horizon(
        self, quantity: str, scale: float | Fraction, alpha: Fraction, length: int
    ) -> Certified | None:
        """The error at h = scale L^-alpha."""
        if float(scale) * length ** -float(alpha) >= self.limit:
            return None
        values = self.answers.mean_square_error if quantity == "mse" else self.answers.bias
        return values(horizon_step(scale, alpha, length), length)

    def at_power(self, quantity: str, scale: float | Fraction, alpha: Fraction, length: int) -> float | None:
        """Bias or mean square error of phi_tilde at h_l = scale l^-alpha; None where it is beyond `BEYOND`."""
        try:
            # Moments that overflow are what "diverged" means here, so numpy need not warn of them.
            with np.errstate(over="ignore", invalid="ignore"):
                square = quantity == "mse"
                error = self.answers.weighted_mean_square_error if square else self.answers.weighted_bias
                found = error(power_steps(float(scale), float(alpha), length)).value
        except InstabilityError:
            return None
        return found if abs(found) <= BEYOND else None

    def error(
        self, kind: str, quantity: str, scale: float | Fraction, alpha: Fraction, length: int
    ) -> float | None:
        """The error on a schedule of this kind, horizon or power; None where it diverges."""
        if kind == "power":
            return self.at_power(quantity, scale, alpha, length)
        found = self.at_horizon(quantity, scale, alpha, length)
        return None if found is None else found.value

    def sampled(self, rows: tuple[Row, ...], runs: int) -> SampledErrors:
        """The errors of `runs` chains in every row, averaged over the random start by Gauss-Hermite quadrature.

        The chains start at the nodes, in numbers that follow the weights; bias and mean square error are
        polynomials of degree 2 and 4 in the start, which three nodes average exactly.
        """
        places, weights = np.polynomial.hermite_e.hermegauss(NODES)
        weights = weights / weights.sum()
        target = self.subject.target
        centre = target.mean_float64()[0]
        unit = float(np.sqrt(target.covariance_float64()[0, 0]))
        parts, first = [], 0
        for place, weight in zip(places, weights, strict=True):
            chains = round(runs * weight)
            start = float(settings.START_MEAN) + place * float(settings.START_VARIANCE) ** 0.5
            given = Settings.of(
                self.subject.configuration, chains=chains, first_chain=first, start=(start - centre) / unit
            )
            parts.append(
                sample(
                    self.subject.scheme, target, rows, observables=[self.subject.observable], settings=given
                )
            )
            first += chains
        return SampledErrors(tuple(parts), tuple(map(float, weights)), float(self.subject.truth))


@dataclass(frozen=True)
class SampledErrors:
    """Averages of theta^2 from each node of the start, with the weights of the nodes."""

    parts: tuple[Averages, ...]
    weights: tuple[float, ...]
    truth: float

    def at(self, quantity: str, row: int, place: int) -> tuple[float, float] | None:
        """Bias or mean square error at one length of one row, and its standard error; None where chains diverged."""
        value, variance = 0.0, 0.0
        for part, weight in zip(self.parts, self.weights, strict=True):
            errors = part.values[0, row, place] - self.truth
            if not np.isfinite(errors).all() or np.abs(errors).max() > BEYOND:
                return None
            errors = errors**2 if quantity == "mse" else errors
            value += weight * float(errors.mean())
            variance += weight**2 * float(errors.var(ddof=1)) / len(errors)
        return value, variance**0.5


@cache
def experiment(scheme: str, gradient: str, friction: float, data_seed: int = 0) -> Experiment:
    """The experiment, made once: figures share their exact engines."""
    return Experiment(scheme, gradient, friction, data_seed)


@cache
def _limit(scheme: str, friction: float) -> float:
    return experiment(scheme, "full", friction).subject.step_sizes.limit
