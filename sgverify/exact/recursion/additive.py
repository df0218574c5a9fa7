"""Noise that is added, fresh in every step: the moments of a step are those of an affine map (`lifted`).

The moments of an affine chain are a larger affine chain without noise.

E (M x + xi)^a = sum_{b <= a} binom(a, b) E xi^b (M x)^(a - b) is linear in the monomials of x, so the column w of E x^a,
|a| <= degree, obeys w' = T w. The numbers are of any ring: balls, or polynomials in h over fractions or balls.

Additive noise of the blocks of one permutation, one number each, over an epoch or a sweep forward and backward.

Blocks are a signed mixture of independent ones (`transition`), and the operators of an epoch are linear in their joint law:
with T_k the operator of a step under the k-th component, the operator after i steps of an epoch is sum_k w_k T_k^i.

A sweep backward uses the blocks in reverse, the last one first. Let T_g be the operator of a step whose block has the value
g, T_g = sum_k T^(k) g^k, and mu_k = E g^k. The last r blocks, forward and backward, have the operator

    P_r = E[T_g P_{r-1} T_g] = sum_{k, l} mu_{k+l} T^(k) P_{r-1} T^(l),        P_0 = I,

and i = m + r steps are P_r F^(m-r), F = sum_k mu_k T^(k). T^(k) lowers the degree in the state by k, so that terms beyond the
highest degree vanish.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import flint
from flint import arb, arb_mat, fmpq, fmpq_mat

from sgverify.errors import ConfigurationError, Unreached
from sgverify.exact.affine.model import Model, StepParts, StepSize
from sgverify.exact.affine.noise import joint_cumulants
from sgverify.exact.chain.expansion import EXPANSION_BITS, TINY
from sgverify.exact.minibatch.transition import Component
from sgverify.exact.numbers.ball import identity
from sgverify.exact.numbers.matrix_series import (
    MultiIndex,
    cumulants_from_moments,
    moments_from_cumulants,
    multi_indices,
    product,
    unit,
)
from sgverify.exact.recursion.period import Period, RepeatedPeriod, RunningSum, inner_block, summed


def lifted(map_: arb_mat, shift: arb_mat, cumulants: Mapping[MultiIndex, Any], degree: int) -> arb_mat:
    """T of X' = map X + shift + xi; `cumulants` are the joint ones of xi of orders 2 and up, missing ones zero."""
    n = map_.nrows()
    noise = {**cumulants, **{unit(n, i): shift[i, 0] for i in range(n)}}
    return arb_mat(_rows(map_.tolist(), moments_from_cumulants(noise, n, degree, one=arb(1)), degree))


def _rows(map_: Sequence[Sequence[Any]], noise: Mapping[MultiIndex, Any], degree: int) -> list[list[Any]]:
    """T by rows, over the ring of its entries: noise are the raw moments of c + xi to `degree`."""
    n = len(map_)
    one = noise[(0,) * n]
    columns = multi_indices(n, 0, degree)
    images: dict[MultiIndex, dict[MultiIndex, Any]] = {(0,) * n: {(0,) * n: one}}
    for powers in columns[1:]:
        lead = next(i for i, power in enumerate(powers) if power)
        smaller = images[tuple(p - (i == lead) for i, p in enumerate(powers))]
        images[powers] = product(smaller, {unit(n, j): map_[lead][j] for j in range(n)})
    rows = []
    for powers in columns:
        total: dict[MultiIndex, Any] = {}
        for below in itertools.product(*(range(p + 1) for p in powers)):
            weight = math.prod(math.comb(p, b) for p, b in zip(powers, below, strict=True)) * noise[below]
            for key, value in images[tuple(p - b for p, b in zip(powers, below, strict=True))].items():
                total[key] = total[key] + weight * value if key in total else weight * value
        rows.append([total.get(key, 0 * one) for key in columns])
    return rows


LARGEST = 2
"""The largest number of coordinates of a chain: theta and p in one dimension, or theta alone in two."""

HIGHEST_DEGREE = 4
"""The highest degree of a test function; degrees up to 2 need no such moments, and are possible in any dimension."""


