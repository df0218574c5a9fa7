"""The first two moments of a chain's invariant law on a Gaussian target, and those of the target.

The law is that of the dynamics' state, (theta) or (theta, p); memory of a scheme is left out. Under reshuffling
it is the average of the laws at the positions of the epoch, to which an ergodic average converges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import flint
from flint import arb, fmpq, fmpq_mat

from sgverify.exact.affine.model import Model, StepSize
from sgverify.exact.answers import ExactAnswers, answers_for
from sgverify.exact.chain.ergodic import Distance, Moments
from sgverify.exact.chain.expansion import EXPANSION_BITS
from sgverify.exact.numbers.ball import Certified, refine
from sgverify.exact.rings.polynomials import to_fmpq
from sgverify.targets import Observable

JOINT = "joint"
"""The name of the law of the whole state, beside those of its variables."""


@dataclass(frozen=True)
class LeadingError:
    """A distance as h -> 0: coefficient * h^order + ...; order None where every coefficient computed is zero.

    `exact`: zero coefficients are proved in fractions; otherwise they are balls that contain 0.
    """

    order: int | None
    coefficient: float | None
    exact: bool


@dataclass(frozen=True)
class InvariantLaw:
    """Mean and covariance of the invariant law of a model, at any step and as series at h = 0.

    `position`: under reshuffling, so many steps into the epoch; averaged over its positions where None.
    """

    model: Model
    position: int | None = None

    @property
    def gaussian(self) -> bool:
        """Whether the law is Gaussian; with minibatches or bounded draws it is not, and the moments describe it in part."""
        noise = self.model.noise
        drawn = all(law.normal for law in self.model.scheme.laws)
        own = (noise.covariance is None or noise.each_evaluation) and not noise.multiplicative
        return drawn and own

    @cached_property
    def coordinates(self) -> dict[str, list[int]]:
        """The places of each variable, and those of all together under `JOINT`."""
        dim, names = self.model.target.dim, self.model.scheme.dynamics.state
        places = {name: list(range(k * dim, (k + 1) * dim)) for k, name in enumerate(names)}
        return places if len(names) == 1 else {**places, JOINT: list(range(len(names) * dim))}

    @property
    def whole(self) -> str:
        """The key of all coordinates together."""
        return list(self.coordinates)[-1]

    @cached_property
    def truth(self) -> Moments:
        """The moments of exp(-(U + p.p/2)/T), in fractions: N(mean, T P^-1) for theta, N(0, T I) for p."""
        # Under a biased gradient the effective target differs from the posterior with which the law is compared.
        target, names = self.model.judged or self.model.target, self.model.scheme.dynamics.state
        T, size = to_fmpq(self.model.temperature), target.dim * len(names)
        mean, covariance = fmpq_mat(size, 1), fmpq_mat(size, size)
        for i in range(size):
            covariance[i, i] = T
        for i in range(target.dim):
            mean[i, 0] = to_fmpq(target.mean[i])
            for j in range(target.dim):
                covariance[i, j] = T * to_fmpq(target.covariance[i][j])
        return Moments(mean, covariance)

    def at(self, step: StepSize) -> Moments:
        """The moments at this step size, as balls at the working precision."""
        return self.answers.moments(step, self.position).of(self.coordinates[self.whole])

    def distance(self, distance: Distance, step: StepSize, part: str) -> Certified:
        """A distance between the law of `part` at this step size and the true one."""
        places = self.coordinates[part]
        return refine(lambda bits: distance.between(self.at(step).of(places), self.truth.of(places).in_balls))

    @cached_property
    def errors(self) -> list[Moments]:
        """Coefficients of h^0, h^1, ... of the moments less the true ones; fractions, or balls."""
        with flint.ctx.workprec(EXPANSION_BITS):
            places = self.coordinates[self.whole]
            found = [moments.of(places) for moments in self.answers.moment_series(self.position)]
            exact = all(isinstance(part, fmpq_mat) for f in found for part in (f.mean, f.covariance))
            if not exact:
                found = [moments.in_balls for moments in found]
            return [found[0] - (self.truth if exact else self.truth.in_balls), *found[1:]]

    def leading(self, distance: Distance, part: str) -> LeadingError:
        """The leading power of h in a distance of the law of `part` from the true one, and its coefficient."""
        places = self.coordinates[part]
        with flint.ctx.workprec(EXPANSION_BITS):
            errors = [error.of(places) for error in self.errors]
            exact = all(isinstance(entry, fmpq) for error in errors for entry in error.entries)
            truth = self.truth.of(places)
            for order, error in enumerate(errors):
                if all(_may_vanish(entry) for entry in distance.seen(error)):
                    continue
                if order:
                    found = distance.leading(error, truth if exact else truth.in_balls)
                else:
                    # The limit at h = 0 itself is wrong by a finite amount, in which the distance is not linear.
                    found = distance.between(
                        (truth + error).in_balls if exact else truth.in_balls + error, truth.in_balls
                    )
                return LeadingError(order, float(found.mid()), exact)
        return LeadingError(None, None, exact)

    @cached_property
    def _model(self) -> Model:
        # The law does not depend on the test function, which may be out of an engine's reach.
        nothing = Observable(self.model.target.dim, self.model.scheme.dynamics.state, {})
        return replace(self.model, observable=nothing, truth=Fraction(0))

    @cached_property
    def answers(self) -> ExactAnswers:
        """The engine of the moments. Raises `Unreached` where there is none."""
        return answers_for(self._model)


def _may_vanish(value: fmpq | arb) -> bool:
    return bool(value.contains(0)) if isinstance(value, arb) else value == 0
