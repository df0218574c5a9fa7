"""Short runs of the sampler that are written down, and the independent draws in them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sgverify.checks.rates.sampled.method import run_seed
from sgverify.checks.subject.caching import cached_per_subject
from sgverify.checks.subject.subject import Subject
from sgverify.rates.whiteness import bounded_by_normal
from sgverify.samplers import Fixed, Power, Row, Settings
from sgverify.samplers.run.transcript import Transcript, transcribe
from sgverify.schemes.definition.noise import NORMAL, NoiseLaw

LENGTH = 64
"""Steps that are written down."""

CHAINS = 48
"""Chains of each of the two batches: 96 chains of 64 steps show a correlation of a tenth at the level 1e-6."""

NUMBERS = 768
"""Numbers of one draw of a batch, at most: where the dimension is large fewer chains show as much, but eight at least."""

WIDEST = 24
"""Numbers of one step whose correlations are looked at; of a longer draw its first coordinates."""

ALPHA = Fraction(1, 3)
"""The exponent of the decreasing steps that are run beside the fixed ones."""

SECOND = 64
"""The number of the second batch's first chain: where the words of a stream are made anew."""

SHRUNK = (1, 16, 256)
"""By what the step is divided where chains diverge: the draws do not depend on it."""

_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Runs:
    """Batches of chains under one seed, on the same rows: steps h, h/2 and h l^(-1/3), unless they are coupled."""

    settings: Settings
    batches: tuple[Transcript, ...]

    @property
    def chains(self) -> list[int]:
        """The numbers of the chains, those of the first batch first."""
        return [chain for batch in self.batches for chain in batch.chains]

    @property
    def diverged(self) -> str:
        """How chains diverged, "" where none did."""
        return next((str(batch.diverged) for batch in self.batches if batch.diverged), "")


@dataclass(frozen=True)
class Columns:
    """What a row draws: `values`, shape (L, w, C), with the law and a name of each of the w numbers of a step.

    `bounded`: whether all have exponential moments that are at most the normal law's.
    """

    values: np.ndarray
    laws: tuple[NoiseLaw, ...]
    names: tuple[str, ...]

    @property
    def bounded(self) -> bool:
        """See the class."""
        return all(bounded_by_normal(law) for law in set(self.laws))

    def of(self, law: NoiseLaw) -> np.ndarray:
        """The numbers of one law. Shape (L, w', C)."""
        return self.values[:, [k for k, own in enumerate(self.laws) if own == law]]


def rows_of(step: float, length: int = LENGTH) -> tuple[Row, ...]:
    """A fixed step, half of it, and decreasing ones."""
    schedules = (Fixed(step), Fixed(step / 2), Power(step, float(ALPHA)))
    return tuple(Row(schedule, (length,)) for schedule in schedules)


