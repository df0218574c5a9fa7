"""The cumulants of orders 3 and up that non-normal draws add to the law of a step, and the laws of gradient noise.

A draw z has independent coordinates, so kappa_r(B z) is B applied to each slot of the diagonal tensor kappa_r(z_1).
A normal draw has none beyond the second; neither has the three-point one to order 5, the two-point one to order 3.

The noise of a gradient estimator on a target, by its exact cumulants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from flint import arb, arb_mat, fmpq, fmpq_mat

from sgverify.configuration import GradientTable
from sgverify.errors import ConfigurationError
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.entrywise import push
from sgverify.exact.numbers.matrix_series import MultiIndex, multi_indices
from sgverify.gradients import (
    AdditiveNoise,
    CentredGradient,
    FullGradient,
    GradientEstimator,
    MinibatchGradient,
    SnapshotGradient,
)
from sgverify.schemes import NoiseLaw, exact
from sgverify.targets import Target

if TYPE_CHECKING:
    from sgverify.exact.minibatch.hessians import MinibatchLaw
    from sgverify.exact.minibatch.transition import Component
Drawn = Sequence[tuple[NoiseLaw, arb_mat]]
"""The draws of a step: the law of each, and its block B, n x d."""


def drawn_tensor(drawn: Drawn, order: int) -> arb_mat | None:
    """sum_k kappa_order(B_k z_k) in the layout of `AffineChain`, n x n^(order-1); None where it vanishes."""
    total = None
    for law, block in drawn:
        cumulant = law.cumulant(order)
        if cumulant:
            dim = block.ncols()
            diagonal = fmpq_mat(dim, dim ** (order - 1))
            for i in range(dim):
                diagonal[i, sum(i * dim**k for k in range(order - 1))] = fmpq(
                    cumulant.numerator, cumulant.denominator
                )
            pushed = push(arb_mat(diagonal), block, order)
            total = pushed if total is None else total + pushed
    return total


def joint_cumulants(
    sources: Iterable[tuple[Callable[[int], Any], arb_mat]], highest: int
) -> dict[MultiIndex, arb]:
    """Joint cumulants of orders 2 to `highest` of sum_k B_k z_k for independent z_k, by multi-index; no zeros.

    A source is B_k (n x d) with a function that gives the cumulant of each order of a coordinate of z_k. The coordinates are
    independent, so that the cumulants of B_k z_k are sums over the columns of B_k.
    """
    found: dict[MultiIndex, arb] = {}
    for cumulant_of, block in sources:
        for order in range(2, highest + 1):
            cumulant = cumulant_of(order)
            for powers in multi_indices(block.nrows(), order, order) if cumulant else ():
                for column in range(block.ncols()):
                    term = ball.number(cumulant)
                    for i, times in enumerate(powers):
                        # flint gives no bounds for a power of a ball around 0, but for its products.
                        for _ in range(times):
                            term *= block[i, column]
                    found[powers] = found.get(powers, arb(0)) + term
    return found


def normal_through(laws: Iterable[NoiseLaw], order: int) -> bool:
    """Whether all these laws have the normal law's cumulants through this order."""
    return all(law.cumulant(k) == 0 for law in laws for k in range(3, order + 1))


def added(left: Any, right: Any) -> Any:
    """left + right, where None is zero."""
    return right if left is None else left if right is None else left + right


LARGEST_TENSOR = 5
"""The largest dimension for which third and fourth cumulants are kept: only the MSE asks for them."""

HIGHEST_CUMULANT = 8
"""The highest order of cumulants in one dimension: twice the highest degree of a test function."""


