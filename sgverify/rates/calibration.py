"""How often the decision procedure errs: simulated truths, known noise, counted verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sgverify.rates.decision import MARGIN, Decision, decide_order
from sgverify.rates.looks import decide_in_looks
from sgverify.rates.sample import Floats, Sample

TRUTHS: Mapping[str, Mapping[int, float]] = {
    "order 1": {1: 1},
    "order 2": {2: 1},
    "order 4": {4: 1},
    "orders 2 and 4": {2: 0.6, 4: 0.4},
    "orders 2, 3 and 4": {2: 1.4, 3: -0.7, 4: 0.3},
    "5 % of order 1 in order 2": {1: 0.05, 2: 0.95},
    "15 % of order 1 in order 2": {1: 0.15, 2: 0.85},
    "20 % of order 1 in order 2": {1: 0.2, 2: 0.8},
    "50 % of order 1 in order 2": {1: 0.5, 2: 0.5},
    "a constant of 20 % in order 2": {0: 0.2, 2: 0.8},
    "zero": {},
}
"""Coefficients of h^j; they add up to 1 = the error at h_max = 1, so that noise is relative to it."""

STEPS = tuple(2.0**-k for k in range(5))
FIRST_LOOK = 256
COUPLING = 0.99
"""Correlation of the errors at any two steps, where chains are coupled."""

HABIT = 0.3
"""The field's habit: conforms if the log-log slope is within this of the order."""


@dataclass(frozen=True)
class Cell:
    """Counted verdicts for one truth: `verdicts`, those of the habit, and how often the exponent's interval held."""

    verdicts: Mapping[str, int]
    habit: int
    covered: int
    described: int
    replications: int


def is_true(coefficients: Mapping[int, float], order: int, margin: float = MARGIN) -> bool:
    """Whether the forbidden orders carry less than the margin each, so that b = O(h^order) as far as it is judged."""
    return all(abs(c) < margin for j, c in coefficients.items() if j < order)


def simulate(
    coefficients: Mapping[int, float],
    *,
    noise: float,
    replications: int,
    seed: int,
    order: int = 2,
    level: float = 0.01,
    coupled: bool = False,
    looks: int = 1,
    steps: Sequence[float] = STEPS,
) -> Cell:
    """Verdicts on b(h) = sum_j c_j h^j under Gaussian chains whose mean has standard error `noise` at every step.

    With several looks the chains grow fourfold from look to look and old chains stay; `noise` is that of the last. The
    habit sees the last look's points.
    """
    h = np.asarray(steps)
    truth = np.asarray(sum((c * h**j for j, c in coefficients.items()), np.zeros_like(h)))
    sizes = [FIRST_LOOK * 4**k for k in range(looks)]
    rng = np.random.default_rng(seed)
    verdicts: Counter[str] = Counter()
    habit = covered = described = 0
    for _ in range(replications):
        errors = _chains(rng, truth, noise * sizes[-1] ** 0.5, sizes[-1], coupled)

        def draw(chains: int, errors: Floats = errors) -> Sample:
            return Sample.of_chains(errors[:, :chains], coupled=coupled)

        def decide(sample: Sample, level: float) -> Decision:
            return decide_order(
                h, sample.values, covariance=sample.covariance, order=order, level=level, chains=sample.chains
            )

        decision = decide_in_looks(draw, sizes, decide, level=level)
        verdicts[decision.verdict] += 1
        slope = np.polyfit(np.log(h), np.log(np.abs(errors.mean(axis=1))), 1)[0]
        habit += bool(abs(slope - order) < HABIT)
        if coefficients:
            described += 1
            covered += _holds(decision, float(np.log2(truth[0] / truth[1])))
    return Cell(verdicts, habit, covered, described, replications)


def _chains(rng: np.random.Generator, truth: Floats, spread: float, chains: int, coupled: bool) -> Floats:
    own = rng.standard_normal((len(truth), chains))
    if coupled:
        shared = rng.standard_normal(chains)
        own = COUPLING**0.5 * shared + (1 - COUPLING) ** 0.5 * own
    return truth[:, None] + spread * own


def _holds(decision: Decision, exponent: float) -> bool:
    low, high = decision.low, decision.high
    return (low is None or low <= exponent) and (high is None or exponent <= high)
