"""The invariant law of a chain at any step size, by the best method that reaches it, beside the law of its target.

Exact where U is quadratic and one step affine; from transfer operators on grids where theta is one number and gradients are full;
else by the Gaussian approximation of `sgverify.advice.closure.gaussian_closure`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import flint
import numpy as np

from sgverify.advice.closure.gaussian_closure import GaussianClosure, GaussianLaw
from sgverify.advice.closure.linear_chain import LinearChain
from sgverify.advice.step_bias import exact_law_in_reach
from sgverify.checks.rates.engines import ENGINES, transfer_answers
from sgverify.errors import InstabilityError, OutOfReachError
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers.invariant import InvariantLaw
from sgverify.exact.chain.ergodic import Moments, stationary_law
from sgverify.exact.transfer.result import GridAnswers, GridBias, GridLaw, LeadingBias
from sgverify.schemes import exact
from sgverify.subject.subject import Subject
from sgverify.targets import parse_observable

BITS = 128


@dataclass(frozen=True, eq=False)
class StationaryMoments:
    """Mean and standard deviation of each coordinate of theta in one law, and the variance of each momentum. Shapes (d,).

    `momentum` is None without a momentum, or where it is not computed. `chain` is the linear chain with this law, from which
    autocorrelations come; None where there is none.
    """

    mean: np.ndarray
    sd: np.ndarray
    momentum: np.ndarray | None = None
    chain: LinearChain | None = None


class ChainLaws(Protocol):
    """The laws of a chain at its step sizes, and that of its target."""

    @property
    def method(self) -> str:
        """ "exact", "grid" or "gaussian approximation"."""

    @property
    def target(self) -> StationaryMoments:
        """The moments under exp(-U/T)."""

    @property
    def quick(self) -> bool:
        """Whether one law takes a fraction of a second, so that a step size can be searched."""

    @property
    def largest_step(self) -> float:
        """A step size at or beyond which there is no law; infinity where none is known."""

    def at(self, step: float) -> StationaryMoments:
        """The moments at this step size. Raises `InstabilityError` where the chain has no law."""

    def distrust(self, step: float) -> str | None:
        """The reason why the moments are unreliable at this step size; None where they are not."""


def laws_of(subject: Subject) -> Iterator[ChainLaws]:
    """The methods that apply, from the most to the least reliable."""
    if exact_law_in_reach(subject):
        yield ExactLaws(subject)
        return
    on_grid = _on_grid(subject)
    if on_grid is not None:
        yield on_grid
    if GaussianClosure.why_not(subject) is None:
        yield ClosureLaws(subject)


def _on_grid(subject: Subject) -> GridLaws | None:
    if subject.target.quadratic or subject.target.dim > 1:
        return None
    try:
        return GridLaws(subject)
    except OutOfReachError:
        return None


@dataclass(frozen=True, eq=False)
class ExactLaws:
    """The laws of an affine chain on a quadratic target, minibatches included: discrete Lyapunov equations in balls."""

    subject: Subject
    method: str = "exact"
    quick: bool = True

    @cached_property
    def _law(self) -> InvariantLaw:
        return InvariantLaw(self.subject.model)

    @property
    def largest_step(self) -> float:
        """The stability limit."""
        return float(self.subject.step_sizes.limit)

    @cached_property
    def target(self) -> StationaryMoments:
        """N(mean, T P^-1), and N(0, T) for the momentum."""
        truth = self._law.truth
        return self._read(truth.mean, truth.covariance, None)

    def at(self, step: float) -> StationaryMoments:
        """The moments at this step size, from balls of 128 bits."""
        model = self.subject.model
        with flint.ctx.workprec(BITS):
            size = fixed_step(step)
            if model.noise.multiplicative or model.noise.exchangeable:
                found = self._law.at(size)
                mean, covariance = found.mean, found.covariance
                chain = None
                # Of minibatches that depend on one another the noise is no martingale, and the map alone has no autocovariances.
                if not model.noise.exchangeable and not model.scheme.memory:
                    map_ = _floats(model.parts(size()).map)
                    chain = LinearChain(map_, _floats(covariance), model.target.dim)
            else:
                affine = model.chain(size())
                law = stationary_law(affine)
                mean, covariance = law.mean, law.covariance
                chain = LinearChain(_floats(affine.map), _floats(covariance), model.target.dim)
        return self._read(mean, covariance, chain)

    def distrust(self, step: float) -> None:
        """None: the law is exact."""

    @property
    def errors(self) -> list[Moments]:
        """Coefficients of h^0, h^1, ... of the moments less those of the target."""
        return self._law.errors

    def _read(self, mean: Any, covariance: Any, chain: LinearChain | None) -> StationaryMoments:
        dim = self.subject.target.dim
        means, variances = _floats(mean)[:, 0], np.diag(_floats(covariance))
        with np.errstate(invalid="ignore"):
            sd = np.sqrt(variances[:dim])
        momentum = variances[dim : 2 * dim] if "p" in self.subject.scheme.dynamics.state else None
        return StationaryMoments(means[:dim], sd, momentum, chain)


@dataclass(frozen=True, eq=False)
class GridLaws:
    """The laws on a line that is no Gaussian's, of full gradients: averages of theta, theta^2 and p^2 by transfer operators.

    Raises `OutOfReachError` where no grid holds the subject.
    """

    subject: Subject
    method: str = "grid"

    def __post_init__(self) -> None:
        _ = transfer_answers(self.subject), self._answers

    @property
    def quick(self) -> bool:
        """Whether one law takes a fraction of a second: on the line, not on the plane."""
        return not self._kinetic

    @property
    def largest_step(self) -> float:
        """Infinity: where a law ends is found by solving for it."""
        return math.inf

    @cached_property
    def target(self) -> StationaryMoments:
        """Mean and standard deviation under exp(-U/T), by quadrature."""
        T = float(self.subject.configuration.temperature)
        target = self.subject.target
        momentum = np.array([T]) if self._kinetic else None
        return StationaryMoments(target.location_float64(T), target.spread_float64(T), momentum)

    def at(self, step: float) -> StationaryMoments:
        """The moments at this step size: on the line those of the law, on the plane those of the target and their biases."""
        if not self._kinetic:
            law = self.on_grid(step)[1]
            points, weights = law.points, law.weights
            mean = float(weights @ points)
            variance = float(weights @ (points - mean) ** 2)
            return StationaryMoments(np.array([mean]), np.array([math.sqrt(variance)]))
        bias = {text: _value(answers, step) for text, answers in self._answers.items()}
        target = self.target
        # E theta^2 - (E theta)^2, from the differences to the target's: no large numbers cancel.
        shift = bias["theta"]
        variance = float(target.sd[0]) ** 2 + bias["theta**2"] - 2 * float(target.mean[0]) * shift - shift**2
        momentum = None if target.momentum is None else target.momentum + bias["p**2"]
        return StationaryMoments(target.mean + shift, np.array([math.sqrt(variance)]), momentum)

    def on_grid(self, step: float) -> tuple[GridBias, GridLaw]:
        """The bias of the subject's test function on the line, and the law. Raises `InstabilityError` where there is none."""
        if step not in self._found:
            self._found[step] = transfer_answers(self.subject).stationary_bias(step)
        found = self._found[step]
        if found.law is None:
            raise InstabilityError(f"h={step:g}: {found.note}")
        return found, found.law

    @cached_property
    def _found(self) -> dict[float, GridBias]:
        return {}

    def distrust(self, step: float) -> None:
        """None: the grids converge, and say so where they do not."""

    @property
    def expansions(self) -> dict[str, LeadingBias]:
        """The leading biases of theta and theta^2 in powers of h."""
        return {text: self._answers[text].expansion for text in ("theta", "theta**2")}

    @property
    def _kinetic(self) -> bool:
        return "p" in self.subject.scheme.dynamics.state

    @cached_property
    def _answers(self) -> dict[str, GridAnswers]:
        c, state = self.subject.configuration, self.subject.scheme.dynamics.state
        texts = ["theta", "theta**2", *(["p**2"] if "p" in state else [])]
        given = self.subject.read_scheme, self.subject.target
        numbers = exact(c.temperature), exact(c.friction)
        return {text: ENGINES[state](*given, parse_observable(text, 1, state), *numbers) for text in texts}


