"""What the pictures of the theory show: one function for each idea, with exact answers on small targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import flint
import numpy as np
import scipy.linalg
from scipy.optimize import minimize_scalar

from reports.making.gallery.gaussian import Average
from reports.making.gallery.settings import FULL, PHI, gaussian, well
from sgverify.checks.readings import predicted_order
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.chain.ergodic import stationary_law
from sgverify.exact.exchange.generator import Cells
from sgverify.exact.splittings.bch import bch_series
from sgverify.exact.weights.fixed_point import visited_weights
from sgverify.exact.weights.masses import region_masses
from sgverify.schemes.composites.adaptation import Partition
from sgverify.schemes.composites.composite import log_importance, log_psi, log_swap_rate
from sgverify.subject.subject import Subject

BITS = 128
WORDS = ("AB", "ABA", "ABAB", "ABABA")
DEGREE = 6
BATCHES = (1, 5, 25)
LENGTHS = tuple(int(value) for value in np.geomspace(1e3, 1e9, 13))
LENGTH = 10**5
WARM = 4.0
TEMPERATURES = tuple(float(f"{value:.4g}") for value in np.geomspace(1, 30, 40))
HEIGHT = 6.0
"""The barrier of the double well of replicas and weights, in units of the temperature."""

BINS, ENERGIES = 24, (0.0, 8.0)


def measured() -> dict[str, Any]:
    """The numbers of all pictures, by the name of the idea."""
    ideas: dict[str, Callable[[], Any]] = {
        "local-error": local_error,
        "palindrome": palindrome,
        "minibatch": minibatch,
        "bias-variance": bias_variance,
        "replica-swaps": replica_swaps,
        "flattened": flattened,
    }
    return {name: idea() for name, idea in ideas.items()}


def local_error() -> list[dict[str, Any]]:
    """|E phi(X_1) - exp(hL) phi| from the point where chains start, and |pi_h(phi) - pi(phi)|, for K = 1 and 2."""
    found = []
    for scheme in ("sgld-euler", "sghmc-aboba"):
        subject = gaussian(scheme, FULL)
        average = Average(subject)
        rate = float(subject.target.precision[0][0])
        scale = rate**-0.5 if "p" in subject.scheme.dynamics.state else 1 / rate
        steps = [float(f"{scale * value:.4g}") for value in np.geomspace(0.01, 0.5, 8)]
        found.append(
            {
                "scheme": scheme,
                "order": predicted_order(subject),
                "steps": steps,
                "local": [_rounded(_one_step(subject, h) - _flow(subject, h)) for h in steps],
                "bias": [_rounded(average.at(h)[0]) for h in steps],
            }
        )
    return found


def _one_step(subject: Subject, step: float) -> float:
    """E theta^2 after one step from the start."""
    with flint.ctx.workprec(BITS):
        chain = subject.model.chain(fixed_step(step)())
        mean = chain.map * chain.start_mean + chain.shift
        return float((mean[0, 0] ** 2 + chain.covariance[0, 0]).mid())


def _flow(subject: Subject, time: float) -> float:
    """E theta^2 at this time of the diffusion itself, dX = A X dt + noise of covariance 2 a, both read from the dynamics."""
    dynamics, rate = subject.scheme.dynamics, float(subject.target.precision[0][0])
    given = {
        "grad": lambda x: rate * x,
        "D": float(subject.configuration.friction),
        "T": float(subject.configuration.temperature),
    }
    n = len(dynamics.state)
    columns = [dynamics.coefficients(tuple(row), **given)[0] for row in np.eye(n)]
    drift = np.array(columns, dtype=float).T
    spread = np.diag(np.array(dynamics.coefficients((0.0,) * n, **given)[1], dtype=float))
    # Van Loan 1978: the covariance from the exponential of one block matrix.
    block = scipy.linalg.expm(time * np.block([[-drift, 2 * spread], [np.zeros((n, n)), drift.T]]))
    flow = block[n:, n:].T
    covariance = flow @ block[:n, n:]
    with flint.ctx.workprec(BITS):
        start = [float(subject.model.start_law()[0][k, 0].mid()) for k in range(n)]
    mean = flow @ np.array(start)
    return float(mean[0] ** 2 + covariance[0, 0])


def palindrome() -> list[dict[str, Any]]:
    """The sum of the absolute coefficients of log exp(c1 X1) exp(c2 X2) ... at each degree, in the Lyndon basis."""
    return [
        {
            "word": word,
            "sizes": [
                float(sum(map(abs, part.values()))) for part in bch_series(word, degree=DEGREE).values()
            ],
        }
        for word in WORDS
    ]


def minibatch() -> dict[str, Any]:
    """What minibatches add to E theta^2 in one step and in the invariant law, by batch; and (h^2/2) E(dV)^2 theta^2."""
    quiet = gaussian("sgld-euler", FULL)
    rate = float(quiet.target.precision[0][0])
    steps = [float(f"{value / rate:.4g}") for value in np.geomspace(1e-3, 1, 9)]
    rows = []
    for batch in BATCHES:
        noisy = gaussian("sgld-euler", {"kind": "iid", "batch": batch})
        variance = float(noisy.noise.covariance[0, 0])  # type: ignore[index]
        rows.append(
            {
                "batch": batch,
                "gradient_variance": variance,
                "one_step": [_rounded(_one_step(noisy, h) - _one_step(quiet, h)) for h in steps],
                "predicted": [_rounded(h**2 / 2 * variance * 2) for h in steps],
                "law": [_rounded(_width(noisy, h) - _width(quiet, h)) for h in steps],
            }
        )
    return {
        "scheme": "sgld-euler",
        "steps": steps,
        "rows": rows,
        "bias": [_rounded(Average(quiet).at(h)[0]) for h in steps],
    }


def _width(subject: Subject, step: float) -> float:
    """The variance of theta in the invariant law."""
    with flint.ctx.workprec(BITS):
        return float(stationary_law(subject.model.chain(fixed_step(step)())).covariance[0, 0].mid())


def bias_variance() -> dict[str, Any]:
    """Bias^2, variance and mean square error of one length by step size; and the best step by length, for K = 1 and 2."""
    average = Average(gaussian("sghmc-aboba", FULL, start_momentum="stationary", start=0.0))
    scale = float(average.subject.target.precision[0][0]) ** -0.5
    steps = [float(f"{value * scale:.4g}") for value in np.geomspace(0.01, 1, 17)]
    values = [average.at(h) for h in steps]
    errors = [average.answers.mean_square_error(fixed_step(h), LENGTH).value for h in steps]
    best = []
    for scheme in ("sgld-euler", "sghmc-aboba"):
        one = Average(gaussian(scheme, FULL))
        best.append(
            {
                "scheme": scheme,
                "order": predicted_order(one.subject),
                "lengths": list(LENGTHS),
                "steps": [_rounded(_best(one, length)) for length in LENGTHS],
            }
        )
    return {
        "scheme": "sghmc-aboba",
        "length": LENGTH,
        "truth": average.truth,
        "steps": steps,
        "squared_bias": [_rounded(bias**2) for bias, _ in values],
        "variance": [_rounded(variance / LENGTH) for _, variance in values],
        "mean_square_error": [_rounded(value) for value in errors],
        "best": best,
    }


def _best(average: Average, length: int) -> float:
    """The step with the least b(h)^2 + v(h)/L."""

    def error(log: float) -> float:
        bias, variance = average.at(float(np.exp(log)))
        return float(np.log(bias**2 + variance / length))

    low, high = np.log(average.ends)
    grid = np.linspace(low, high, 40)
    place = int(np.argmin([error(x) for x in grid]))
    bounds = (grid[max(0, place - 1)], grid[min(39, place + 1)])
    return float(np.exp(minimize_scalar(error, bounds=bounds, method="bounded", options={"xatol": 1e-4}).x))


def _cells() -> Cells:
    target = _deep().target
    return Cells(np.linspace(-3, 3, 601), lambda x: target.energy_float64(np.asarray(x)[:, None]))


def _deep() -> Subject:
    subject = well("sgld-euler")
    tables = {"name": "double-well", "height": HEIGHT, "tilt": 0.5}
    return replace(subject, configuration=_with_target(subject, tables))


def _with_target(subject: Subject, table: dict[str, Any]) -> Any:
    from sgverify.configuration import load_configuration

    return load_configuration(subject.configuration.model_dump(exclude_unset=True) | {"target": table})


def replica_swaps() -> dict[str, Any]:
    """Densities of two replicas on a double well, and by the warm temperature the mean chance of a swap and the gap."""
    cells = _cells()
    chances = []
    for tau in TEMPERATURES:
        pairs = log_swap_rate(
            cells.heights[:, None], cells.heights[None, :], tau_1=1.0, tau_2=tau, variance=0.0, F=1.0
        )
        chances.append(float(cells.law(1.0) @ np.exp(np.minimum(pairs, 0)) @ cells.law(tau)))
    kept = slice(None, None, 6)
    return {
        "x": [_rounded(x) for x in cells.middles[kept]],
        "energy": [_rounded(u) for u in cells.heights[kept]],
        "cold": [_rounded(p) for p in (cells.law(1.0) / cells.widths)[kept]],
        "warm": [_rounded(p) for p in (cells.law(WARM) / cells.widths)[kept]],
        "warm_temperature": WARM,
        "temperatures": list(TEMPERATURES),
        "chances": [_rounded(c) for c in chances],
        "gaps": [_rounded(cells.gap(tau)) for tau in TEMPERATURES],
    }


def flattened() -> dict[str, Any]:
    """U, and the energy whose law a chain with the fixed point's weights samples: U + tau log Psi_theta(U)^zeta, zeta = 1."""
    cells, target = _cells(), _deep().target
    lowest = float(target.energy_float64(cells.middles[:, None]).min())
    partition = Partition.equal(lowest + ENERGIES[0], lowest + ENERGIES[1], BINS)
    masses = region_masses(target, partition.inner, 1).values
    weights = np.array([float(w.mid()) for w in visited_weights([float(m) for m in masses])])
    energies = cells.heights + lowest
    regions = np.array([partition.region(float(u)) for u in energies])
    edges = np.array([lowest, *partition.inner])
    here, below = weights[regions - 1], weights[np.maximum(regions - 2, 0)]
    width = np.array(partition.widths)[regions - 1]
    top = np.minimum(energies, lowest + ENERGIES[1])
    logs = np.array(
        [
            log_psi(float(a), float(b), energy=float(u), lower=float(low), width=float(w))
            for a, b, u, low, w in zip(here, below, top, edges[regions - 1], width, strict=True)
        ]
    )
    bent = energies + np.array(
        [log_importance(float(v), 0.0, zeta=1.0, tau=1.0, temperature=1.0) for v in logs]
    )
    kept = slice(None, None, 4)
    bent -= bent.min()
    law = np.exp(-bent) * cells.widths
    return {
        "x": [_rounded(x) for x in cells.middles[kept]],
        "energy": [_rounded(u) for u in cells.heights[kept]],
        "flattened": [_rounded(u) for u in bent[kept]],
        "law": [_rounded(p) for p in (cells.law(1.0) / cells.widths)[kept]],
        "flattened_law": [_rounded(p) for p in (law / law.sum() / cells.widths)[kept]],
        "bins": BINS,
    }


def _rounded(value: Any) -> float:
    return float(f"{float(value):.6g}")


__all__ = ["PHI", "measured"]
