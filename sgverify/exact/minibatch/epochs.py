"""Reshuffled minibatches whose noise is added: the law at each position of an epoch, and the bias of the ergodic average.

The minibatches of one epoch are the blocks of one random permutation. Blocks are exchangeable, so the noises of two steps of
one epoch have one covariance O (`across`) whatever the steps; epochs are independent. Such noises are those of a vector of
covariance O that is held over the epoch and of fresh ones, of covariance F (`free`), and i steps after its start

    Y_i = K + M^i (Y_0 - K) M^iT + G_i O G_i^T,        K = F + M K M^T,        G_i = I + M + ... + M^(i-1).

M^i and G_i are blocks of the power of A = [[M, I], [0, I]]. The invariant law at the end of an epoch solves Y_s = Y_0.

Where sweeps go forward and then backward over the blocks, an epoch consists of both: step m + r uses the minibatches of step
m + 1 - r in reverse, and r steps into the second half the covariance has the additional terms W_r + W_r^T,

    W_r = sum_{i=1..r} M^(2r-i) D M^(i-1)T,        W_{r+q} = M^(2q) W_r + M^r W_q M^rT,

where D is the covariance of the noises of a step and of its mirror image, less that of two different steps. Sums over
steps are formed by doubling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flint import arb, arb_mat, fmpq

from sgverify.errors import ConfigurationError
from sgverify.exact.chain.chain import ChainProblem, checked_length, independent_parts, restricted
from sgverify.exact.chain.ergodic import Centred, StationaryLaw
from sgverify.exact.chain.lyapunov import Contraction
from sgverify.exact.numbers.ball import Certified, identity, inner, refine
from sgverify.exact.numbers.matrix_series import block_matrix, blocks_of, power, sum_along


@dataclass(frozen=True)
class Epoch:
    """The steps X' = map X + shift + noise of one epoch: M, F, O and their number; step 1 is the first of the epoch.

    `mirrored`: D, where the second half of the epoch is the first one backward.
    """

    map: arb_mat
    free: arb_mat
    across: arb_mat
    steps: int
    mirrored: arb_mat | None = None
    _backs: dict[int, BackwardSweep] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or self.steps < 1:
            raise ConfigurationError(f"steps={self.steps!r}: an epoch has a positive whole number of steps")
        if self.mirrored is not None and self.steps % 2:
            raise ConfigurationError(
                f"steps={self.steps}: a sweep forward and backward has an even number of steps"
            )

    @classmethod
    def of(
        cls,
        map_: arb_mat,
        drawn: arb_mat,
        injections: Sequence[arb_mat],
        blocks: tuple[arb_mat, arb_mat],
        steps: int,
        *,
        backward: bool,
    ) -> Epoch:
        """The epoch of a step that adds noise of covariance `drawn` and sum_a B_a g_a over its consecutive minibatches g_a.

        `blocks` are the covariances of one block and of two (`block_covariances`), d x d; B_a is n x d.
        """
        own, other = blocks
        total = sum(injections[1:], injections[0])
        free = sum((b * (own - other) * b.transpose() for b in injections), drawn)
        mirrored = None
        if backward:
            pairs = zip(injections, reversed(injections), strict=True)
            terms = [b * (own - other) * c.transpose() for b, c in pairs]
            mirrored = sum(terms[1:], terms[0])
        return cls(map_, free, total * other * total.transpose(), steps, mirrored)

    def covariance_at(self, position: int) -> arb_mat:
        """Y_i, i steps after the start of an epoch, i = 0, ..., `steps`; Y_0 = Y_s."""
        if position == 0:
            return self._own + self._start
        walk = power(self._walk, position)
        found = self._own + self._corner(walk * self._carried * walk.transpose())
        back = self._back(position)
        return found if back is None else found + back.pair + back.pair.transpose()

    def total(self, position: int) -> arb_mat:
        """Y_1 + ... + Y_i, i >= 1."""
        found = self._own * position + self._corner(sum_along(self._walk, self._carried, position))
        back = self._back(position)
        return found if back is None else found + back.total + back.total.transpose()

    def average(self) -> arb_mat:
        """The mean of Y_1, ..., Y_s."""
        return self.total(self.steps) * fmpq(1, self.steps)

    def restricted(self, group: Sequence[int]) -> Epoch:
        """The epoch of some of the coordinates, which must not depend on the others."""
        map_, free, across = (restricted(m, group) for m in (self.map, self.free, self.across))
        mirrored = None if self.mirrored is None else restricted(self.mirrored, group)
        return Epoch(map_, free, across, self.steps, mirrored)

    @property
    def _size(self) -> int:
        return int(self.map.nrows())

    def _corner(self, walked: arb_mat) -> arb_mat:
        sizes = [self._size, self._size]
        return blocks_of(walked, sizes, sizes)[0][0]

    @cached_property
    def _walk(self) -> arb_mat:
        """A."""
        unit = identity(self._size)
        return block_matrix([[self.map, unit], [self.map * 0, unit]])

    @cached_property
    def _own(self) -> arb_mat:
        """K."""
        return Contraction.of(self.map).forward(self.free)

    @cached_property
    def _start(self) -> arb_mat:
        """Y_0 - K, which M^s (Y_0 - K) M^sT + G_s O G_s^T leaves alone."""
        sizes = [self._size, self._size]
        whole = power(self._walk, self.steps)
        moved, reached = blocks_of(whole, sizes, sizes)[0]
        added = reached * self.across * reached.transpose()
        back = self._back(self.steps)
        if back is not None:
            added = added + back.pair + back.pair.transpose()
        return Contraction.of(moved).forward(added)

    @cached_property
    def _carried(self) -> arb_mat:
        """The block matrix that A conjugates: Y_0 - K and O on the diagonal."""
        start = self._start
        return block_matrix([[start, start * 0], [start * 0, self.across]])

    def _back(self, position: int) -> BackwardSweep | None:
        """The sums over the completed steps of the backward half; None in the forward half."""
        done = position - self.steps // 2
        if self.mirrored is None or done < 1:
            return None
        if done not in self._backs:
            self._backs[done] = BackwardSweep.of(self.map, self.mirrored, done)
        return self._backs[done]


@dataclass(frozen=True)
class BackwardSweep:
    """M^r, sum_{j<=r} M^(2j), W_r and sum_{j<=r} W_j."""

    power: arb_mat
    squares: arb_mat
    pair: arb_mat
    total: arb_mat

    @classmethod
    def of(cls, map_: arb_mat, shared: arb_mat, steps: int) -> BackwardSweep:
        """The sums for r = `steps` >= 1; `shared` is D."""
        one = cls(map_, map_ * map_, map_ * shared, map_ * shared)
        found = one
        for bit in bin(steps)[3:]:
            found = found.then(found)
            if bit == "1":
                found = found.then(one)
        return found

    def then(self, other: BackwardSweep) -> BackwardSweep:
        """The sums for r + q steps, from those for r = this and q = `other`."""
        back, twice = self.power.transpose(), other.power * other.power
        return BackwardSweep(
            self.power * other.power,
            self.squares + self.power * self.power * other.squares,
            twice * self.pair + self.power * other.pair * back,
            self.total + other.squares * self.pair + self.power * other.total * back,
        )


@dataclass(frozen=True)
class EpochLaw(Centred):
    """One problem in coordinates centred at the stationary mean; `law` is the one at the end of an epoch."""

    epoch: Epoch

    @cached_property
    def law(self) -> StationaryLaw:
        """Mean, which is that of every position, and covariance at the end of an epoch."""
        chain = self.problem.chain
        mean = (identity(chain.size) - chain.map).solve(chain.shift)
        return StationaryLaw(mean, self.epoch.covariance_at(0), Contraction.of(chain.map))

    def bias_at(self, position: int) -> arb:
        """phi_i - target."""
        moved = self.epoch.covariance_at(position) - self.law.covariance
        return self.stationary_bias() + inner(self.problem.observable.quadratic, moved)

    def sum_to(self, position: int) -> arb:
        """sum_{i=1..position} (phi_i - target)."""
        if position == 0:
            return arb(0)
        moved = self.epoch.total(position) - self.law.covariance * position
        return position * self.stationary_bias() + inner(self.problem.observable.quadratic, moved)


EpochProblemAt = Callable[[int], tuple[ChainProblem, Epoch]]
"""The problem and its epoch at a working precision; the noise and higher cumulants of the problem's chain are not used."""


