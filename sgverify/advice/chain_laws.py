"""The invariant law of a chain at any step size, by the best method that reaches it, beside the law of its target.

Exact where U is quadratic and one step affine; from transfer operators on grids where theta is one number, or its coordinates are
independent, and the noise of its gradient does not depend on it; else by the Gaussian approximation of
`sgverify.advice.closure.gaussian_closure`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import flint
import numpy as np

from sgverify.advice.closure.linear_chain import LinearChain
from sgverify.checks.readings import why_no_law
from sgverify.errors import InstabilityError, Unreached
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.affine.stability import eigenvalues_of, spectral_radii
from sgverify.exact.answers.invariant import InvariantLaw, LeadingError
from sgverify.exact.chain.ergodic import WASSERSTEIN, Moments, stationary_law
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject
from sgverify.targets import parse_observable

if TYPE_CHECKING:
    from sgverify.advice.closure.gaussian_closure import GaussianClosure
    from sgverify.advice.closure.linear_chain import GaussianLaw
    from sgverify.exact.transfer.result import GridAnswers, GridLaw

BITS = 128

LARGEST, LARGEST_MULTIPLICATIVE = 12, 2
"""The largest numbers of coordinates for an invariant law within milliseconds: with additive noise, and with random Hessians."""


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

    def biases(self, target: StationaryMoments) -> tuple[np.ndarray, np.ndarray]:
        """Those of means and standard deviations, in standard deviations of the target. Shapes (d,), (d,).

        Raises `InstabilityError` where a coordinate has no variance.
        """
        mean, sd = (self.mean - target.mean) / target.sd, self.sd / target.sd - 1
        if not (np.isfinite(mean).all() and np.isfinite(sd).all()):
            raise InstabilityError("a coordinate of the chain has no variance")
        return mean, sd

    def error(self, target: StationaryMoments) -> float:
        """The largest of these biases."""
        return float(max(np.abs(part).max() for part in self.biases(target)))


@dataclass(frozen=True, eq=False)
class ChainLaws(ABC):
    """The laws of a subject's chain at its step sizes, and that of its target.

    `method` names how they are found. `quick`: one law takes a fraction of a second, so that a step size can be searched.
    """

    subject: Subject
    method: ClassVar[str]

    @property
    def quick(self) -> bool:
        """Whether one law takes a fraction of a second."""
        return True

    @property
    def largest_step(self) -> float:
        """A step size at or beyond which there is no law; infinity where it is found by solving for it."""
        return math.inf

    @property
    @abstractmethod
    def target(self) -> StationaryMoments:
        """The moments under exp(-U/T)."""

    @abstractmethod
    def at(self, step: float) -> StationaryMoments:
        """The moments at this step size. Raises `InstabilityError` where the chain has no law."""

    def biases(self, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Those of means and standard deviations, in standard deviations of the target; 0 where none is told from 0."""
        return self.at(step).biases(self.target)

    def distance(self, step: float) -> float:
        """W_2 between the laws of theta: of normal laws, else the distance of the normal laws with their moments, which is less.

        Raises `Unreached` where covariances are not known.
        """
        raise Unreached("the distance W2 is computed from covariances, which a law on a grid does not give")

    def near(self, step: float) -> StationaryMoments:
        """The moments at a step size at which the law hardly differs from the target's; quicker than `at` where that takes long."""
        return self.at(step)

    def beside(self, subject: Subject) -> ChainLaws:
        """The laws of another subject on the same target at the same temperature, by the same method."""
        return type(self)(subject)

    def distrust(self, step: float) -> str | None:
        """The reason why the moments are unreliable at this step size; None where they are not."""
        return None

    def uncertainty(self, step: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Estimated errors of the biases of means and of standard deviations; None where they are far below what is told."""
        return None

    def forgetting(self, step: float) -> float | None:
        """The steps in which the slowest direction forgets its start by a factor of about e; None where they are not known."""
        chain = self.at(step).chain
        return None if chain is None else chain.forgetting

    def independent_draw(self, step: float) -> float | None:
        """The steps after which means of theta_i and theta_i^2 know as much as one independent draw; None where not known."""
        chain = self.at(step).chain
        return None if chain is None else chain.independent_draw

    @property
    def _kinetic(self) -> bool:
        return "p" in self.subject.scheme.dynamics.state


def exact_law_in_reach(subject: Subject) -> bool:
    """Has the chain an exact Gaussian or second-moment law that takes a fraction of a second?"""
    if why_no_law(subject) is not None:
        return False
    return subject.model.size <= (LARGEST_MULTIPLICATIVE if subject.noise.multiplicative else LARGEST)


@dataclass(frozen=True, eq=False)
class ExactLaws(ChainLaws):
    """The laws of an affine chain on a quadratic target, minibatches included: discrete Lyapunov equations in balls."""

    method: ClassVar[str] = "exact"

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
        with flint.ctx.workprec(BITS):
            truth = self._law.truth_in_balls
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

    def biases(self, step: float) -> tuple[np.ndarray, np.ndarray]:
        """See `ChainLaws`: differences are formed in balls, so that no digits of a small bias cancel."""
        dim, truth = self.subject.target.dim, self._law.truth
        with flint.ctx.workprec(BITS):
            found = self._law.at(fixed_step(step))
            shares = [
                flint.arb(found.covariance[i, i]) / flint.arb(truth.covariance[i, i]) - 1 for i in range(dim)
            ]
            if any(not share > -1 for share in shares):
                raise InstabilityError("a coordinate of the chain has no variance")
            shifts = [
                (found.mean[i, 0] - flint.arb(truth.mean[i, 0])) / flint.arb(truth.covariance[i, i]).sqrt()
                for i in range(dim)
            ]
            sds = [(share.log1p() / 2).expm1() for share in shares]
            mean, sd = (
                np.array([0.0 if x.contains(0) else float(x.mid()) for x in part]) for part in (shifts, sds)
            )
        return mean, sd

    def distance(self, step: float) -> float:
        """See `ChainLaws`."""
        return float(self._law.distance(WASSERSTEIN, fixed_step(step), "theta").value)

    def forgetting(self, step: float) -> float:
        """1/(1 - rho), rho the spectral radius of a step; where that rounds to 1, as many steps as are known to be too few."""
        model = self.subject.model
        (radius,) = spectral_radii(
            model.scheme, model.parameters, eigenvalues_of(model.target.precision), [step]
        )
        return 1 / max(1 - float(radius), 2.0**-53)

    @property
    def leading(self) -> LeadingError:
        """The leading power of h in the distance W_2 between the laws of theta."""
        return self._law.leading(WASSERSTEIN, "theta")

    @property
    def errors(self) -> list[Moments]:
        """Coefficients of h^0, h^1, ... of the moments less those of the target."""
        return self._law.errors

    def _read(self, mean: Any, covariance: Any, chain: LinearChain | None) -> StationaryMoments:
        dim = self.subject.target.dim
        means, variances = _floats(mean)[:, 0], np.diag(_floats(covariance))
        with np.errstate(invalid="ignore"):
            sd = np.sqrt(variances[:dim])
        momentum = variances[dim : 2 * dim] if self._kinetic else None
        return StationaryMoments(means[:dim], sd, momentum, chain)


@dataclass(frozen=True, eq=False)
class GridLaws(ChainLaws):
    """The laws on a line that is no Gaussian's, by transfer operators: full gradients, or normal noise added to each.

    Raises `Unreached` where no grid holds the subject.
    """

    method: ClassVar[str] = "grid"

    def __post_init__(self) -> None:
        _ = self.answers

    @property
    def quick(self) -> bool:
        """Whether one law takes a fraction of a second: on the line, not on the plane."""
        return not self._kinetic

    @cached_property
    def target(self) -> StationaryMoments:
        """Mean and standard deviation under exp(-U/T), by quadrature."""
        T = float(self.subject.configuration.temperature)
        target = self.subject.target
        momentum = np.array([T]) if self._kinetic else None
        return StationaryMoments(target.location_float64(T), target.spread_float64(T), momentum)

    def at(self, step: float) -> StationaryMoments:
        """The moments at this step size: those of the target and their biases."""
        law, target = self.law(step), self.target
        shift, square = self.bias_of("theta", law), self.bias_of("theta**2", law)
        # E theta^2 - (E theta)^2, from the differences to the target's: no large numbers cancel.
        variance = float(target.sd[0]) ** 2 + square - 2 * float(target.mean[0]) * shift - shift**2
        momentum = None if target.momentum is None else target.momentum + self.bias_of("p**2", law)
        return StationaryMoments(target.mean + shift, np.array([math.sqrt(variance)]), momentum)

    def law(self, step: float) -> GridLaw:
        """The law on a grid. Raises `InstabilityError` where there is none."""
        found = self.answers.stationary_bias(step)
        if found.law is None:
            raise InstabilityError(f"h={step:g}: {found.note}")
        return found.law

    def bias_of(self, text: str, law: GridLaw) -> float:
        """The bias of the average of a test function."""
        return law.bias(parse_observable(text, 1, self.subject.scheme.dynamics.state))

    def independent_draw(self, step: float) -> float:
        """See `ChainLaws`, with the square about 0, and one step at least."""
        return max(1.0, *(self.grids(text).forgetting(step) for text in ("theta", "theta**2")))

    @cached_property
    def answers(self) -> GridAnswers:
        """The grids, as fine as theta^2 needs them."""
        return self.grids("theta**2")

    def grids(self, text: str) -> GridAnswers:
        """The grids, as fine as a test function needs them."""
        # Grids take a while to load, and the step of a sample needs none.
        from sgverify.checks.rates.engines import grid_answers
        from sgverify.exact.transfer.result import TOLD

        return grid_answers(self.subject, parse_observable(text, 1, self.subject.scheme.dynamics.state), TOLD)


@dataclass(frozen=True, eq=False)
class ClosureLaws(ChainLaws):
    """The Gaussian approximation: U's Hessian and the covariance of the minibatch noise averaged over the law of the chain."""

    given: GaussianClosure | None = None
    method: ClassVar[str] = "gaussian approximation"

    @property
    def _closure(self) -> GaussianClosure:
        return self.given or closure_of(self.subject)

    @cached_property
    def target(self) -> StationaryMoments:
        """The Gaussian nearest to exp(-U/T)."""
        law = self._closure.target_law
        T = float(self.subject.configuration.temperature)
        momentum = np.full(len(law.mean), T) if self._kinetic else None
        return StationaryMoments(law.mean, law.sd, momentum)

    def at(self, step: float) -> StationaryMoments:
        """The moments of the Gaussian law at this step size."""
        return self._read(self._closure.law(step))

    def near(self, step: float) -> StationaryMoments:
        """The moments to first order in the difference of the chain's law from the target's, quickly."""
        return self._read(self._closure.near(step))

    def beside(self, subject: Subject) -> ClosureLaws:
        """See `ChainLaws`: averages over the target's law are taken over."""
        return ClosureLaws(subject, self._closure.beside(subject))

    def _read(self, law: GaussianLaw) -> StationaryMoments:
        dim = self.subject.target.dim
        assert law.chain is not None
        momentum = np.diag(law.chain.covariance)[dim : 2 * dim] if self._kinetic else None
        return StationaryMoments(*self._closure.freed(law), momentum, law.chain)

    def distrust(self, step: float) -> str | None:
        """The reason why no Gaussian describes the target or the chain."""
        return self._closure.distrust(step)

    def uncertainty(self, step: float) -> tuple[np.ndarray, np.ndarray]:
        """What the approximation says that it leaves out."""
        return self._closure.uncertainty(step)

    @property
    def distrust_of_target(self) -> str | None:
        """The reason why no Gaussian describes exp(-U/T), whatever the chain; None where one does."""
        return self._closure.distrust_of_target


@cached_per_subject
def closure_of(subject: Subject) -> GaussianClosure:
    """The Gaussian approximation of a subject's chain."""
    from sgverify.advice.closure.gaussian_closure import GaussianClosure

    return GaussianClosure(subject)


def _floats(matrix: Any) -> np.ndarray:
    """A matrix of balls or fractions as floats. Shape (rows, columns)."""
    with flint.ctx.workprec(BITS):
        return np.array([[float(flint.arb(entry).mid()) for entry in row] for row in matrix.tolist()])
