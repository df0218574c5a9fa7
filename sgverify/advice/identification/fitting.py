"""The numbers (h, D, T, scales of the state) at which a scheme has the observed responses, by Newton's method.

The unknown numbers are few and the responses many. They are solved, not estimated: responses have no noise, and where the scheme
is the observed one the residual falls to rounding; otherwise it stops at the size of the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sgverify.advice.identification.candidates import CandidateScheme
from sgverify.advice.identification.starts import Responses, Stencil
from sgverify.errors import DefinitionError
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.law.observed import ObservedDefinition, Probe
from sgverify.schemes import Scheme

ITERATIONS, HALVINGS = 20, 5
STALLED = 0.4
"""A step of Newton's method that leaves more than this share of the residual has stalled."""

NEAR = 1e-11
"""The residual, relative to the movement of one step, below which the iteration ends."""

FARTHEST = 60.0
"""The largest logarithm of a number that is tried."""

FOUND = 1e-9
"""The residual below which no other start is tried."""

DIFFERENCE = 1e-9
"""The relative difference of numbers in derivatives: about the square root of a long double's rounding."""

POSITIVE = ("h", "D", "T")


@dataclass(frozen=True)
class Solution:
    """A candidate with its numbers; `residual` is the largest difference of the responses, relative to the movement of a step.

    `errors` bound the relative errors that rounding within the observed step leaves in each number.

    `numbers` holds h, the parameters, the scale of each variable beside theta ("p": box p = scale times the scheme's), the offset
    of scalars ("xi offset"), and the numbers of a family.
    """

    candidate: CandidateScheme
    order: tuple[int, ...]
    numbers: dict[str, float]
    residual: float
    errors: Mapping[str, float] = field(default_factory=dict)

    @property
    def scheme(self) -> Scheme:
        """The scheme with the recovered numbers of its family."""
        return self.candidate.scheme_of(tuple(self.numbers[name] for name in self.candidate.numbers))


class RecordedStep(ObservedDefinition):
    """A candidate's step in the observed state: scales, offsets and the place where the state is recorded are applied around it."""

    def __init__(self, candidate: CandidateScheme, dim: int, scheme: Scheme) -> None:
        super().__init__(scheme, dim)
        self.candidate = candidate
        self._bounds = np.cumsum((0, *self.sizes))

    def moved(
        self, states: np.ndarray, draws: np.ndarray, probe: Probe, numbers: Mapping[str, Any]
    ) -> np.ndarray:
        """The observed states after one step; `numbers` are of shape (rows,) or numbers."""
        inner = self._scaled(np.asarray(states, dtype=EXTENDED), numbers, -1)
        moved = super().moved(self._shifted(inner, probe, numbers, -1), draws, probe, numbers)
        return self._scaled(self._shifted(moved, probe, numbers, 1), numbers, 1)

    def _part(self, name: str) -> slice:
        place = self.scheme.state.index(name)
        return slice(self._bounds[place], self._bounds[place + 1])

    def _scaled(self, states: np.ndarray, numbers: Mapping[str, Any], sign: int) -> np.ndarray:
        """The observed state of the scheme's, or with the sign -1 the scheme's of the observed one."""
        found = states.copy()
        for name in self.candidate.roles:
            part, scale = self._part(name), _column(numbers[name])
            offset = _column(numbers[f"{name} offset"]) if name in self.candidate.scalars else EXTENDED(0)
            found[:, part] = (
                found[:, part] * scale + offset if sign > 0 else (found[:, part] - offset) / scale
            )
        return found

    def _shifted(self, states: np.ndarray, probe: Probe, numbers: Mapping[str, Any], sign: int) -> np.ndarray:
        shift = self.candidate.shift
        if shift is None:
            return states
        time = sign * EXTENDED(shift.share.numerator) / shift.share.denominator * _column(numbers["h"])
        theta, p, found = self._part("theta"), self._part("p"), states.copy()
        if shift.letter == "drift":
            found[:, theta] += time * states[:, p]
        else:
            found[:, p] -= time * probe.at(states[:, theta])
        return found


def _column(value: Any) -> np.ndarray:
    return np.asarray(value, dtype=EXTENDED).reshape(-1, 1)


_silently = np.errstate(all="ignore")
"""Numbers far from a solution overflow; what is not finite is left out."""


