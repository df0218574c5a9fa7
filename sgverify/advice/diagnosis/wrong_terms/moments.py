"""Mean and covariance of one step's increment in powers of s = sqrt(h), and those of the dynamics, for every smooth potential.

With X_1 - X_0 = D, the operator f -> E f(X_1) has the coefficient E D_k of d_k and E D_k D_l of d_k d_l. A step has the
right generator where mean and covariance at h^1 are drift and 2 a; powers below h^1 are those of terms that forgot the
step size, and a covariance at h^2 alone is that of noise which is multiplied by h and not by its root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sgverify.exact.rings.polynomials import Polynomial
from sgverify.exact.rings.ring import Index, Ring
from sgverify.exact.series.averaging import merge_minibatches
from sgverify.exact.series.carrier import Signs, is_empty, on_every_branch
from sgverify.exact.series.equilibrated_memory import EquilibratedStep
from sgverify.exact.series.local_order import expand_step
from sgverify.exact.series.operators import (
    Operator,
    exponential,
    generator_of,
    operator_of,
)
from sgverify.schemes import Scheme


@dataclass(frozen=True)
class StepMoments:
    """The operators at s^0, ..., s^degree of one step on one branch, all minibatches the same one; s = sqrt(h).

    `where` says on which part of the states and parameters the branch lies, "" where the definition has one branch.
    """

    scheme: Scheme
    ring: Ring
    operators: tuple[Operator, ...]
    where: str = ""

    @property
    def degree(self) -> int:
        """The highest power of sqrt(h) that is known."""
        return len(self.operators) - 1

    def coordinates(self) -> range:
        """The numbers of the state's coordinates."""
        return range(len(self.ring.coordinates))

    @cached_property
    def exact(self) -> tuple[Operator, ...]:
        """L^k/k! at h^k, k = 0, 1, ...."""
        generator = generator_of(self.scheme.dynamics, self.ring)
        return tuple(exponential(generator, self.ring, self.degree // 2))

    def mean(self, k: int, j: int) -> Polynomial:
        """E D_k at s^j."""
        return self.operators[j].get(unit(len(self.ring.coordinates), k), self.ring.zero)

    def covariance(self, k: int, m: int, j: int) -> Polynomial:
        """Cov(D_k, D_m) at s^j."""
        return self._central(self.operators, k, m, j)

    def expected_mean(self, k: int, j: int) -> Polynomial:
        """E D_k of the diffusion, at s^j."""
        return self._exact_at(j).get(unit(len(self.ring.coordinates), k), self.ring.zero)

    def expected_covariance(self, k: int, m: int, j: int) -> Polynomial:
        """Cov(D_k, D_m) of the diffusion, at s^j."""
        return self._central([self._exact_at(i) for i in range(j + 1)], k, m, j)

    def _exact_at(self, j: int) -> Operator:
        return {} if j % 2 else self.exact[j // 2]

    def _central(self, operators: Sequence[Operator], k: int, m: int, j: int) -> Polynomial:
        size, ring = len(self.ring.coordinates), self.ring
        pair = tuple(a + b for a, b in zip(unit(size, k), unit(size, m), strict=True))
        total = operators[j].get(pair, ring.zero) * ring.constant(2 if k == m else 1)
        for i in range(j + 1):
            first = operators[i].get(unit(size, k))
            second = operators[j - i].get(unit(size, m))
            if first and second:
                total = total - first * second
        return ring.reduce(total)


def unit(size: int, k: int) -> Index:
    """The multi-index of d_k."""
    return tuple(int(j == k) for j in range(size))


def moments_of(scheme: Scheme, dim: int, degree: int) -> list[StepMoments]:
    """The moments of one step through s^degree in dimension `dim`, branch by branch.

    Of a step with memory they are those of the step once the start of its memory is forgotten. Raises
    `NotExpandableError` where the step has no power series.
    """

    def on(signs: Signs) -> StepMoments | None:
        found = (
            _equilibrated(scheme, dim, degree, signs) if scheme.memory else _plain(scheme, dim, degree, signs)
        )
        return None if is_empty(found.ring) else found

    return [found for _, found in on_every_branch(on) if found is not None]


def _plain(scheme: Scheme, dim: int, degree: int, signs: Signs) -> StepMoments:
    ring, transition = expand_step(scheme, dim, degree, signs=signs)
    operators = []
    for j in range(degree + 1):
        merged = merge_minibatches({(): transition.symbol(j)}, ring).get((), ring.zero)
        operators.append(operator_of(ring.reduce(merged), ring))
    return StepMoments(scheme, ring, tuple(operators), _where(ring, signs))


def _equilibrated(scheme: Scheme, dim: int, degree: int, signs: Signs) -> StepMoments:
    step = EquilibratedStep(scheme, dim, degree, degree + 2, signs)
    operators = [operator_of(step.symbol(j), step.ring) for j in range(degree + 1)]
    return StepMoments(scheme, step.ring, tuple(operators), _where(step.ring, signs))


def _where(ring: Ring, signs: Mapping[str, int]) -> str:
    texts = [f"{ring.text(f)} {'>' if signs[key] > 0 else '<'} 0" for key, f in ring.supposed.items()]
    return " and ".join(texts)


__all__ = ["StepMoments", "moments_of", "unit"]
