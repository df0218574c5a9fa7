"""Location, spread and curvature of a law exp(-U/T) that is not Gaussian, for starts, bounds and default steps.

No exact answer depends on these numbers: they place a chain and scale a step. On the line, and for independent
coordinates, mean and standard deviation are integrals; elsewhere they are those of the Gaussian at the mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from sgverify.errors import ConfigurationError
from sgverify.targets.line import Energy, average_on_peaks, find_frame

if TYPE_CHECKING:
    from sgverify.targets.target import Target

Gradient = Callable[[np.ndarray], np.ndarray]
"""grad U at many points; shape (n, d) -> (n, d)."""

_TYPICAL = 8.0
"""U/T above its minimum at the edge of the typical set, which holds all but about 1e-3 of the mass in one dimension."""
_DIFFERENCE = 1e-4
"""The step of differences as a share of a spread; their error is about 1e-8 of the next derivative but one."""
_WHOLE = 32
"""Up to so many dimensions Hessians are computed whole, and beyond their largest eigenvalue alone."""
_STEPS = 12
"""The steps of Lanczos' method: the curvature scales a default step, of which a per cent is no matter."""
_REACH = 2.0
"""The largest curvature is sought within so many standard deviations of a mode along every axis."""
_NEWTON, _CLOSE = 40, 0.01
"""The most steps of Newton's method at the end of a search, and the standard deviations from a mode at which it has ended."""
_FIRST = 10_000
"""The number of data among which the cause of an infinite U is sought."""


@dataclass(frozen=True)
class Landscape:
    """Mean and standard deviations of exp(-U/T), and the largest second derivative of U. Shapes (d,), (d,), ()."""

    location: np.ndarray
    spread: np.ndarray
    curvature: float


def landscape_of(target: Target, temperature: float) -> Landscape:
    """The landscape of a target; stated location and spread are taken over and begin the search for the rest."""
    location, spread = target.stated_location, target.stated_spread
    if target.positive:
        return _of_logarithms(target, temperature)
    if location is not None and spread is not None:
        axes = np.diag(spread)
        curvature = _largest(target.gradient_float64, _around(location, axes), spread)
        return Landscape(location, spread, _positive(curvature, temperature, spread))
    if target.dim == 1 or target.independent:
        lines = [
            survey_line(target.energy_of_coordinate(i), temperature, *target.hint(i), target.peaks)
            for i in range(target.dim)
        ]
        found = Landscape(
            np.concatenate([line.location for line in lines]),
            np.concatenate([line.spread for line in lines]),
            max(line.curvature for line in lines),
        )
    else:
        origin = np.zeros(target.dim) if location is None else location
        starts = [part.mean_float64() for _, part in target.components] or [origin]
        found = survey(target, temperature, starts)
        if target.components:
            found = _of_components(found, target, temperature)
    return Landscape(
        found.location if location is None else location,
        found.spread if spread is None else spread,
        found.curvature,
    )


def _of_logarithms(target: Target, temperature: float) -> Landscape:
    """The landscape of a law on theta > 0, from the mode and the spread of x = log theta, which may be anywhere.

    The density of x is exp(-U/T) times the product of all theta_i, so that its potential is U - T sum_i x_i. The location is e^x at
    its mode, which is above 0 even where U has no minimum there, the spread e^x times that of x, and the curvature that of U there.
    """

    @dataclass(frozen=True)
    class Logarithms:
        data, likelihood = target.data, target.likelihood

        def energy_float64(self, x: np.ndarray) -> np.ndarray:
            return np.asarray(target.energy_float64(np.exp(x)) - temperature * x.sum(-1))

        def gradient_float64(self, x: np.ndarray) -> np.ndarray:
            theta = np.exp(x)
            return np.asarray(theta * target.gradient_float64(theta) - temperature)

    found = survey(cast("Target", Logarithms()), temperature, [np.zeros(target.dim)])
    location = np.exp(found.location)
    spread = location * found.spread
    curvature = _largest(target.gradient_float64, [location], spread)
    return Landscape(location, spread, _positive(curvature, temperature, spread))


