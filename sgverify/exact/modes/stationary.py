"""The average of a quadratic test function under the invariant law of a chain of many coordinates, mode by mode.

With M_i, Q_ij of the modes i, j (`normal_modes`) the blocks of the invariant covariance solve

    S_ij = M_i S_ij M_j^T + Q_ij,        (1 - M_i x M_j) vec S_ij = vec Q_ij,

k^2 equations each; for i != j there is noise only where that of the gradient couples the modes. In coordinates of the
modes phi has the blocks W^T A_ab W, and E phi = constant + b . m + m^T A m + tr(A S).
"""

from __future__ import annotations

from flint import arb, arb_mat

from sgverify.exact.modes.normal_modes import NormalModes


def stationary_average(modes: NormalModes) -> arb:
    """E phi under the invariant law, enclosed, the defect of the eigenvectors included.

    Raises `InstabilityError` where a mode is not stable.
    """
    bound = modes.defect_bound()
    turned, means = modes.turned, modes.means
    d = range(len(means))
    total = turned.constant
    for a, linear in turned.linear.items():
        total = total + sum((linear[i, 0] * means[i][a, 0] for i in d), arb(0))
    for (a, b), form in turned.forms.items():
        left = arb_mat(1, len(means), [means[i][a, 0] for i in d])
        right = arb_mat(len(means), 1, [means[i][b, 0] for i in d])
        total = total + (left * form * right)[0, 0]
    if turned.forms:
        coupled = turned.noise is not None
        for i in d:
            for j in d if coupled else (i,):
                # S_ji is the transpose of S_ij, and forms_ab that of forms_ba: every pair once, off the diagonal twice.
                if j <= i:
                    covariance = _covariance(modes, i, j)
                    times = 1 if i == j else 2
                    for (a, b), form in turned.forms.items():
                        total = total + times * form[i, j] * covariance[a, b]
    return total + arb(0, bound)


def _covariance(modes: NormalModes, i: int, j: int) -> arb_mat:
    """S_ij, k x k."""
    left, right = modes.maps[i], modes.maps[j]
    k = left.nrows()
    source = modes.drawn[i] if i == j else arb_mat(k, k)
    if modes.turned.noise is not None:
        share = modes.turned.noise[i, j]
        for one, other in zip(modes.injections[i], modes.injections[j], strict=True):
            source = source + one * other.transpose() * share
    a, b = left.tolist(), right.tolist()
    rows = [
        [(1 if (r, c) == (p, q) else 0) - a[r][p] * b[c][q] for p in range(k) for q in range(k)]
        for r in range(k)
        for c in range(k)
    ]
    return arb_mat(k, k, arb_mat(rows).solve(arb_mat(k * k, 1, source.entries())).entries())


__all__ = ["stationary_average"]
