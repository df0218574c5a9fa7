"""The difference of the invariant law and exp(-(U + p.p/2)/T) in the plane, by a Krylov method; and escapes from the plane.

With P the operator on masses and rho the posterior on the grid, delta = pi_h - rho solves (I - P) delta = (P - I) rho.
The right side has the size of the bias itself, so that nothing cancels. As 1 - |eigenvalues| = O(h), m steps are combined
to one: (I - P^m) delta = (P^m - I) rho, with mh about the time in which a chain crosses the law.

`plane_escapes` finds starts from which a step carries chains to infinity, `leak_of` the share of a law that lies there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres

from sgverify.errors import Unreached
from sgverify.exact.transfer.plane.interpreter import PlaneGrid, PlaneInterpreter
from sgverify.exact.transfer.result import Escape

_RELATIVE = 1e-10
"""The residual, relative to the right side, at which the iteration stops unless rounding stops it earlier."""
_DIRECTIONS, _CYCLES = 200, 3
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class LawDifference:
    """delta = pi_h - rho on a grid, shape (theta, p), and the 1-norm of the residual of (I - P) delta = (P - I) rho."""

    grid: PlaneGrid
    law: np.ndarray
    masses: np.ndarray
    residual: float
    iterations: int

    def unresolved(self) -> tuple[float, float]:
        """The share of the highest quarter of frequencies in theta and in p, an estimate of the error of the grid."""
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
    """Solve for delta with `steps` steps combined to one. Raises `Unreached` where the iteration does not converge."""
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


def summed_over_time(
    operator: Callable[[np.ndarray], np.ndarray], law: np.ndarray, values: np.ndarray, steps: int
) -> tuple[float, float]:
    """The sum over k in Z of the correlations of f(X_0) and f(X_k) in the law; and pi(psi^2)^(1/2), psi - P psi = f - pi(f).

    Shapes (theta, p). The masses x = (1 - P)^-1 (law times f - pi(f)) are the law times the psi of the reversed dynamics, which is
    that of the dynamics with p turned round.
    """
    rho, centred = law.reshape(-1), (values - (law * values).sum()).reshape(-1)
    left = rho * centred
    summed, _ = _correction(operator, rho, left, steps, _RELATIVE * float(np.linalg.norm(left)))
    # Where the law is rounding, so is x.
    seen = rho > _NEGLIGIBLE * rho.max()
    size = float(np.sqrt((summed[seen] ** 2 / rho[seen]).sum()))
    return float(2 * (centred @ summed) / (centred @ left) - 1), size


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
        # P leaves the law itself unchanged: a multiple of it is added, so that the system has one solution.
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
        raise Unreached(
            f"the Krylov iteration for the invariant law did not settle in {_DIRECTIONS * _CYCLES} directions: the chain forgets "
            "too slowly at this step size, or has no invariant law"
        )
    return found - rho * found.sum(), count[0]


_DOUBLINGS, _SECTIONS = 24, 16
"""Starts are tried to 2^24 = 1.7e7 standard deviations from the mean; the first that escapes is found to a 16th."""
_STEPS = 100
_GONE = 100.0
"""A chain that has moved outwards by this factor without noise counts as escaped."""
_FAR, _ORBIT = 1e30, 2000
"""A diverging orbit passes 1e30 times the edge within 2000 steps; one thrown out by an exponential force returns before."""
_NEGLIGIBLE = 1e-13


def plane_escapes(reading: PlaneInterpreter, steps: Sequence[float]) -> list[Escape | None]:
    """How chains escape at each step size, `leak` left at 0; None where the step without noise brings every start back.

    Starts at rest, (theta, 0), are followed for 100 steps without noise; those at the edges found are followed until they
    diverge. With normal noise a chain reaches every start in the end, so that it escapes where any start does. Chains of all
    step sizes move together: a step of many points takes little longer than that of one.
    """
    centre = float(reading.target.location_float64(reading.temperature)[0])
    spread = float(reading.target.spread_float64(reading.temperature)[0])
    sizes = np.asarray(steps, dtype=np.float64)
    signs = np.array([[-1.0], [1.0]])
    reach = spread * 2.0 ** np.arange(-2, _DOUBLINGS + 1)
    gone = _gone_from_rest(reading, sizes, centre, np.tile(signs * reach, (len(sizes), 1, 1)))
    found: list[Escape | None] = [None] * len(sizes)
    escaping = np.flatnonzero(gone.any((1, 2)))
    if not len(escaping):
        return found
    gone, sizes = gone[escaping], sizes[escaping]
    first = gone.argmax(2)
    outer = reach[first]
    inner = np.where(first > 0, reach[np.maximum(first - 1, 0)], 0.0)
    sections = inner[..., None] + (outer - inner)[..., None] * np.arange(1, _SECTIONS + 1) / _SECTIONS
    closer = _gone_from_rest(reading, sizes, centre, signs * sections).argmax(2)
    least = np.where(gone.any(2), np.take_along_axis(sections, closer[..., None], 2)[..., 0], np.inf)
    edges = centre + signs[:, 0] * least
    diverging = _diverge(reading, sizes, centre, edges)
    for place in np.flatnonzero(diverging):
        low, high = (float(edge) for edge in edges[place])
        text = (
            f"without noise, a chain at rest beyond theta = {low:.3g} or {high:.3g} is carried off at h={sizes[place]:.4g}: "
            "the drift outruns the step, so the chain is transient, and its law is a quasi-stationary one"
        )
        found[escaping[place]] = Escape((low, high), 0.0, text)
    return found


def leak_of(
    reading: PlaneInterpreter, step: float, escape: Escape, grid: PlaneGrid, masses: np.ndarray
) -> float:
    """The mass of a law at points of the grid from which the step without noise carries chains off.

    It is bounded by the mass at energies U + p.p/2 of at least those of the edges, which is computed first.
    """
    theta, p = grid.points
    finite = np.array([edge for edge in escape.edges if np.isfinite(edge)])
    barrier = float(reading.target.energy_float64(finite[:, None]).min())
    energy = reading.target.energy_float64(grid.theta.nodes[:, None])[:, None] + p**2 / 2
    above = energy >= barrier / 2 + energy.min() / 2
    most = float(np.abs(masses[above]).sum())
    if most <= _NEGLIGIBLE:
        return 0.0
    gone = _gone(reading, step, theta[above], p[above], _GONE * float(np.abs(theta).max()))
    return float(np.abs(masses[above][gone]).sum())


def _diverge(reading: PlaneInterpreter, steps: np.ndarray, centre: float, edges: np.ndarray) -> np.ndarray:
    """Whether a chain from a little beyond one of its edges, shape (steps, 2), diverges, by step size."""
    near = np.where(np.isfinite(edges), edges, centre)
    starts = centre + 1.1 * (near - centre)
    bounds = np.where(np.isfinite(edges), _FAR * (1 + np.abs(near)), np.inf)
    gone = _gone(reading, steps[:, None], starts, np.zeros_like(starts), bounds, _ORBIT, all_of_them=False)
    return np.asarray(gone.any(1))


def _gone_from_rest(
    reading: PlaneInterpreter, steps: np.ndarray, centre: float, offsets: np.ndarray
) -> np.ndarray:
    """Whether chains from rest at these offsets from the centre, shape (steps, 2, starts), escape at each step size."""
    starts = centre + offsets
    bounds = abs(centre) + _GONE * np.abs(offsets)
    return _gone(reading, steps[:, None, None], starts, np.zeros_like(starts), bounds)


def _gone(
    reading: PlaneInterpreter,
    step: float | np.ndarray,
    theta: np.ndarray,
    p: np.ndarray,
    bounds: np.ndarray | float,
    steps: int = _STEPS,
    *,
    all_of_them: bool = True,
) -> np.ndarray:
    """Whether |theta| exceeds its bound within `steps` steps; without `all_of_them` one excess in every row ends the run.

    `step` is one size, or an array of sizes that broadcasts with the points. Orbits without noise that repeat states, as those
    do that came to rest, have nothing new to show (Brent 1980: a state is compared with that after the last power of 2 steps).
    """
    gone = np.zeros(theta.shape, dtype=bool)
    moves = reading.moves(step)
    seen = (theta, p)
    for number in range(1, steps + 1):
        for move in moves:
            images = move(theta, p)
            theta, p = images.theta, images.p
        with np.errstate(invalid="ignore"):
            gone |= ~((np.abs(theta) < bounds) & np.isfinite(p))
        # Escaped points are moved to the origin, where nothing overflows.
        theta, p = np.where(gone, 0.0, theta), np.where(gone, 0.0, p)
        if gone.all() or (not all_of_them and gone.any(-1).all()):
            break
        if np.array_equal(theta, seen[0]) and np.array_equal(p, seen[1]):
            break
        if number & (number - 1) == 0:
            seen = (theta, p)
    return gone