def epoch_stationary_bias(
    problem_at: EpochProblemAt, *, position: int | None = None, **options: Any
) -> Certified:
    """The stationary average of phi minus the target, at a position or over the whole epoch where None."""
    return refine(lambda bits: epoch_bias(*problem_at(bits), position), **options)


def epoch_bias(problem: ChainProblem, epoch: Epoch, position: int | None) -> arb:
    """The same as a ball at the working precision."""
    parts = _parts(problem, epoch)
    if position is None:
        return sum((part.sum_to(part.epoch.steps) / part.epoch.steps for part in parts), arb(0))
    return sum((part.bias_at(position) for part in parts), arb(0))


def epoch_transient(problem: ChainProblem, epoch: Epoch) -> arb:
    """sum_l (E phi(X_l) - phi_h) over all steps, whole epochs."""
    moving = (part for part in _parts(problem, epoch) if not part.problem.constant)
    return sum((part.transient(part.problem.chain.map * 0) for part in moving), arb(0))


def epoch_ergodic_bias(problem_at: EpochProblemAt, length: int, **options: Any) -> Certified:
    """E[(1/L) sum_{l=1..L} phi(X_l)] - target; L need not be a multiple of the epoch."""
    steps = checked_length(length)

    def evaluate(bits: int) -> arb:
        total = arb(0)
        for part in _parts(*problem_at(bits)):
            epochs, rest = divmod(steps, part.epoch.steps)
            total += part.sum_to(rest)
            if epochs:
                total += epochs * part.sum_to(part.epoch.steps)
            if not part.problem.constant:
                total += part.transient(part.problem.chain.map**steps)
        return total / steps

    return refine(evaluate, **options)


def _parts(problem: ChainProblem, epoch: Epoch) -> list[EpochLaw]:
    # Means of phi depend only on the blocks of O that the quadratic form joins, so that O joins no coordinates by itself.
    return [EpochLaw(part, epoch.restricted(group)) for group, part in independent_parts(problem)]
