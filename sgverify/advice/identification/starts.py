"""Where Newton's method starts: numbers read off the linear part of a step as if it were the simplest scheme of its kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from sgverify.advice.identification.candidates import CandidateScheme
from sgverify.advice.identification.observed import HandedNumbers, Observed
from sgverify.advice.identification.probes import Probe, soft_probe
from sgverify.advice.identification.responses import Responses
from sgverify.schemes.definition.abstract_value import SCALAR, VECTOR


def starts_of(
    candidate: CandidateScheme,
    step: Observed,
    seen: Responses,
    chosen: np.ndarray,
    factors: Iterable[float] = (),
) -> list[dict[str, float]]:
    """Numbers to start from, the likeliest first; the last are those that were handed, with the gradient times each factor."""
    shapes = tuple(candidate.scheme.shapes.values())
    found: list[dict[str, float]] = []
    with np.errstate(all="ignore"):
        if "V" in candidate.roles:
            found += _preconditioned(step, seen, chosen)
        elif shapes == (VECTOR,):
            found += _overdamped(step, seen, chosen)
        else:
            found += _kinetic("xi" in candidate.roles, step, seen, chosen)
    h, D, T = (seen.at.numbers[name] for name in ("h", "D", "T"))
    for g in (1.0, *factors):
        power = 1.0 if shapes == (VECTOR,) else 0.0 if "V" in candidate.roles else 0.5
        unit = {name: g * g if name == "V" else g**0.5 for name in candidate.roles if name != "xi"}
        scalars = dict.fromkeys(candidate.scalars, 1.0) | {
            f"{name} offset": 0.0 for name in candidate.scalars
        }
        found.append({"h": h * g**power, "D": D / g**power, "T": T / g, **unit, **scalars})
    return found


def set_units(step: Observed, at: HandedNumbers, variables: tuple[int, ...]) -> None:
    """Measure states in the units of a step: p in such that drift and kick are as large, a thermostat's xi in that of its friction.

    Units are powers of 2, and states in other units are generic too; but numbers are lost where v = h p is compared with 1.
    """
    d, place = step.dim, np.cumsum((0, *step.sizes))
    shapes = list(step.shapes.values())
    everything = np.arange(place[-1])
    jacobian, base, _ = _jacobian(step, at, everything, soft_probe(d))
    A = soft_probe(d).precision
    h = 1.0
    for i in variables[1:]:
        part = slice(place[i], place[i + 1])
        if shapes[i] == VECTOR and step.state[i] in step.step.dynamics.state:
            drift = float(np.trace(jacobian[:d, part]))
            kick = -float(np.trace(jacobian[part, :d] @ A) / np.trace(A @ A)) * d
            if drift * kick > 0:
                step.units[i] = _power_of_two((kick / drift) ** 0.5)
                h = (drift * kick) ** 0.5 / d
    for i in variables[1:]:
        if shapes[i] == SCALAR and step.units[1] and shapes[1] == VECTOR:
            p = slice(place[1], place[2])
            slope = float(base[p] @ jacobian[p, place[i]] / (base[p] @ base[p]))
            if slope:
                step.units[i] = _power_of_two(h / abs(slope))


def _power_of_two(value: float) -> float:
    return float(2.0 ** round(float(np.log2(value)))) if np.isfinite(value) and value > 0 else 1.0


def _jacobian(
    step: Observed, at: HandedNumbers, chosen: np.ndarray, probe: Probe
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The derivative of a step at z = 0 by central differences, the state and its image."""
    base = step.places(1)[0]
    n = len(base)
    width = 2.0**-12 * np.repeat(step.units, step.sizes)
    rows = np.vstack([base[None], base + np.diag(width), base - np.diag(width)])
    after = step.after(rows, np.zeros((len(rows), step.draws(at))), probe, at).astype(float)
    jacobian = ((after[1 : n + 1] - after[n + 1 :]) / (2 * width[:, None])).T
    return jacobian[np.ix_(chosen, chosen)], base[chosen], after[0, chosen]


def _overdamped(step: Observed, seen: Responses, chosen: np.ndarray) -> Iterator[dict[str, float]]:
    probe = soft_probe(step.dim)
    jacobian, _, _ = _jacobian(step, seen.at, chosen, probe)
    A, d = probe.precision, step.dim
    h = float(np.trace((np.eye(d) - jacobian) @ A) / np.trace(A @ A))
    yield {"h": h, "T": float(np.trace(seen.covariance[0])) / (2 * h * d)}