def survey_line(
    energy: Energy,
    temperature: float,
    centre: float = 0.0,
    scale: float = 1.0,
    peaks: Sequence[float] = (),
) -> Landscape:
    """The landscape of U on the line, by quadrature; the curvature is the largest U'' over the typical set.

    `energy` is U; shape (n,) -> (n,). The search starts at (centre, scale), or at each of the `peaks`.
    """

    def scaled(x: np.ndarray) -> np.ndarray:
        return energy(x) / temperature

    middle = float(np.mean(peaks)) if len(peaks) else find_frame(scaled, centre, scale).centre

    def powers(x: np.ndarray) -> np.ndarray:
        return np.stack([x - middle, (x - middle) ** 2])

    found = average_on_peaks(scaled, powers, centre, scale, peaks)
    mean, square = found.values
    variance = float(square - mean**2)
    if not variance > 0 or math.isinf(variance):
        raise ConfigurationError(
            f"the target lies around {middle + mean:.3g}, where float64 cannot follow its spread; expected constants of like "
            "sizes; take smaller ones"
        )
    spread = math.sqrt(variance)
    heights = scaled(found.nodes)
    nodes = found.nodes[heights <= heights.min() + _TYPICAL]
    step = _DIFFERENCE * spread
    with np.errstate(invalid="ignore"):
        second = (energy(nodes + step) - 2 * energy(nodes) + energy(nodes - step)) / step**2
    return Landscape(
        np.array([middle + mean]),
        np.array([spread]),
        _positive(float(np.max(second[np.isfinite(second)], initial=0.0)), temperature, np.array([spread])),
    )


def survey(target: Target, temperature: float, starts: Sequence[np.ndarray]) -> Landscape:
    """The landscape of U from the modes that are found from `starts`: Laplace's approximation at the lowest.

    The curvature is the largest eigenvalue of the Hessian at every mode and 2 standard deviations from it along each
    axis of its Gaussian.
    """
    energy, gradient = target.energy_float64, target.gradient_float64

    def value(x: np.ndarray) -> float:
        found = float(energy(x[None, :])[0])
        return found if np.isfinite(found) else 1e300

    def slope(x: np.ndarray) -> np.ndarray:
        return np.nan_to_num(gradient(x[None, :])[0])

    # Steps beyond the support overflow in the optimiser's differences, and are taken back.
    with np.errstate(all="ignore"):
        from scipy import optimize

        modes = [
            optimize.minimize(value, start, jac=slope, method="BFGS", options={"gtol": 1e-4}).x
            for start in starts
        ]
        modes = [_descended(value, slope, target, mode, temperature) for mode in modes]
    lowest = min(modes, key=value)
    if value(lowest) >= 1e300:
        raise ConfigurationError(
            f"the log density is NaN or minus infinity at theta={lowest.tolist()}{_to_blame(target, lowest)}, from where its mode "
            "was looked for; expected a finite one there; state its location and spread"
        )
    modes = [mode for mode in modes if value(mode) < 1e300]
    curvature, spread = 0.0, np.ones_like(lowest)
    for mode in modes:
        roots = np.sqrt(temperature) * _axes(hessian(gradient, mode, _widths(energy, mode, temperature)))
        widths = np.sqrt((roots**2).sum(1))
        if mode is lowest:
            spread = widths
        curvature = max(curvature, _largest(gradient, _around(mode, roots), widths))
    return Landscape(lowest, spread, _positive(curvature, temperature, spread))


def laplace(target: Target) -> tuple[np.ndarray, np.ndarray]:
    """The mode of U and the inverse of its Hessian there. Shapes (d,), (d, d). `ConfigurationError` where there is none."""
    mode = survey(
        target, 1.0, [np.zeros(target.dim) if target.stated_location is None else target.stated_location]
    ).location
    matrix = hessian(target.gradient_float64, mode, _widths(target.energy_float64, mode, 1.0))
    sd = 1 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    values, vectors = np.linalg.eigh(matrix * np.outer(sd, sd))
    if not values[0] > _DIFFERENCE**2:
        raise ConfigurationError(
            f"target.whiten: the Hessian of U at its mode, theta={mode.tolist()}, is not positive definite; expected one that is; "
            "leave target.whiten out"
        )
    root = sd[:, None] * vectors / np.sqrt(values)
    return mode, root @ root.T