@dataclass(frozen=True)
class GradientNoise:
    """Cumulants of g = minibatch gradient - full gradient (None where they vanish).

    covariance: d x d; third: d x d^2; fourth: d x d^3, all rational. `each_evaluation`: fresh noise at every
    gradient evaluation (`additive`), else one noise per minibatch. `sweeps`: how often the blocks of one permutation are gone
    over, the second time in reverse, 0 for fresh minibatches; two of the `blocks` have the covariance `across`.
    `scalar_cumulants`: orders 2 to 8 in one dimension, for test functions of degree above 2. `components`: the
    blocks of an epoch as a signed mixture of independent ones, exact to order 4, in one dimension. `minibatch`:
    the law of one minibatch where it moves the Hessian too; `covariance` is then that at the minimiser of U.
    `refresh`: the steps from snapshot to snapshot of `svrg`, whose noise vanishes with the way since the last one.
    """

    kind: str
    covariance: fmpq_mat | None = None
    third: fmpq_mat | None = None
    fourth: fmpq_mat | None = None
    each_evaluation: bool = False
    sweeps: int = 0
    across: fmpq_mat | None = None
    blocks: int = 1
    scalar_cumulants: Mapping[int, fmpq] = field(default_factory=dict)
    components: Sequence[Component] = ()
    minibatch: MinibatchLaw | None = None
    known: bool = True
    refresh: int | None = None

    @property
    def exchangeable(self) -> bool:
        """Whether the minibatches of an epoch are the blocks of one permutation."""
        return self.sweeps > 0

    @property
    def symmetric(self) -> bool:
        """Whether every sweep forward over the blocks is followed by one backward."""
        return self.sweeps == 2

    @property
    def multiplicative(self) -> bool:
        """Whether the minibatches have Hessians of their own, so that the noise depends on the state."""
        return self.minibatch is not None

    @property
    def noisy(self) -> bool:
        """Whether every step has gradient noise of its own, independent of the other steps'."""
        return (self.covariance is not None or not self.known) and not self.exchangeable

    def scalar_cumulant(self, order: int) -> fmpq:
        """The cumulant of this order in one dimension."""
        return self.scalar_cumulants.get(order, fmpq(0))


def gradient_noise(table: GradientTable, target: Target) -> GradientNoise:
    """The noise that `table` asks for on `target`.

    Raises `ConfigurationError`: minibatches on a target without data, a batch larger than the data or, in
    blocks, one that does not divide them, a covariance that is not symmetric positive semidefinite.
    """
    if table.estimator.draws_data:
        check_minibatch(table, target)
    return noise_of(table.estimator, table, target)


@singledispatch
def noise_of(estimator: GradientEstimator, table: GradientTable, target: Target) -> GradientNoise:
    """The noise of an estimator; unknown (`known` is False) for a class that has registered none."""
    return GradientNoise(estimator.name, known=False)


@noise_of.register
def _full(estimator: FullGradient, table: GradientTable, target: Target) -> GradientNoise:
    return GradientNoise(estimator.name)


@noise_of.register
def _additive(estimator: AdditiveNoise, table: GradientTable, target: Target) -> GradientNoise:
    covariance = _covariance(table.covariance, target.dim)
    scalar = {2: covariance[0, 0]} if target.dim == 1 else {}
    return GradientNoise(estimator.name, covariance, each_evaluation=True, scalar_cumulants=scalar)


@noise_of.register
def _minibatches(estimator: MinibatchGradient, table: GradientTable, target: Target) -> GradientNoise:
    """Sums over minibatches: cumulants where all data have one Hessian, else the law of the minibatch."""
    from sgverify.exact.minibatch.law import block_covariances, with_replacement, without_replacement

    name, sweeps = estimator.name, estimator.sweeps
    assert target.size is not None
    all_data = not estimator.replaced and table.batch == target.size
    if not target.quadratic:
        return GradientNoise(name, sweeps=sweeps, known=all_data and estimator.fresh)
    if not target.common_curvature:
        if all_data:
            return GradientNoise(name)
        law = _law_of_minibatches(target, table.batch, replaced=estimator.replaced)
        blocks = target.size // table.batch
        return GradientNoise(name, law.noise_at(target.mean), sweeps=sweeps, blocks=blocks, minibatch=law)
    vectors = target.data_vectors().last(target.dim)
    if estimator.exchangeable:
        within, across = block_covariances(vectors, table.batch)
        components: Sequence[Component] = ()
        if target.dim == 1:
            from sgverify.exact.minibatch.transition import block_moments, independent_components

            components = independent_components(block_moments(vectors, table.batch))
        return GradientNoise(
            name,
            within,
            sweeps=sweeps,
            across=across,
            blocks=target.size // table.batch,
            components=components,
        )
    if all_data:
        return GradientNoise(name)
    draw = with_replacement if estimator.replaced else without_replacement
    if target.dim > LARGEST_TENSOR:
        return GradientNoise(name, draw(vectors, table.batch, order=2).covariance)
    if target.dim == 1:
        noise = draw(vectors, table.batch, order=HIGHEST_CUMULANT)
        scalar = {order: noise.cumulants.get((order,), fmpq(0)) for order in range(2, HIGHEST_CUMULANT + 1)}
        return GradientNoise(name, noise.covariance, noise.third, noise.fourth, scalar_cumulants=scalar)
    noise = draw(vectors, table.batch, order=4)
    return GradientNoise(name, noise.covariance, noise.third, noise.fourth)


