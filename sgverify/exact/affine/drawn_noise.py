"""What drawn noise that is not normal adds to the law of a step: its cumulants of orders 3 and up.

A draw z has independent coordinates, so kappa_r(B z) is B applied to each slot of the diagonal tensor kappa_r(z_1).
A normal draw has none beyond the second; neither has the three-point one to order 5, the two-point one to order 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flint import arb, arb_mat, fmpq, fmpq_mat

from sgverify.exact import ball
from sgverify.exact.cumulants import MultiIndex, multi_indices
from sgverify.exact.tensor import push
from sgverify.schemes import NoiseLaw

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

    A source is B_k (n x d), and a function that says the cumulant of each order of every coordinate of z_k, which are
    independent: those of B_k z_k are the sums over the columns of B_k.
    """
    found: dict[MultiIndex, arb] = {}
    for cumulant_of, block in sources:
        for order in range(2, highest + 1):
            cumulant = cumulant_of(order)
            for powers in multi_indices(block.nrows(), order, order) if cumulant else ():
                for column in range(block.ncols()):
                    term = ball.number(cumulant)
                    for i, times in enumerate(powers):
                        # A power of a ball around 0 has no bounds in flint; products of it do.
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