def _kinetic(
    thermostatted: bool, step: Observed, seen: Responses, chosen: np.ndarray
) -> Iterator[dict[str, float]]:
    """A drift of h/s p, a kick of -h s grad U and a damping exp(-hD) of p = s times the scheme's momentum.

    The damping acts between the two halves of a drift, of a kick, or of neither: each is a start.
    """
    probe = soft_probe(step.dim)
    jacobian, base, image = _jacobian(step, seen.at, chosen, probe)
    A, d = probe.precision, step.dim
    drift = float(np.trace(jacobian[:d, d : 2 * d])) / d
    kick = -float(np.trace(jacobian[d : 2 * d, :d] @ A) / np.trace(A @ A))
    kept = float(np.trace(jacobian[d : 2 * d, d : 2 * d])) / d
    if not drift * kick > 0:
        return
    middle = (1 + kept) / 2
    for first, second in ((middle, 1.0), (1.0, middle), (middle, middle), (1.0, 1.0)):
        a, k = drift / first, kick / second
        if not a * k > 0:
            continue
        h, s = float(np.sqrt(a * k)), float(np.sign(a) * np.sqrt(k / a))
        noise = float(np.trace(seen.covariance[0][d : 2 * d, d : 2 * d])) / (d * s * s)
        dampings = {(1 - kept) / h, -float(np.log(abs(kept))) / h}
        for damping in sorted(dampings):
            if thermostatted:
                yield from _thermostatted(jacobian, base, image, seen, d, (h, s, noise, damping))
            else:
                D = abs(damping) + 1e-9
                T = {noise / (2 * D * h), noise / -float(np.expm1(-2 * D * h))}
                yield from ({"h": h, "D": D, "p": s, "T": heat} for heat in sorted(T))


def _thermostatted(
    jacobian: np.ndarray,
    base: np.ndarray,
    image: np.ndarray,
    seen: Responses,
    d: int,
    linear: tuple[float, float, float, float],
) -> Iterator[dict[str, float]]:
    """A friction xi = r (xi of the scheme) + offset, moved by r h (p.p/d - T)."""
    h, s, noise, damping = linear
    p, after = base[d : 2 * d], image[d : 2 * d]
    slope = float(p @ jacobian[d : 2 * d, 2 * d] / (p @ p))
    kept = max(float(np.trace(jacobian[d : 2 * d, d : 2 * d])) / d, 1e-3)
    for r in (-h / slope, -h * kept / slope):
        for q in (p, after):
            T = float(q @ q / (s * s * d) - (image[2 * d] - base[2 * d]) / (r * h))
            for heat in (abs(T) + 1e-3, seen.at.T):
                yield {
                    "h": h,
                    "p": s,
                    "D": noise / (2 * heat * h),
                    "T": heat,
                    "xi": r,
                    "xi offset": float(base[2 * d] - r * damping),
                }


def _preconditioned(step: Observed, seen: Responses, chosen: np.ndarray) -> Iterator[dict[str, float]]:
    """V <- beta V + (1 - beta) r g^2, theta <- theta - h g/(floor + sqrt(V/r)): 1/motion is linear in sqrt(V)."""
    d, probe = seen.bent.dim, seen.quadratics[0]
    base = step.places(2)
    base[:, chosen[:d]] = base[:1, chosen[:d]]
    after = step.after(base, np.zeros((2, step.draws(seen.at))), probe, seen.at)
    g = probe.at(base[:1, chosen[:d]])[0].astype(float)
    before, V = base[:, chosen[d:]].astype(float), after[:, chosen[d:]].astype(float)
    beta = float(np.median((V[1] - V[0]) / (before[1] - before[0])))
    r = float(np.median((V[0] - beta * before[0]) / ((1 - beta) * g * g)))
    motion = g / (base[:, chosen[:d]] - after[:, chosen[:d]]).astype(float)
    root = np.sqrt(np.maximum(V, 0.0))
    slope = float(np.median((motion[1] - motion[0]) / (root[1] - root[0])))
    h = 1 / (slope * np.sqrt(r))
    floor = float(np.median(motion[0] - slope * root[0])) * h
    place, kept = seen.noise_states[:1, :d], seen.noise_states[0, d:]
    moment = beta * kept / r + (1 - beta) * probe.at(place)[0] ** 2
    variances = np.diag(seen.covariance[0])[:d]
    T = float(np.median(variances * (floor + np.sqrt(np.maximum(moment, 0)))) / (2 * h))
    yield {"h": float(h), "T": float(T), "V": r, "decay": beta, "floor": floor}


__all__ = ["set_units", "starts_of"]
