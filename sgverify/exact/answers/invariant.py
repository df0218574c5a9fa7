"""The first two moments of a chain's invariant law on a Gaussian target, and those of the target.

The law is that of the dynamics' state, (theta) or (theta, p); memory of a scheme is left out. Under reshuffling
it is the average of the laws at the positions of the epoch, to which an ergodic average converges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
from flint import arb, fmpq, fmpq_mat

from sgverify.exact.affine.model import Model, StepSize
from sgverify.exact.answers import ExactAnswers, answers_for
from sgverify.exact.chain.ergodic import Distance, Moments
from sgverify.exact.chain.expansion import EXPANSION_BITS
from sgverify.exact.numbers.ball import Certified, refine
from sgverify.exact.rings.polynomials import to_fmpq
from sgverify.targets import Observable, Target
from sgverify.targets.form import inverse_in_balls

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
        return self._of_target(fmpq_mat([list(map(to_fmpq, row)) for row in self._judged.covariance]))

    @property
    def truth_in_balls(self) -> Moments:
        """The same at the working precision."""
        return self._of_target(inverse_in_balls(self._judged.precision))

    @property
    def _judged(self) -> Target:
        # Under a biased gradient the effective target differs from the posterior with which the law is compared.
        return self.model.judged or self.model.target

    def _of_target(self, spread: Any) -> Moments:
        """The moments of the dynamics' state where T `spread` is the covariance of theta."""
        T, dim, kind = to_fmpq(self.model.temperature), self._judged.dim, type(spread)
        size = dim * len(self.model.scheme.dynamics.state)
        covariance = [[T if i == j else 0 for j in range(size)] for i in range(size)]
        for row, own in zip(covariance, (spread * T).tolist(), strict=False):
            row[:dim] = own
        mean = [[to_fmpq(entry)] for entry in self._judged.mean] + [[0]] * (size - dim)
        return Moments(kind(mean), kind(covariance))

    def at(self, step: StepSize) -> Moments:
        """The moments at this step size, as balls at the working precision."""
        return self.answers.moments(step, self.position).of(self.coordinates[self.whole])

    def distance(self, distance: Distance, step: StepSize, part: str) -> Certified:
        """A distance between the law of `part` at this step size and the true one."""
        places = self.coordinates[part]
        return refine(lambda bits: distance.between(self.at(step).of(places), self.truth_in_balls.of(places)))

    @cached_property
    def errors(self) -> list[Moments]:
        """Coefficients of h^0, h^1, ... of the moments less the true ones; fractions, or balls."""
        with flint.ctx.workprec(EXPANSION_BITS):
            places = self.coordinates[self.whole]
            found = [moments.of(places) for moments in self.answers.moment_series(self.position)]
            exact = all(isinstance(part, fmpq_mat) for f in found for part in (f.mean, f.covariance))
            if not exact:
                found = [moments.in_balls for moments in found]
            return [found[0] - (self.truth if exact else self.truth_in_balls), *found[1:]]

    def leading(self, distance: Distance, part: str) -> LeadingError:
        """The leading power of h in a distance of the law of `part` from the true one, and its coefficient."""
        places = self.coordinates[part]
        with flint.ctx.workprec(EXPANSION_BITS):
            errors = [error.of(places) for error in self.errors]
            exact = all(isinstance(entry, fmpq) for error in errors for entry in error.entries)
            truth = (self.truth if exact else self.truth_in_balls).of(places)
            for order, error in enumerate(errors):
                if all(_may_vanish(entry) for entry in distance.seen(error)):
                    continue
                # Where the limit at h = 0 itself is wrong by a finite amount, the distance is not linear in it.
                found = (
                    distance.leading(error, truth)
                    if order
                    else distance.between((truth + error).in_balls, truth.in_balls)
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
