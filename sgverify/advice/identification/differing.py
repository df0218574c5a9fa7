"""By what does one step differ from a scheme's? The terms of its affine map on quadratic potentials, each beside the due one.

On U = (theta - c).A (theta - c)/2 a step's matrices are polynomials in A: the term of degree 1 in theta is a multiple of grad U,
that of degree 2 a multiple of Hess U grad U, and so on; those of p are multiples of p, Hess U p, .... They are read off potentials
in all eigenvalues of which the polynomials are determined, for both steps alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sgverify.advice.identification.fitting import RecordedStep, Solution
from sgverify.advice.identification.observed import Observed
from sgverify.advice.identification.responses import Responses, Stencil

DEGREE = 3
"""The highest degree in A that is read."""

SEEN = 1e-7
"""The smallest difference of a term that is shown, relative to the movement of one step."""

MOST = 4

ROUNDING = 1e-10
"""A factor below this share of the other one is shown as 0."""

TERMS = {
    "theta": ("theta - c", "grad U", "Hess U grad U", "Hess U^2 grad U"),
    "other": ("{v}", "Hess U {v}", "Hess U^2 {v}", "Hess U^3 {v}"),
}


@dataclass(frozen=True)
class TermDifference:
    """A term of one variable's update: the factor that was found, and the scheme's; `size` relative to the movement of a step."""

    variable: str
    term: str
    found: float
    due: float
    size: float

    @property
    def text(self) -> str:
        """The difference as a sentence's part."""
        size = max(abs(self.found), abs(self.due))
        found, due = (
            f"{value:.9g}" if abs(value) > ROUNDING * size else "0" for value in (self.found, self.due)
        )
        if "noise" in self.term:
            return f"in {self.variable}, where {self.term} is {found} and {due} is due"
        return f"in {self.variable}, where {self.term} has the factor {found} and {due} is due"


def differences(
    solution: Solution, step: Observed, seen: Responses, chosen: np.ndarray
) -> tuple[TermDifference, ...]:
    """The terms in which a step differs from a solution, the largest first."""
    found: list[TermDifference] = []
    frame = RecordedStep(solution.candidate, step.dim, solution.scheme)
    numbers = {name: np.array([value]) for name, value in solution.numbers.items()}
    names = list(solution.scheme.state)
    vectors = [i for i, name in enumerate(names) if name not in solution.candidate.scalars]
    d, base = step.dim, step.places(1)
    mine: dict[tuple[int, int], list[float]] = {}
    theirs: dict[tuple[int, int], list[float]] = {}
    eigenvalues: list[float] = []
    for probe in seen.quadratics:
        values, basis = np.linalg.eigh(probe.precision)
        eigenvalues.extend(float(x) for x in values)
        rows, width = _differences(base[0, chosen])
        whole = np.repeat(base, len(rows), axis=0)
        whole[:, chosen] = rows
        ours = _jacobian(
            step.after(whole, _none(whole, step.draws(seen.at)), probe, seen.at)[:, chosen], width
        )
        due = _jacobian(frame.after(rows, _none(rows, frame.draws), probe, numbers), width)
        for i in vectors:
            for j in vectors:
                block = (slice(i * d, i * d + d), slice(j * d, j * d + d))
                mine.setdefault((i, j), []).extend(np.diag(basis.T @ ours[block] @ basis).tolist())
                theirs.setdefault((i, j), []).extend(np.diag(basis.T @ due[block] @ basis).tolist())
    powers = np.vander(np.array(eigenvalues), min(DEGREE, len(eigenvalues) - 1) + 1, increasing=True)
    movement = [float(seen.movement[i * d : i * d + d].max()) for i in range(len(vectors))]
    for (i, j), block_values in mine.items():
        one, other = (
            np.linalg.lstsq(powers, np.array(v), rcond=None)[0] for v in (block_values, theirs[i, j])
        )
        size_of_state = float(np.abs(base[0, chosen][j * d : j * d + d]).max())
        for power, (a, b) in enumerate(zip(one, other, strict=True)):
            size = (
                abs(a - b) * size_of_state * float(np.abs(powers[:, power]).mean()) / max(movement[i], 1e-300)
            )
            if size > SEEN:
                terms = TERMS["theta" if j == 0 else "other"]
                found.append(
                    TermDifference(names[i], terms[power].format(v=names[j]), float(a), float(b), size)
                )
    found += _noise(frame, numbers, seen, names, vectors, d)
    return tuple(sorted(found, key=lambda item: -item.size)[:MOST])


def _noise(
    frame: RecordedStep,
    numbers: dict[str, np.ndarray],
    seen: Responses,
    names: list[str],
    vectors: list[int],
    d: int,
) -> list[TermDifference]:
    """The entries of the noise's covariance on the first quadratic potential, averaged over coordinates."""
    stencil = Stencil.of(frame.draws, seen.affine)
    rows = np.repeat(seen.noise_states[:1], len(stencil.draws), axis=0)
    columns = stencil.columns(frame.after(rows, stencil.draws, seen.quadratics[0], numbers)).astype(float)
    due, ours = columns @ columns.T, seen.covariance[0].astype(float)
    scale = np.sqrt(np.maximum(np.maximum(np.diag(due), np.diag(ours)), 1e-300))
    found = []
    for i in vectors:
        for j in vectors[: vectors.index(i) + 1]:
            block = (slice(i * d, i * d + d), slice(j * d, j * d + d))
            a, b = (float(np.trace(matrix[block])) / d for matrix in (ours, due))
            size = abs(a - b) / float(scale[i * d] * scale[j * d])
            if size > SEEN:
                term = (
                    "the variance of the noise"
                    if i == j
                    else f"the covariance of its noise with that of {names[j]}"
                )
                found.append(TermDifference(names[i], term, a, b, size))
    return found


def _differences(base: np.ndarray) -> tuple[np.ndarray, float]:
    """The states of central differences about one state, and their width; affine steps have no error but rounding."""
    n, width = len(base), 2.0**-6
    return np.vstack([base + width * np.eye(n), base - width * np.eye(n)]), width


def _jacobian(moved: np.ndarray, width: float) -> np.ndarray:
    """The derivative from the images of the states of `_differences`."""
    n = len(moved) // 2
    return np.asarray(((moved[:n] - moved[n:]) / (2 * width)).T, dtype=float)


def _none(rows: np.ndarray, draws: int) -> np.ndarray:
    return np.zeros((len(rows), draws))


__all__ = ["TermDifference", "differences"]
