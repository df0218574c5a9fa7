"""The comparison of a step's law with that of a scheme with given numbers: at the same states, and at draws that correspond.

Two laws are equal where a partial isometry Q gives X_1(x, z) = Y_1(x, Q z) at every x and z, since Q z is standard normal. Q is
read off quadratic potentials, on which the effect of draws is a matrix: L = K Q for the matrices of both steps, stacked over
potentials and states. The identity is then tried on quartic potentials, where draws enter gradients, at generic states and draws.

Where they differ, the terms of the step's affine map on quadratic potentials are told, each beside the due one.

On U = (theta - c).A (theta - c)/2 a step's matrices are polynomials in A: the term of degree 1 in theta is a multiple of grad U,
that of degree 2 a multiple of Hess U grad U, and so on; those of p are multiples of p, Hess U p, .... They are read off potentials
in all eigenvalues of which the polynomials are determined, for both steps alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sgverify.advice.identification.fitting import RecordedStep, Solution
from sgverify.advice.identification.model import DifferingTerm
from sgverify.advice.identification.starts import WIDTH, Responses, Run, Stencil, derivative
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.law.observed import HandedNumbers, Observed, Probe, bent_probes, quadratic_probes
from sgverify.schemes.memory import coordinate_names

AGREES = 1e-9
"""The largest difference of two equal laws, relative to the movement of one step: float64 rounds near 1e-16, and differences such
as 1 - exp(-2 D h) lose up to six digits of it; an error of one coefficient by 1e-8 is far above."""

ALIGNED = 1e-6
"""The bound for effects of draws that are central differences; the comparison at other draws decides."""

RANK = 1e-8
"""Singular values of the stacked effects of draws below this share of the largest count as 0: such draws have no effect."""

REACHES = (1.0, 3.0)
POINTS = 6
"""The states of each reach, each with draws of its own."""

FAR, FAR_DRAWS = 100.0, 4.0
"""The reach of further states on a quadratic potential and the size of draws there, where a clipped gradient or draw is seen.
Quartic potentials are left out: at such states the gradient of a second stage would be 1e20 and more."""


@dataclass(frozen=True)
class Comparison:
    """`apart` is the largest difference seen, relative to the movement of one step; `variable` where it is; `why` in words.

    `extent` are the largest |theta|, |grad U| and |draw| at which steps were compared.
    """

    apart: float
    points: int
    potentials: int
    variable: str = ""
    why: str = ""
    extent: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def agrees(self) -> bool:
        """Are the two laws equal, up to the difference that rounding may make?"""
        return self.apart <= AGREES


@dataclass(frozen=True)
class StepImages:
    """States and draws on one potential, draws of this size, with the states after an observed step."""

    places: np.ndarray
    draws: np.ndarray
    size: float
    probe: Probe
    after: np.ndarray


def images_of(step: Observed, at: HandedNumbers) -> list[StepImages]:
    """A step at one setting, from generic states by generic draws: near ones on bent potentials, far ones on a quadratic one."""
    random, m = np.random.default_rng(11), step.draws(at)
    near = np.vstack([step.places(2 * POINTS, reach)[POINTS:] for reach in REACHES])
    far = step.places(2 * POINTS, FAR)[POINTS:]
    bent, quadratic = bent_probes(step.dim), quadratic_probes(step.dim)
    found = []
    for places, size, probes in ((near, 1.0, (*bent, quadratic[1])), (far, FAR_DRAWS, quadratic[:1])):
        for probe in probes:
            draws = size * random.standard_normal((len(places), m))
            found.append(StepImages(places, draws, size, probe, step.after(places, draws, probe, at)))
    return found


def compare(
    solution: Solution, step: Observed, seen: Responses, chosen: np.ndarray, images: Sequence[StepImages]
) -> Comparison:
    """Compare a step with a solution at one setting; `chosen` are the step's coordinates in the order of the scheme's state."""
    frame = RecordedStep(solution.candidate, step.dim, solution.scheme)
    numbers = {name: np.array([value]) for name, value in solution.numbers.items()}
    names = _names(solution, step.dim)
    k = frame.draws()
    rotation, free, off = _rotation(frame, numbers, seen)
    if off > (AGREES if seen.affine else ALIGNED):
        return Comparison(
            off,
            len(seen.noise_states),
            len(seen.quadratics),
            why="the draws of potentials and states of different curvature do not correspond by one rotation",
        )
    random = np.random.default_rng(12)
    worst, where = 0.0, ""
    for image in images:
        places, mine = image.places[:, chosen], image.after[:, chosen]
        others = np.zeros((len(places), k)) if rotation is None else image.draws @ rotation.T
        others = others + image.size * random.standard_normal((len(places), free.shape[1])) @ free.T
        theirs = frame.moved(places, others, image.probe, numbers)
        moved = np.maximum(np.abs(mine - places).max(axis=0), 1e-300)
        apart = (np.abs(mine - theirs) / moved).max(axis=0).astype(float)
        apart = np.where(np.isfinite(apart), apart, np.inf)
        if apart.max() > worst:
            worst, where = float(apart.max()), names[int(np.argmax(apart))]
    extent = np.zeros(3)
    for image in images:
        theta = image.places[:, : step.dim]
        sizes = (np.abs(part).max(initial=0.0) for part in (theta, image.probe.at(theta), image.draws))
        extent = np.maximum(extent, [float(size) for size in sizes])
    return Comparison(
        max(worst, off) if seen.affine else worst,
        len(images[0].places) + len(images[-1].places),
        len(images),
        where,
        extent=(float(extent[0]), float(extent[1]), float(extent[2])),
    )


def _rotation(
    frame: RecordedStep, numbers: dict[str, np.ndarray], seen: Responses
) -> tuple[np.ndarray | None, np.ndarray, float]:
    """Q, an orthonormal basis of the scheme's draws without effect on quadratic potentials, and by what L = K Q fails."""
    k = frame.draws()
    stencil = Stencil.of(k, seen.affine)
    theirs = [stencil.columns(_on(frame, probe, numbers), seen.noise_states) for probe in seen.quadratics]
    mine = _stacked(seen.columns)
    other = _stacked(np.array(theirs, dtype=EXTENDED))
    if not np.isfinite(other).all():
        return None, np.eye(k), np.inf
    scale = _row_scales(mine, seen)
    mine, other = (mine / scale[:, None]).astype(float), (other / scale[:, None]).astype(float)
    if seen.noiseless:
        return None, np.eye(k), float(np.abs(other).max(initial=0.0))
    left, values, right = np.linalg.svd(other, full_matrices=True)
    rank = int((values > RANK * values[0]).sum()) if values.size and values[0] > 0 else 0
    if rank == 0:
        return None, np.eye(k), float(np.abs(mine).max(initial=0.0))
    rotation = right[:rank].T @ ((left[:, :rank].T @ mine) / values[:rank, None])
    off = float(np.abs(mine @ mine.T - other @ other.T).max())
    return rotation, right[rank:].T, max(off, float(np.abs(other @ rotation - mine).max()))


