"""One scheme under the paper's settings: exact and sampled errors from a random start."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from flint import arb, arb_mat

from sgverify.configuration import load_configuration
from sgverify.errors import InstabilityError
from sgverify.exact.affine.model import Model, fixed_step, horizon_step
from sgverify.exact.answers import QuadraticAnswers
from sgverify.exact.chain.varying_steps import power_steps
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import Certified
from sgverify.papers.chen2015.figures import settings
from sgverify.samplers import Averages, Row, Settings, sample
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject

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
                found = self.answers.weighted_error(quantity, power_steps(float(scale), float(alpha), length))
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
