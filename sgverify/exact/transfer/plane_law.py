"""What a step adds to exp(-(U + p.p/2)/T): the difference of the invariant law, by a Krylov method.

With P the operator on masses and rho the posterior on the grid, delta = pi_h - rho solves (I - P) delta = (P - I) rho.
The right side is of the size of the bias itself, so that nothing cancels. As 1 - |eigenvalues| = O(h), m steps are taken
as one: (I - P^m) delta = (P^m - I) rho, with mh about the time that a chain takes to cross the law.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres

from sgverify.errors import OutOfReachError
from sgverify.exact.transfer.plane_grid import PlaneGrid

_RELATIVE = 1e-10
"""Of the right side: where the iteration stops, unless rounding stops it earlier."""
_DIRECTIONS, _CYCLES = 200, 3
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class LawDifference:
    """delta = pi_h - rho on a grid, shape (theta, p), and the 1-norm of what is left of (I - P) delta = (P - I) rho."""

    grid: PlaneGrid
    law: np.ndarray
    masses: np.ndarray
    residual: float
    iterations: int

    def unresolved(self) -> tuple[float, float]:
        """The share of the highest quarter of frequencies in theta and in p: how much a finer grid could change."""
        shares = []
        for axis in (0, 1):
            sizes = np.abs(np.fft.rfft(self.masses, axis=axis)).max(1 - axis)
            shares.append(float(sizes[3 * len(sizes) // 4 :].max() / (sizes.max() or 1.0)))
        return shares[0], shares[1]

    def average(self, values: np.ndarray) -> float:
        """pi_h(phi) - pi(phi). Shape (theta, p)."""
        return float((self.masses * values).sum())


def difference_of_law(
    operator: Callable[[np.ndarray], np.ndarray],
    grid: PlaneGrid,
    law: np.ndarray,
    steps: int,
    guess: np.ndarray | None = None,
) -> LawDifference:
    """Solve for delta, taking `steps` steps as one. Raises `OutOfReachError` where the iteration does not settle."""
    rho = law.reshape(-1)
    defect = operator(rho) - rho
    found = np.zeros_like(rho) if guess is None else guess.reshape(-1) - rho * guess.sum()
    left = defect if guess is None else defect - found + operator(found)
    count = 0
    good = max(_RELATIVE * float(np.linalg.norm(defect)), 4 * _EPS * float(np.linalg.norm(rho)))
    if guess is None or np.linalg.norm(left) > good:
        allowed = _RELATIVE * steps * float(np.linalg.norm(defect))
        correction, count = _correction(operator, rho, left, steps, allowed)
        found = found + correction
        left = defect - found + operator(found)
    return LawDifference(grid, law, found.reshape(law.shape), float(np.abs(left).sum()), count)


def _correction(
    operator: Callable[[np.ndarray], np.ndarray],
    rho: np.ndarray,
    left: np.ndarray,
    steps: int,
    allowed: float,
) -> tuple[np.ndarray, int]:
    """x with (I - P) x = left and no mass, the residual after `steps` steps at most `allowed`; and the iterations."""
    right, last = left.copy(), left
    for _ in range(steps - 1):
        last = operator(last)
        right += last
    right -= rho * right.sum()

    def apply(vector: np.ndarray) -> np.ndarray:
        carried = vector
        for _ in range(steps):
            carried = operator(carried)
        # The law itself is left unchanged by P: mass is put back on it, so that the system has one solution.
        return np.asarray(vector - carried + rho * vector.sum())

    system = LinearOperator((len(rho), len(rho)), matvec=apply, dtype=np.float64)
    count = [0]

    def tick(_: float) -> None:
        count[0] += 1

    found, failed = gmres(
        system,
        right,
        rtol=0.0,
        atol=max(allowed, 4 * _EPS * float(np.sqrt(steps) * np.linalg.norm(rho))),
        restart=_DIRECTIONS,
        maxiter=_CYCLES,
        callback=tick,
        callback_type="pr_norm",
    )
    if failed or not np.isfinite(found).all():
        raise OutOfReachError(
            f"the Krylov iteration for the invariant law did not settle in {_DIRECTIONS * _CYCLES} directions: the chain forgets "
            "too slowly at this step size, or has no invariant law"
        )
    return found - rho * found.sum(), count[0]