@dataclass(frozen=True, eq=False)
class ClosureLaws:
    """The Gaussian approximation: U's Hessian and the covariance of the minibatch noise averaged over the law of the chain."""

    subject: Subject
    given: GaussianClosure | None = None
    method: str = "gaussian approximation"
    quick: bool = True

    @cached_property
    def _closure(self) -> GaussianClosure:
        return self.given or GaussianClosure(self.subject)

    @property
    def largest_step(self) -> float:
        """Infinity: where a law ends is found by solving for it."""
        return math.inf

    @cached_property
    def target(self) -> StationaryMoments:
        """The Gaussian nearest to exp(-U/T)."""
        law = self._closure.target_law
        kinetic = "p" in self.subject.scheme.dynamics.state
        momentum = np.full(len(law.mean), float(self.subject.configuration.temperature)) if kinetic else None
        return StationaryMoments(law.mean, law.sd, momentum)

    def at(self, step: float) -> StationaryMoments:
        """The moments of the Gaussian law at this step size."""
        return self._read(self._closure.law(step))

    def near(self, step: float) -> StationaryMoments:
        """The moments to first order in the difference of the chain's law from the target's, quickly."""
        return self._read(self._closure.near(step))

    def _read(self, law: GaussianLaw) -> StationaryMoments:
        dim = self.subject.target.dim
        assert law.chain is not None
        kinetic = "p" in self.subject.scheme.dynamics.state
        momentum = np.diag(law.chain.covariance)[dim : 2 * dim] if kinetic else None
        return StationaryMoments(law.mean, law.sd, momentum, law.chain)

    def distrust(self, step: float) -> str | None:
        """The reason why no Gaussian describes the target or the chain."""
        return self._closure.distrust(step)


def _value(answers: GridAnswers, step: float) -> float:
    found = answers.stationary_bias(step)
    if found.value is None:
        raise InstabilityError(f"h={step:g}: {found.note}")
    return float(found.value)


def _floats(matrix: Any) -> np.ndarray:
    """A matrix of balls or fractions as floats. Shape (rows, columns)."""
    with flint.ctx.workprec(BITS):
        return np.array([[float(flint.arb(entry).mid()) for entry in row] for row in matrix.tolist()])
