"""Lyapunov equations of a step M(h) = I + h M_1 + ... that tends to the identity, as power series in h."""

from __future__ import annotations

from collections.abc import Sequence

from sgverify.exact.continuous import ContinuousLyapunov, Matrix, transposed


def lyapunov_series(maps: Sequence[Matrix], sources: list[Matrix]) -> list[Matrix]:
    """S_k with sum_{i+j+l=k+1, (i,j) != 0} M_i S_l M_j^T = - sources_k."""
    equation = ContinuousLyapunov(maps[0], (*maps[1:], *sources))
    backs = transposed(maps)
    found: list[Matrix] = []
    for k, source in enumerate(sources):
        right = source
        for l, known in enumerate(found):
            total = k + 1 - l
            right = right + maps[total - 1] * known + known * backs[total - 1]
            for i in range(1, total):
                right = right + maps[i - 1] * known * backs[total - i - 1]
        found.append(equation.solve(right * -1))
    return found