def _descended(
    value: Callable[[np.ndarray], float],
    slope: Gradient,
    target: Target,
    mode: np.ndarray,
    temperature: float,
) -> np.ndarray:
    """The mode where a search along unscaled axes has ended before it: Newton's steps, each no longer than U falls."""
    for _ in range(_NEWTON):
        if value(mode) >= 1e300:
            break
        widths = _widths(target.energy_float64, mode, temperature)
        matrix = hessian(target.gradient_float64, mode, widths)
        if not np.isfinite(matrix).all() or np.linalg.eigvalsh(matrix)[-1] <= 0:
            break
        roots = _axes(matrix)
        along = roots.T @ slope(mode)
        if np.abs(along).max() <= _CLOSE * np.sqrt(temperature):
            break
        length, here = 1.0, value(mode)
        while length > 1e-6 and not value(mode - length * (roots @ along)) < here:
            length /= 2
        if length <= 1e-6:
            break
        mode = mode - length * (roots @ along)
    return mode


def descended(energy: Callable[[np.ndarray], np.ndarray], location: np.ndarray, spread: np.ndarray) -> float:
    """The least U that a descent from the lowest of the points along the axes finds, 3 standard deviations far.

    `energy` is U; shape (n, d) -> (n,).
    """
    axes = np.diag(spread)
    points = np.array([location, *(location + s * axis for axis in axes for s in np.linspace(-3, 3, 25))])
    values = np.where(np.isnan(found := energy(points)), np.inf, found)
    best = points[int(np.argmin(values))]

    def value(x: np.ndarray) -> float:
        at = float(energy(x[None, :])[0])
        return at if np.isfinite(at) else 1e300

    with np.errstate(all="ignore"):
        from scipy import optimize

        descent = optimize.minimize(value, best, method="L-BFGS-B")
    return min(float(values.min()), float(descent.fun))


def _to_blame(target: Target, theta: np.ndarray) -> str:
    """A sentence that names the datum at which U is infinite or NaN at a point, shape (d,); empty where none is found."""
    if target.data is None or target.likelihood is None:
        return ""
    with np.errstate(all="ignore"):
        bad = ~np.isfinite(target.likelihood(theta, target.data[:_FIRST]))
    return f" (datum {int(np.argmax(bad))}, from 0)" if np.any(bad) else ""


def _around(mode: np.ndarray, axes: np.ndarray) -> list[np.ndarray]:
    """The mode, and the points 2 standard deviations from it along each axis, a column of `axes`."""
    return [mode, *(mode + sign * _REACH * axis for axis in axes.T for sign in (-1.0, 1.0))]


def _largest(gradient: Gradient, points: list[np.ndarray], widths: np.ndarray) -> float:
    """The largest eigenvalue of the Hessian at the points, but for those beyond the support."""
    if len(widths) > _WHOLE:
        found = _largest_by_lanczos(gradient, np.array(points), widths)
        return max((float(value) for value in found if np.isfinite(value)), default=0.0)
    matrices = (hessian(gradient, point, widths) for point in points)
    return max(
        (float(np.linalg.eigvalsh(matrix)[-1]) for matrix in matrices if np.isfinite(matrix).all()),
        default=0.0,
    )