def _law_of_minibatches(target: Target, batch: int, *, replaced: bool) -> MinibatchLaw:
    # Imported here: most targets have one Hessian for all data.
    from sgverify.exact.minibatch.hessians import MinibatchLaw

    return MinibatchLaw.of(target, batch, replaced=replaced)


@noise_of.register
def _with_snapshot(estimator: SnapshotGradient, table: GradientTable, target: Target) -> GradientNoise:
    """N/n sum_B (grad_i(theta) - grad_i(s)) + the full gradient at s: exact where all data have one Hessian."""
    assert target.size is not None
    refresh = estimator.interval(target.size, table)
    if not target.quadratic or target.common_curvature:
        return GradientNoise(estimator.name, refresh=refresh)
    law = _law_of_minibatches(target, table.batch, replaced=estimator.replaced)
    return GradientNoise(estimator.name, minibatch=law, refresh=refresh)


@noise_of.register
def _from_centre(estimator: CentredGradient, table: GradientTable, target: Target) -> GradientNoise:
    """No noise where all data have one Hessian; else the law of minibatches of data whose gradients agree at the centre."""
    if not target.quadratic:
        return GradientNoise(estimator.name, known=False)
    if target.common_curvature:
        return GradientNoise(estimator.name)
    law = _law_of_minibatches(target, table.batch, replaced=estimator.replaced).centred(
        estimator.centre(target)
    )
    return GradientNoise(estimator.name, law.noise_at(target.mean), minibatch=law)


def check_minibatch(table: GradientTable, target: Target) -> None:
    """Raise `ConfigurationError` for minibatches that the target's data cannot supply."""
    if target.size is None:
        raise ConfigurationError(
            f"gradient.kind={table.kind!r}: target {target.name!r} has no data to draw minibatches from; use "
            "target.name='gaussian-mean', or gradient.kind='additive' for gradient noise without data"
        )
    if table.batch > target.size:
        raise ConfigurationError(
            f"gradient.batch={table.batch}: larger than the {target.size} data of {target.name!r}; expected 1 to {target.size}"
        )
    if table.estimator.exchangeable and target.size % table.batch:
        raise ConfigurationError(
            f"gradient.batch={table.batch}: does not divide the {target.size} data; {table.kind} consumes them in blocks of one "
            "size, so choose a divisor"
        )


def _covariance(value: Any, dim: int) -> fmpq_mat:
    if not isinstance(value, list):
        rows = [[value if i == j else 0 for j in range(dim)] for i in range(dim)]
    elif value and not isinstance(value[0], list):
        rows = [[v if i == j else 0 for j in range(len(value))] for i, v in enumerate(value)]
    else:
        rows = value
    if len(rows) != dim or any(len(row) != dim for row in rows):
        raise ConfigurationError(
            f"gradient.covariance={value!r}: expected a number or a {dim} x {dim} matrix"
        )
    entries = [[_fmpq(v) for v in row] for row in rows]
    if any(entries[i][j] != entries[j][i] for i in range(dim) for j in range(i)):
        raise ConfigurationError(f"gradient.covariance={value!r}: not symmetric; a covariance is")
    matrix = fmpq_mat(entries)
    if not _is_semidefinite(matrix):
        raise ConfigurationError(f"gradient.covariance={value!r}: not positive semidefinite; a covariance is")
    return matrix


def _fmpq(value: Any) -> fmpq:
    number = exact(value)
    return fmpq(number.numerator, number.denominator)


def _is_semidefinite(matrix: fmpq_mat) -> bool:
    """Exact elimination: every pivot is non-negative, and a zero pivot has a zero row."""
    n = matrix.nrows()
    rows = [[matrix[i, j] for j in range(n)] for i in range(n)]
    for k in range(n):
        pivot = rows[k][k]
        if pivot < 0 or (pivot == 0 and any(rows[k][j] != 0 for j in range(k + 1, n))):
            return False
        if pivot:
            for i in range(k + 1, n):
                factor = rows[i][k] / pivot
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return True