@dataclass(frozen=True)
class StateIndependentNoise:
    """Draws and minibatch noise whose laws do not depend on the state; in two dimensions draws alone."""

    model: Model
    steps = None

    def period(self, step: StepSize, asked: RunningSum) -> RepeatedPeriod:
        """See `Randomness`."""
        parts, noise = self.model.parts(step()), self.model.noise
        sources: list[tuple[Callable[[int], Any], arb_mat]] = [(law.cumulant, b) for law, b in parts.draws]
        if noise.noisy:
            sources += [(noise.scalar_cumulant, block) for block in parts.injections]
        cumulants = joint_cumulants(sources, asked.highest)
        operator = lifted(parts.map, parts.shift, cumulants, asked.highest)
        return RepeatedPeriod(asked.joined(operator, self.model.size))

    def check(self, degree: int) -> None:
        """See `Expandable`."""
        named = f"the test function {self.model.observable} has degree {degree}"
        if self.model.size > LARGEST:
            raise Unreached(f"{named}; beyond one dimension at most 2 is reached")
        if self.model.target.dim > 1 and self.model.noise.noisy:
            raise Unreached(f"{named}; beyond one dimension at most 2 is reached where the gradient is noisy")
        if degree > HIGHEST_DEGREE:
            raise Unreached(f"{named}; at most {HIGHEST_DEGREE} is reached")

    def why_no_square(self, degree: int) -> str | None:
        """See `Randomness`."""
        return None