def hessian(gradient: Gradient, point: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """The Hessian by central differences of grad U over 1e-4 of the `widths`. Shapes (d,), (d,) -> (d, d)."""
    shifts = np.diag(_DIFFERENCE * widths)
    upper, lower = np.split(gradient(np.concatenate([point + shifts, point - shifts])), 2)
    with np.errstate(invalid="ignore"):
        found = (upper - lower) / (2 * _DIFFERENCE * widths[:, None])
        return np.asarray((found + found.T) / 2)


def _largest_by_lanczos(gradient: Gradient, points: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """The largest eigenvalue of the Hessian at each point, from below, by Lanczos' method. Shape (n, d) -> (n,).

    The Hessian times a vector is a central difference of grad U along it, at all points at once: 2 `_STEPS` gradients a point
    in the place of 2 d. The vectors start as one that is orthogonal to no axis, and are made orthogonal to all before.
    """
    count, dim = points.shape
    # Not parallel to any axis, nor to a sum of some: an eigenvector may well be.
    first = np.cos(np.arange(1, dim + 1) * np.sqrt(2.0)) + 1.5
    vector = np.tile(first / np.linalg.norm(first), (count, 1))
    basis: list[np.ndarray] = []
    images: list[np.ndarray] = []
    for _ in range(_STEPS):
        basis.append(vector)
        reach = np.sqrt(((vector / widths) ** 2).sum(1, keepdims=True))
        lengths = _DIFFERENCE / np.where(reach > 0, reach, 1.0)
        upper, lower = np.split(
            gradient(np.concatenate([points + lengths * vector, points - lengths * vector])), 2
        )
        with np.errstate(invalid="ignore"):
            image = (upper - lower) / (2 * lengths)
            images.append(image)
            vector = image
            for _ in range(2):
                for known in basis:
                    vector = vector - (vector * known).sum(1, keepdims=True) * known
            norm = np.linalg.norm(vector, axis=1, keepdims=True)
            # What is left of an exhausted space is the error of the differences: 0 is put in its place.
            new = norm > 1e-6 * np.linalg.norm(image, axis=1, keepdims=True)
            vector = np.divide(vector, norm, out=np.zeros_like(vector), where=new)
    projected = np.einsum("knd,lnd->nkl", np.array(basis), np.array(images))
    projected = (projected + projected.transpose(0, 2, 1)) / 2
    return np.array([np.linalg.eigvalsh(one)[-1] if np.isfinite(one).all() else np.nan for one in projected])


def _of_components(found: Landscape, target: Target, temperature: float) -> Landscape:
    """The landscape `found` with the exact mean and spread of a mixture, which are those of exp(-U/T) at T = 1."""
    shares = np.array([float(share) for share, _ in target.components])
    means = np.array([part.mean_float64() for _, part in target.components])
    squares = np.array([part.spread_float64(temperature) ** 2 for _, part in target.components])
    mean = shares @ means
    return replace(found, location=mean, spread=np.sqrt(shares @ (squares + (means - mean) ** 2)))


def _widths(energy: Callable[[np.ndarray], np.ndarray], mode: np.ndarray, temperature: float) -> np.ndarray:
    """The distance along each coordinate at which U has risen by about T/2, within a factor of 2. Shape (d,)."""
    lowest = float(energy(mode[None, :])[0])
    found = np.ones_like(mode)
    for i in range(len(mode)):
        for _ in range(200):
            shift = np.zeros_like(mode)
            shift[i] = found[i]
            rise = max(energy(np.array([mode + shift, mode - shift])) - lowest) / temperature
            if 0.125 <= rise <= 2:
                break
            found[i] *= 2.0 if rise < 0.125 else 0.5
    return found


def _axes(matrix: np.ndarray) -> np.ndarray:
    """R with R R^T the inverse of the Hessian; its columns lie along the axes. Shape (d, d)."""
    finite = bool(np.isfinite(matrix).all())
    values, vectors = np.linalg.eigh(matrix if finite else np.zeros_like(matrix))
    if values[-1] <= 0:
        raise ConfigurationError(
            "the target's potential has no minimum that was found; expected a density with a mode; state its location and "
            "spread"
        )
    floor = 1e-6 * values[-1]
    if values[0] < floor and (np.diag(matrix) > 0).all():
        # Of coordinates in different units: each by its own curvature.
        scales = 1 / np.sqrt(np.diag(matrix))
        values, vectors = np.linalg.eigh(matrix * np.outer(scales, scales))
        return np.asarray(scales[:, None] * vectors / np.sqrt(np.maximum(values, 1e-6 * values[-1])))
    return np.asarray(vectors / np.sqrt(np.maximum(values, floor)))


def _positive(curvature: float, temperature: float, spread: np.ndarray) -> float:
    return curvature if curvature > 0 else temperature / float(spread.min()) ** 2