def _on(frame: RecordedStep, probe: Probe, numbers: dict[str, np.ndarray]) -> Run:
    return lambda states, draws: frame.moved(states, draws, probe, numbers)


def _stacked(columns: np.ndarray) -> np.ndarray:
    return columns.reshape(int(np.prod(columns.shape[:-1])), columns.shape[-1])


def _row_scales(mine: np.ndarray, seen: Responses) -> np.ndarray:
    """The size of the effect of draws on each variable, over all potentials and states; of a variable without draws, of all."""
    sizes = np.sqrt((seen.columns**2).sum(axis=-1).max(axis=(0, 1))).astype(float)
    largest = float(sizes.max(initial=0.0)) or 1.0
    sizes = np.where(sizes > 0, sizes, largest)
    return np.tile(sizes, len(mine) // len(sizes))


def _names(solution: Solution, dim: int) -> Sequence[str]:
    shapes = solution.candidate.scheme.shapes.items()
    return [named for name, shape in shapes for named in coordinate_names(name, shape, dim)]


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


def _differing(variable: str, term: str, found: float, due: float, size: float) -> DifferingTerm:
    """A term of one variable's update: the factor that was found, and the scheme's; `size` relative to the movement of a step."""
    largest = max(abs(found), abs(due))
    own, wanted = (f"{value:.9g}" if abs(value) > ROUNDING * largest else "0" for value in (found, due))
    told = f"{term} is {own}" if "noise" in term else f"{term} has the factor {own}"
    return DifferingTerm(variable, term, found, due, size, f"in {variable}, where {told} and {wanted} is due")


def differences(
    solution: Solution, step: Observed, seen: Responses, chosen: np.ndarray
) -> tuple[DifferingTerm, ...]:
    """The terms in which a step differs from a solution, the largest first."""
    frame = RecordedStep(solution.candidate, step.dim, solution.scheme)
    numbers = {name: np.array([value]) for name, value in solution.numbers.items()}
    names = list(solution.scheme.state)
    d, k, base = step.dim, len(names) - len(solution.candidate.scalars), step.places(1)
    here = base[0, chosen]

    def own(rows: np.ndarray, draws: np.ndarray, probe: Probe) -> np.ndarray:
        whole = np.repeat(base, len(rows), axis=0)
        whole[:, chosen] = rows
        return step.after(whole, draws, probe, seen.at)[:, chosen]

    def due(rows: np.ndarray, draws: np.ndarray, probe: Probe) -> np.ndarray:
        return frame.moved(rows, draws, probe, numbers)

    ours, powers = _factors(own, step.draws(seen.at), here, seen, (k, d))
    theirs, _ = _factors(due, frame.draws(), here, seen, (k, d))
    moved, states = (np.abs(part[: k * d]).reshape(k, d).max(axis=1) for part in (seen.movement, here))
    sizes = np.abs(ours - theirs) * powers[:, None, None] * states / np.maximum(moved, 1e-300)[:, None]
    found = [
        _differing(
            names[i],
            TERMS["theta" if j == 0 else "other"][power].format(v=names[j]),
            *(float(part[power, i, j]) for part in (ours, theirs, sizes)),
        )
        for power, i, j in np.argwhere(sizes > SEEN)
    ]
    # The entries of the noise's covariance on the first quadratic potential, averaged over coordinates.
    run = _on(frame, seen.quadratics[0], numbers)
    (columns,) = Stencil.of(frame.draws(), seen.affine).columns(run, seen.noise_states[:1])
    both = np.array(
        [part[: k * d, : k * d] for part in (seen.covariance[0], columns @ columns.T)], dtype=float
    )
    scale = np.sqrt(np.maximum(np.einsum("nii->ni", both).max(axis=0), 1e-300))[::d]
    ours, theirs = np.einsum("niaja->nij", both.reshape(2, k, d, k, d)) / d
    sizes = np.tril(np.abs(ours - theirs) / np.outer(scale, scale))
    for i, j in np.argwhere(sizes > SEEN):
        own_noise = "the variance of the noise"
        term = own_noise if i == j else f"the covariance of its noise with that of {names[j]}"
        found.append(_differing(names[i], term, *(float(part[i, j]) for part in (ours, theirs, sizes))))
    return tuple(sorted(found, key=lambda item: -item.size)[:MOST])


def _factors(
    run: Callable[[np.ndarray, np.ndarray, Probe], np.ndarray],
    draws: int,
    here: np.ndarray,
    seen: Responses,
    sizes: tuple[int, int],
) -> tuple[np.ndarray, np.ndarray]:
    """The factors of the powers of A between the vectors of a state, shape (powers, k, k), and the mean size of each power."""
    (k, d), blocks = sizes, []
    eigenvalues: list[float] = []
    for probe in seen.quadratics:
        values, basis = np.linalg.eigh(probe.precision)
        matrix, _ = derivative(
            lambda rows, z, probe=probe: run(rows, z, probe),  # type: ignore[misc]
            here,
            np.full(len(here), WIDTH),
            draws,
        )
        blocks.append(
            np.einsum("ae,iajb,be->eij", basis, matrix[: k * d, : k * d].reshape(k, d, k, d), basis)
        )
        eigenvalues.extend(values)
    powers = np.vander(np.array(eigenvalues), min(DEGREE, len(eigenvalues) - 1) + 1, increasing=True)
    factors = np.linalg.lstsq(powers, np.concatenate(blocks).reshape(len(powers), -1), rcond=None)[0]
    return factors.reshape(-1, k, k), np.abs(powers).mean(axis=0)