def telescopes(model: Model, degree: int, phi: list[Any]) -> bool:
    """Whether sigma_0^2 vanishes for the test function with these coefficients, of the monomials of degree 1 and up.

    sigma_0^2 = E[grad psi^T Q_1 grad psi], psi solving L psi = phi_0 - phi, is zero exactly if psi does not
    depend on a coordinate that is driven by noise: the time average of theta^2 p = d(theta^3/3)/dt telescopes.
    """
    with flint.ctx.workprec(EXPANSION_BITS):
        h = arb(2) ** -TINY
        moved = inner_block(
            StateIndependentNoise(model).period(lambda: h, RunningSum(model.size, degree)).step
        )
        psi = ((moved - identity(moved.nrows())) / h).transpose().solve(arb_mat(len(phi), 1, phi))
        noise = model.chain(h).covariance / h
        # At h = 2^-64 what vanishes with h is far below what does not.
        small = arb(2) ** (-TINY // 2)
        return all(
            not powers[i] or abs(noise[i, i]) < small or abs(psi[k, 0]) < small
            for k, powers in enumerate(multi_indices(model.size, 1, degree))
            for i in range(model.size)
        )


LARGEST_OF_BLOCKS = 3
"""Coordinates for which the mean square error is computed: theta, p and one more for a memory."""

MOST_BLOCKS = 400
"""The largest number of blocks of a sweep forward and backward: each costs a few products of matrices."""


@dataclass(frozen=True)
class PermutationBlocks:
    """The blocks of a permutation in one dimension; a period is an epoch, or a sweep forward and backward."""

    model: Model

    @property
    def steps(self) -> int:
        """Steps in an epoch: the blocks of the permutation over the minibatches of one step.

        Twice as many where every sweep over them is followed by one backward.
        """
        noise, used = self.model.noise, max(1, self.model.scheme.minibatches)
        if noise.blocks % used:
            raise ConfigurationError(
                f"gradient.batch: an epoch of {noise.blocks} minibatches is not a whole number of steps of "
                f"`{self.model.scheme.name}`, which uses {used} each; choose another batch size"
            )
        return noise.sweeps * noise.blocks // used

    def period(self, step: StepSize, asked: RunningSum) -> Mixture:
        """See `Randomness`; test functions of degree at most 2, as joint moments are known to order 4.

        Raises `ConfigurationError` for higher ones.
        """
        parts, components = self.model.parts(step()), self.model.noise.components
        known = min(len(part.moments) for part in components)
        if asked.highest > known:
            raise ConfigurationError(
                f"observable of degree {asked.degree}: asks for joint moments of blocks to order {asked.highest}, and only {known} "
                "are given"
            )
        periods: Sequence[Period]
        if self.model.noise.symmetric:
            powers = self._powers(parts, asked)
            periods = [ForwardBackward(powers, part.moments, self.steps) for part in components]
        else:
            periods = [
                RepeatedPeriod(self._independent(parts, part, asked), self.steps) for part in components
            ]
        return Mixture([arb(part.weight) for part in components], periods)

    def why_no_square(self, degree: int) -> str | None:
        """See `Randomness`."""
        noise, model = self.model.noise, self.model
        reached = bool(noise.components) and model.size <= LARGEST_OF_BLOCKS
        if noise.symmetric:
            if reached and model.scheme.minibatches <= 1 and noise.blocks <= MOST_BLOCKS:
                return None
            return (
                "where every minibatch comes back in a backward sweep it is reached in one dimension, with at most one variable "
                f"more than theta and p, one minibatch in a step and at most {MOST_BLOCKS} in a sweep"
            )
        if reached:
            return None
        return "under reshuffling it is reached in one dimension, with at most one variable more than theta and p"

    def _independent(self, parts: StepParts, component: Component, asked: RunningSum) -> arb_mat:
        """The operator of a step with independent blocks that have the moments of `component`."""
        raw: dict[tuple[int, ...], Any] = {(k,): mu for k, mu in enumerate((fmpq(1), *component.moments))}
        single = cumulants_from_moments(raw, 1, max(1, asked.highest))
        shift = sum((block * arb(single[(1,)]) for block in parts.injections), parts.shift)
        own: list[tuple[Callable[[int], Any], arb_mat]] = [
            (lambda order: single[(order,)], block) for block in parts.injections
        ]
        return self._operator(parts, shift, own, asked)

    def _powers(self, parts: StepParts, asked: RunningSum) -> list[arb_mat]:
        """T^(0), T^(1), ...: a polynomial in g, from its values at whole numbers."""
        order = max(1, asked.highest)
        nodes = [k - order // 2 for k in range(order + 1)]
        (injection,) = parts.injections
        values = [self._operator(parts, parts.shift + injection * g, [], asked) for g in nodes]
        inverse = fmpq_mat(
            order + 1, order + 1, [fmpq(g) ** k for g in nodes for k in range(order + 1)]
        ).inv()
        return [summed([v * arb(inverse[k, j]) for j, v in enumerate(values)]) for k in range(order + 1)]

    def _operator(
        self,
        parts: StepParts,
        shift: arb_mat,
        own: Sequence[tuple[Callable[[int], Any], arb_mat]],
        asked: RunningSum,
    ) -> arb_mat:
        drawn = [(law.cumulant, block) for law, block in parts.draws]
        cumulants = joint_cumulants([*drawn, *own], asked.highest)
        return asked.joined(lifted(parts.map, shift, cumulants, asked.highest), self.model.size)


@dataclass(frozen=True)
class Mixture:
    """A signed mixture of periods."""

    weights: Sequence[arb]
    periods: Sequence[Period]

    @property
    def steps(self) -> int:
        """See `Period`."""
        return self.periods[0].steps

    def after(self, position: int) -> arb_mat:
        """See `Period`."""
        return summed([p.after(position) * w for w, p in zip(self.weights, self.periods, strict=True)])

    def total(self, position: int) -> arb_mat:
        """See `Period`."""
        return summed([p.total(position) * w for w, p in zip(self.weights, self.periods, strict=True)])


@dataclass(frozen=True)
class ForwardBackward:
    """Independent blocks, used forward and then backward; `moments` are mu_1, mu_2, ... of one block."""

    powers: Sequence[arb_mat]
    moments: Sequence[fmpq]
    steps: int

    def after(self, position: int) -> arb_mat:
        """See `Period`."""
        back = max(0, position - self.steps // 2)
        return self._there_and_back(back) * self._forward ** (position - 2 * back)

    def total(self, position: int) -> arb_mat:
        """See `Period`."""
        return summed([self.after(k) for k in range(1, position + 1)])

    @cached_property
    def _mu(self) -> Mapping[int, arb]:
        """E g^k by k; moments that are 0 are left out."""
        known = enumerate((fmpq(1), *self.moments))
        return {k: arb(mu) for k, mu in known if mu and k < len(self.powers)}

    @cached_property
    def _forward(self) -> arb_mat:
        """F."""
        return summed([self.powers[k] * mu for k, mu in self._mu.items()])

    @cached_property
    def _known(self) -> list[arb_mat]:
        """The cache of P_0, P_1, ..., computed so far."""
        return [identity(self.powers[0].nrows())]

    def _there_and_back(self, count: int) -> arb_mat:
        used = range(max(self._mu) + 1)
        pairs = {k: [l for l in used if k + l in self._mu] for k in used}
        while len(self._known) <= count:
            right = [self._known[-1] * self.powers[l] for l in used]
            inner = {k: summed([right[l] * self._mu[k + l] for l in pairs[k]]) for k in used if pairs[k]}
            self._known.append(summed([self.powers[k] * value for k, value in inner.items()]))
        return self._known[count]