class ResponseFit:
    """The residual of a candidate's responses as a function of its unknown numbers."""

    def __init__(self, candidate: CandidateScheme, seen: Responses, order: tuple[int, ...], dim: int) -> None:
        self.candidate, self.seen, self.order, self.dim = candidate, seen, order, dim
        scalars = [f"{name} offset" for name in candidate.scalars]
        known = {"T"} if candidate.pinned or seen.noiseless else set()
        self.known = {"T": 0.0 if seen.noiseless else seen.at.T * candidate.heat} if known else {}
        parameters = [name for name in candidate.scheme.parameters if name not in known]
        self.names = ("h", *parameters, *candidate.roles, *scalars, *candidate.numbers)
        scale = np.maximum(seen.movement, 1e-300)
        deviations = np.sqrt(
            np.maximum(np.diagonal(seen.covariance, axis1=1, axis2=2).mean(axis=0), 0)
        ).astype(float)
        noise = np.where(deviations > 0, deviations, max(float(deviations.max(initial=0.0)), 1e-300))
        self._scale, self._noise = scale, np.outer(noise, noise)

    def start(self, numbers: dict[str, float]) -> np.ndarray | None:
        """A vector of unknown numbers; None where one of them is out of range."""
        values = [float(numbers[name]) for name in self.names]
        named = list(zip(self.names, values, strict=True))
        if any(not np.isfinite(v) or (n in POSITIVE and v <= 0) for n, v in named):
            return None
        return np.array([np.log(v) if n in POSITIVE else v for n, v in named])

    def numbers(self, vector: np.ndarray) -> dict[str, Any]:
        """The unknown numbers by name, of a vector or of many, with those that are known."""
        named = zip(self.names, vector.T, strict=True)
        found = {n: np.exp(np.clip(v, -FARTHEST, FARTHEST)) if n in POSITIVE else v for n, v in named}
        return {**self.known, **found}

    def residual(self, vectors: np.ndarray) -> np.ndarray:
        """The differences of the responses, each relative; shape (vectors, unknown numbers) -> (vectors, responses)."""
        own = len(self.candidate.numbers)
        if not own:
            return self._residual(vectors, self.candidate.scheme)
        found = np.full((len(vectors), self._size), np.inf)
        # Vectors with the same numbers of the family are run together.
        kinds, place = np.unique(vectors[:, -own:], axis=0, return_inverse=True)
        for k, numbers in enumerate(kinds):
            try:
                scheme = self.candidate.scheme_of(tuple(map(float, numbers)))
            except (DefinitionError, ValueError, OverflowError):
                continue
            found[place.ravel() == k] = self._residual(vectors[place.ravel() == k], scheme)
        return found

    @property
    def _size(self) -> int:
        seen = self.seen
        return seen.moved.size + (0 if seen.noiseless else seen.covariance.size)

    def _residual(self, vectors: np.ndarray, scheme: Scheme) -> np.ndarray:
        seen, count = self.seen, len(vectors)
        frame = RecordedStep(self.candidate, self.dim, scheme)
        numbers = self.numbers(vectors.astype(EXTENDED))

        def run(rows: np.ndarray, draws: np.ndarray, probe: Probe = seen.quadratics[0]) -> np.ndarray:
            many = {
                name: value if name in self.known else np.repeat(value, len(rows) // count)
                for name, value in numbers.items()
            }
            return frame.moved(rows, draws, probe, many)

        with np.errstate(all="ignore"):
            m, n = frame.draws(), len(seen.states)
            moved = run(np.tile(seen.states, (count, 1)), np.zeros((count * n, m)), seen.bent)
            off = ((moved.reshape(count, n, -1) - seen.moved) / self._scale).reshape(count, -1)
            if seen.noiseless:
                return np.asarray(off, dtype=float)
            columns = Stencil.of(m, seen.affine).columns(run, np.tile(seen.noise_states, (count, 1)))
            columns = columns.reshape(count, len(seen.noise_states), *columns.shape[1:])
            covariance = columns @ columns.transpose(0, 1, 3, 2)
            apart = ((covariance - seen.covariance) / self._noise).reshape(count, -1)
        return np.asarray(np.concatenate([off, apart], axis=1), dtype=float)

    @_silently
    def solve(self, start: np.ndarray, patience: int) -> tuple[np.ndarray, float]:
        """Newton's method with halved steps; the numbers, and the largest difference that is left.

        So many stalled steps in turn as `patience` end the iteration.
        """
        vector, stalled, norm = start, 0, np.inf
        found, width = self._around(vector)
        for _ in range(ITERATIONS):
            if not np.isfinite(found).all():
                return vector, np.inf
            last, norm = norm, float(np.linalg.norm(found[0]))
            stalled = stalled + 1 if norm > STALLED * last else 0
            if norm <= NEAR or stalled == patience:
                break
            step = self._step(found, width)
            step = step / max(1.0, float(np.abs(step / np.maximum(1.0, np.abs(vector))).max()))
            ahead, width_ahead = self._around(vector + step)
            if np.isfinite(ahead).all() and np.linalg.norm(ahead[0]) < norm:
                vector, found, width = vector + step, ahead, width_ahead
                continue
            trials = vector + step * 0.5 ** np.arange(1, HALVINGS + 1)[:, None]
            norms = self.norms(trials)
            if not norms.min() < norm:
                break
            vector = trials[int(np.argmin(norms))]
            found, width = self._around(vector)
        polished = vector + self._step(found, width)
        both = np.abs(self.residual(np.vstack([vector[None], polished[None]]))).max(axis=1)
        both = np.where(np.isfinite(both), both, np.inf)
        best = int(np.argmin(both))
        return (vector, polished)[best], float(both[best])

    @_silently
    def errors(self, vector: np.ndarray) -> dict[str, float]:
        """By name: the bound sum_j |J^+_ij| r_j of the relative error of number i, r_j the rounding of response j.

        J is the derivative of the residual by the unknown numbers: an ill-conditioned number, such as the temperature of a
        thermostat that moves by 1e-5 of itself in a step, is known to fewer digits. The residual that is left counts as rounding.
        Where the responses near the vector are not finite, nothing is known of the numbers.
        """
        seen = self.seen
        moved = np.broadcast_to(seen.rounding / self._scale, seen.moved.shape).ravel()
        each = seen.rounding * Stencil.of(seen.columns.shape[-1], seen.affine).amplification
        share = each / np.sqrt(np.diagonal(self._noise))
        noise = np.broadcast_to(share[:, None] + share, seen.covariance.shape).ravel()
        bounds = moved if seen.noiseless else np.concatenate([moved, seen.columns.shape[-1] ** 0.5 * noise])
        found, width = self._around(vector)
        derivative = ((found[1:] - found[0]) / width[:, None]).T
        if not np.isfinite(derivative).all():
            return dict.fromkeys(self.names, np.inf)
        inverse = np.abs(np.linalg.pinv(derivative, rcond=1e-13))
        absolute = inverse @ (bounds + np.abs(found[0]) / len(bounds))
        return {
            name: float(error if name in POSITIVE else error / max(abs(value), 1e-300))
            for name, error, value in zip(self.names, absolute, vector, strict=True)
        }

    def _around(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The residual at a vector and with each number moved, and by how much."""
        width = DIFFERENCE * np.maximum(1e-2, np.abs(vector))
        return self.residual(np.vstack([vector[None], vector + np.diag(width)])), width

    @_silently
    def norms(self, vectors: np.ndarray) -> np.ndarray:
        """The norm of the residual of each vector; infinite where a number is out of range."""
        found = np.linalg.norm(self.residual(vectors), axis=1)
        return np.where(np.isfinite(found), found, np.inf)

    @staticmethod
    def _step(found: np.ndarray, width: np.ndarray) -> np.ndarray:
        jacobian = ((found[1:] - found[0]) / width[:, None]).T
        return np.asarray(np.linalg.lstsq(jacobian, -found[0], rcond=1e-13)[0])


def solved(
    candidate: CandidateScheme,
    seen: Responses,
    order: tuple[int, ...],
    dim: int,
    starts: Iterable[dict[str, float]],
    most: int,
    patience: int,
) -> Solution | None:
    """The best of the solutions from the `most` starts with the smallest residuals; None where no start is in range."""
    fit, best = ResponseFit(candidate, seen, order, dim), None
    own = dict(zip(candidate.numbers, candidate.start, strict=True))
    vectors = [vector for start in starts if (vector := fit.start({**own, **start})) is not None]
    if not vectors:
        return None
    norms = fit.norms(np.array(vectors))
    for place in np.argsort(norms, kind="stable")[:most]:
        if not np.isfinite(norms[place]):
            break
        found, residual = fit.solve(vectors[place], patience)
        if np.isfinite(residual) and (best is None or residual < best.residual):
            numbers = {name: float(value) for name, value in fit.numbers(found).items()}
            best, vector_of_best = Solution(candidate, order, numbers, residual), found
        if best is not None and best.residual <= FOUND:
            break
    return None if best is None else replace(best, errors=fit.errors(vector_of_best))
