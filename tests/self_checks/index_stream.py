"""Are the data indices of running minibatches drawn as defined, and is the noise of `additive` gradients z A, z ~ N(0, I)?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject
from tests.self_checks.enumeration import additive_responses, minibatches_of
from tests.self_checks.gradient_cases import parts_at, plain_ensemble, states, visited
from tests.self_checks.minibatches import period_of

STEPS = 2
_LARGEST = 60
"""The largest number of normal numbers whose coefficients are solved for."""


def additive_defect(subject: Subject, unit: float, certificate: dict[str, Any]) -> str | None:
    """A sentence about wrong additive noise; None if the noise is z A, A^T A the configured covariance, new at each evaluation.

    With more chains than normal numbers, a linear system gives the coefficient of each normal number in each estimate. A
    nonzero residual means that the estimate is no linear function of the numbers. So the mean is shown to be the full
    gradient, and the covariance A^T A, up to rounding.
    """
    target = visited(subject)
    gradient = subject.configuration.gradient
    evaluations, dim = STEPS * max(1, subject.scheme.gradients), target.dim
    count = evaluations * dim
    if count > _LARGEST:
        return None
    ensemble = plain_ensemble(
        subject, target, gradient, 8 * count + 64, hoist=True, seed=run_seed(subject, "additive")
    )
    theta = states(subject)[0]
    parts = parts_at(target, theta, gradient)
    values, normals = additive_responses(ensemble, theta, STEPS)
    full = parts.full.astype(np.float64)
    columns = np.column_stack([np.ones(normals.shape[1]), normals.T])
    stacked = np.concatenate(values, axis=1)
    solved, *_ = np.linalg.lstsq(columns, stacked, rcond=None)
    covariance = np.array(
        [[float(int(x.p) / int(x.q)) for x in row] for row in subject.noise.covariance.tolist()]  # type: ignore[union-attr]
    )
    size = np.abs(stacked).max() + float((parts.size + parts.conditioning).max())
    # The columns are far from dependent: at least eight times as many chains as numbers.
    allowed = unit * (64 + len(parts.data)) * size * np.sqrt(len(columns))
    if np.abs(stacked - columns @ solved).max() > allowed:
        return "the noise of the gradients is no linear function of the normal numbers that are drawn for it"
    if np.abs(solved[0] - np.tile(full, evaluations)).max() > allowed:
        certificate["statistic"] = "mean"
        off = (solved[0] - np.tile(full, evaluations))[:3]
        return f"the noise has the mean {float(off[np.argmax(np.abs(off))]):.4g}, required 0; that of the gradients, {off.tolist()}"
    shares = solved[1:]
    expected = np.kron(np.eye(evaluations), covariance)
    found = shares.T @ shares
    off = np.abs(found - expected)
    if off.max() > 4 * allowed * (1 + np.abs(shares).max()) * count:
        i, j = np.unravel_index(np.argmax(off), off.shape)
        certificate["statistic"] = "moments"
        return (
            f"covariance of noise {found[i, j]:.4g}, required {expected[i, j]:.4g}; that of evaluation {i // dim + 1}, "
            f"coordinate {i % dim}, and of evaluation {j // dim + 1}, coordinate {j % dim}, is {found[i, j]:.10g}, and the "
            f"configuration asks for {expected[i, j]:.10g}"
        )
    return None


EXPECTED = 40
"""The expected draws of each datum, at least: a datum is then never drawn by chance with probability e^-40."""

MOST_DRAWS = 200_000
MOST_SHUFFLED = 5000
"""The largest number of data that are shuffled by this check."""

CHAINS, SHUFFLED_CHAINS = 64, 256


def index_stream(subject: Subject, seed: int, level: float) -> tuple[str | None, dict[str, Any]]:
    """A sentence about wrong data indices, or None; and a summary of the tests, with `certain` if no test is statistical.

    Certain tests: indices in range, distinct indices in a minibatch without replacement, every datum once in an epoch, the
    backward sweep. Statistical test: of D draws in all, the number of draws from a set of m out of N data exceeds a with
    probability at most exp(-D KL(a/D, m/N)), with or without replacement (Hoeffding 1963, theorems 1 and 4). Bonferroni's
    inequality covers all sets and both sides; `level` bounds the chance of a false alarm.
    """
    gradient, size = subject.configuration.gradient, subject.target.size
    assert size is not None
    estimator = gradient.estimator
    if estimator.exchangeable and size > MOST_SHUFFLED:
        return None, {
            "certain": True,
            "not_looked_at": f"{size} data, more than the {MOST_SHUFFLED} that are shuffled here",
        }
    expected = max(EXPECTED, math.ceil(math.log(2 * size / level)))
    drawn = _draw(subject, seed, size, expected)
    facts: dict[str, Any] = {"certain": True, "draws": drawn.size, "data": size}
    if drawn.min() < 0 or drawn.max() >= size:
        return f"indices {drawn.min()} to {drawn.max()}, required 0 to {size - 1}; of the data", facts
    if not estimator.replaced:
        ordered = np.sort(drawn, axis=1)
        if (ordered[:, 1:] == ordered[:, :-1]).any():
            return f"a minibatch holds a datum twice; of kind {gradient.kind}", facts
    if estimator.exchangeable:
        wrong = _block_defect(subject, seed, size)
        if wrong or size == gradient.batch:
            return wrong, facts
    counts = np.bincount(drawn.ravel(), minlength=size)
    sets = min(size, max(1, drawn.size // expected))
    edges = np.arange(sets + 1) * size // sets
    met = np.add.reduceat(counts, edges[:-1])
    exponents = drawn.size * _divergence(met / drawn.size, np.diff(edges) / size)
    worst = int(np.argmax(exponents))
    chance = float(min(1.0, 2 * sets * np.exp(-exponents[worst])))
    facts.update(
        certain=False,
        level=level,
        sets=sets,
        smallest_chance=chance,
        fewest=int(met.min()),
        most=int(met.max()),
        missed_by_chance=float(np.exp(-drawn.size / size)),
    )
    if chance <= level:
        low, high = int(edges[worst]), int(edges[worst + 1]) - 1
        which = f"datum {low}" if low == high else f"the data {low} to {high}"
        return (
            f"{which} of 0 to {size - 1} is drawn {met[worst]} times; in {drawn.size} draws, where "
            f"{drawn.size * (high - low + 1) / size:.4g} are expected: less likely than {chance:.1g} by chance"
        ), facts
    return None, facts


def _draw(subject: Subject, seed: int, size: int, expected: int) -> np.ndarray:
    """Independent minibatches of indices, shape (count, n, C); for block-wise estimators, first halves of epochs."""
    gradient = subject.configuration.gradient
    batch = gradient.batch
    wanted = -(-min(MOST_DRAWS, expected * size) // batch)
    if gradient.estimator.exchangeable:
        ensemble = plain_ensemble(subject, subject.target, gradient, SHUFFLED_CHAINS, hoist=True, seed=seed)
        half = minibatches_of(ensemble, -(-size // batch // 2))
        # The first half of a permutation: one draw without replacement.
        return half.reshape(1, -1, SHUFFLED_CHAINS)
    ensemble = plain_ensemble(subject, subject.target, gradient, CHAINS, hoist=True, seed=seed)
    period = period_of(gradient.estimator, size, gradient, max(1, subject.scheme.minibatches))
    return minibatches_of(ensemble, period * max(1, -(-wanted // CHAINS)))[::period]


def _block_defect(subject: Subject, seed: int, size: int) -> str | None:
    """A sentence about a wrong epoch; two epochs of a few chains are tested.

    Every datum must occur once in an epoch, a backward sweep must reverse the forward one, and the second epoch must use
    another permutation.
    """
    gradient = subject.configuration.gradient
    sweeps, blocks = gradient.estimator.sweeps, size // gradient.batch
    ensemble = plain_ensemble(subject, subject.target, gradient, 2, hoist=True, seed=seed)
    drawn = minibatches_of(ensemble, 2 * sweeps * blocks)
    for epoch in range(2):
        there = drawn[epoch * sweeps * blocks :][:blocks]
        if (np.sort(there.reshape(size, -1), axis=0) != np.arange(size)[:, None]).any():
            return f"an epoch does not use every datum once; epoch {epoch + 1} of {gradient.kind}, of {size} data"
        back = drawn[epoch * sweeps * blocks + blocks :][:blocks]
        if sweeps == 2 and (np.sort(back[::-1], axis=1) != np.sort(there, axis=1)).any():
            return f"the sweep back is not the sweep in reverse; of epoch {epoch + 1}"
    return None


def _divergence(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """KL(q, p) of two coins, q log(q/p) + (1 - q) log((1 - q)/(1 - p))."""
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(found > 0, found * np.log(found / expected), 0.0)
        other = np.where(found < 1, (1 - found) * np.log((1 - found) / (1 - expected)), 0.0)
    return np.asarray(np.where(expected < 1, one + other, 0.0))