@cached_per_subject
def runs_of(subject: Subject) -> Runs:
    """The runs of a subject, made once. A momentum starts at random, so that its draws are seen too."""
    settings = Settings.of(
        subject.configuration,
        seed=run_seed(subject, "transcripts"),
        chains=max(8, min(CHAINS, NUMBERS // subject.target.dim)),
        start_momentum="stationary",
        burn_in=0,
        thinning=1,
    )
    for factor in SHRUNK:
        rows = rows_of(subject.step / factor)
        first, second = (
            transcribe(subject.scheme, subject.target, rows, replace(settings, first_chain=start))
            for start in (0, SECOND)
        )
        runs = Runs(settings, (first, second))
        if not runs.diverged:
            break
    return runs


def columns_of(subject: Subject, runs: Runs, row: int) -> Columns:
    """The draws of a row, and its additive gradient noise made white where its covariance has an inverse."""
    values, laws, names = [], [], []
    drawn = np.concatenate([batch.draws[:, :, row] for batch in runs.batches], axis=-2)
    for k, law in enumerate(subject.scheme.laws):
        values.append(drawn[:, k])
        laws.append(law)
        names.append(f"draw {k + 1}" if subject.scheme.draws > 1 else "the draw")
    white = _whitened(subject, runs, row)
    for k in range(0 if white is None else white.shape[1]):
        assert white is not None
        values.append(white[:, k])
        laws.append(NORMAL)
        names.append(f"the noise of gradient {k + 1}")
    dim = subject.target.dim
    kept = max(1, min(dim, WIDEST // max(1, len(values))))
    if not values:
        length = runs.batches[0].length
        return Columns(np.empty((length, 0, len(runs.chains))), (), ())
    stacked = np.concatenate([value[..., :kept] for value in values], axis=-1)
    spelled = [name if dim == 1 else f"{name} [{i}]" for name in names for i in range(kept)]
    return Columns(stacked.swapaxes(1, 2), tuple(law for law in laws for _ in range(kept)), tuple(spelled))


def minibatches_of(subject: Subject, runs: Runs, row: int) -> np.ndarray | None:
    """The data of each minibatch, shape (Q, n, C); None where none is drawn or every one holds all data."""
    parts = [batch.minibatches for batch in runs.batches]
    if parts[0] is None or subject.target.size == 1:
        return None
    c = subject.configuration.gradient
    if not c.estimator.replaced and c.batch == subject.target.size:
        return None
    return np.concatenate([part[:, :, row] for part in parts if part is not None], axis=-1)


def fresh_minibatches(subject: Subject) -> bool:
    """Whether every minibatch is drawn anew, and none is what others of an epoch have left."""
    return not subject.configuration.gradient.estimator.exchangeable


def sides(subject: Subject, minibatches: np.ndarray) -> np.ndarray:
    """On which side of the middle a minibatch lies: the sign of sum_i (x_i - (N-1)/2). Shape (Q, n, C) -> (Q, C).

    Symmetric for every kind of minibatch, so -1, 0 or 1 with exponential moments at most the normal law's.
    """
    assert subject.target.size is not None
    return np.sign((2 * minibatches - (subject.target.size - 1)).sum(1)).astype(np.float64)


def unit_of(subject: Subject) -> float:
    """The relative precision of the dtype that draws are held in."""
    return float(np.finfo(subject.configuration.dtype).eps)


def numbered(minibatches: np.ndarray) -> np.ndarray:
    """One number for each minibatch, the same for the same data in the same order. Shape (Q, n, C) -> (Q, C)."""
    mixed = np.zeros((minibatches.shape[0], minibatches.shape[2]), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for place in range(minibatches.shape[1]):
            # Multiplied last: the high bits, which are kept, hold what every datum of the minibatch is.
            mixed = (mixed + minibatches[:, place].astype(np.uint64) + np.uint64(1)) * _ODD
            mixed ^= mixed >> np.uint64(29)
            mixed *= _ODD
    # As floats, of which every whole number up to 2^53 is one.
    return (mixed >> np.uint64(12)).astype(np.float64) + 1.0


def _whitened(subject: Subject, runs: Runs, row: int) -> np.ndarray | None:
    """Additive noise as standard normal draws. Shape (L, g, C, d)."""
    parts = [batch.additive for batch in runs.batches]
    if parts[0] is None:
        return None
    covariance = subject.noise.covariance
    assert covariance is not None
    dim = subject.target.dim
    matrix = np.array([[float(Fraction(str(covariance[i, j]))) for j in range(dim)] for i in range(dim)])
    if np.linalg.cond(matrix) > 1 / math.sqrt(np.finfo(np.float64).eps):
        return None
    inverse = np.linalg.inv(np.linalg.cholesky(matrix))
    made = np.concatenate([part[:, row] for part in parts if part is not None], axis=-2)
    per_step = max(1, subject.scheme.gradients)
    # Summed coordinate by coordinate: the same noise has the same bits in every chain.
    white = sum(made[..., j : j + 1] * inverse[:, j] for j in range(dim))
    return np.asarray(white).reshape(-1, per_step, *made.shape[1:])
