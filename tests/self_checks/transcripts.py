"""Which states, draws and minibatches does the sampler use in short runs? The transcripts that several checks share."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sgverify.samplers import Fixed, Power, Row, Settings
from sgverify.schemes.definition.mathematics import NORMAL, NoiseLaw
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject
from tests.self_checks.run_transcript import Transcript, transcribe

LENGTH = 64
"""The number of steps in a transcript."""

CHAINS = 48
"""The chains of each of the two batches: 96 chains of 64 steps show a correlation of 0.1 at the level 1e-6."""

NUMBERS = 768
"""The most numbers in one draw of a batch: in a large dimension fewer chains suffice, at least eight."""

WIDEST = 24
"""The most numbers of one step whose correlations are tested; of a longer draw, its first coordinates."""

ALPHA = Fraction(1, 3)
"""The exponent of the decreasing steps that are run beside the fixed ones."""

SECOND = 64
"""The number of the second batch's first chain, at which the generator computes the next block of random words."""

SHRUNK = (1, 16, 256)
"""The divisors of the step size, tried in turn while chains diverge; the draws do not depend on the step size."""

_ODD = np.uint64(0x9E3779B97F4A7C15)


def bounded_by_normal(law: NoiseLaw) -> bool:
    """Is E z^(2k) <= (2k-1)!! for every k, z symmetric? Then E exp(s z) <= exp(s^2/2) for every s."""
    if law.normal:
        return True
    # From 2k - 1 >= max |z|^2 on, the right side grows faster than the left.
    most = math.ceil((law.largest**2 + 1) / 2) + 1
    return law.symmetric and all(law.moment(2 * k) <= NORMAL.moment(2 * k) for k in range(1, most + 1))


@dataclass(frozen=True)
class Runs:
    """Transcripts of two batches of chains under one seed, each with rows of steps h, h/2 and h l^(-1/3).

    Coupled runs have the rows h and h/2 on one Brownian path.
    """

    settings: Settings
    batches: tuple[Transcript, ...]

    @property
    def chains(self) -> list[int]:
        """The numbers of the chains, those of the first batch first."""
        return [chain for batch in self.batches for chain in batch.chains]

    @property
    def diverged(self) -> str:
        """A sentence about chains that diverged; "" if none did."""
        return next((str(batch.diverged) for batch in self.batches if batch.diverged), "")


@dataclass(frozen=True)
class Columns:
    """The draws of one row: `values`, shape (L, w, C), with the law and the name of each of the w numbers of a step."""

    values: np.ndarray
    laws: tuple[NoiseLaw, ...]
    names: tuple[str, ...]

    @property
    def bounded(self) -> bool:
        """Are the exponential moments of all laws at most those of the standard normal law?"""
        return all(bounded_by_normal(law) for law in set(self.laws))

    def of(self, law: NoiseLaw) -> np.ndarray:
        """The draws of one law, shape (L, w', C) with the w' <= w numbers of a step that have this law."""
        return self.values[:, [k for k, own in enumerate(self.laws) if own == law]]


def rows_of(step: float, length: int = LENGTH) -> tuple[Row, ...]:
    """The rows of a transcript: fixed steps h and h/2, and the decreasing steps h l^(-1/3)."""
    schedules = (Fixed(step), Fixed(step / 2), Power(step, float(ALPHA)))
    return tuple(Row(schedule, (length,)) for schedule in schedules)


@cached_per_subject
def runs_of(subject: Subject) -> Runs:
    """The runs of a subject, computed once. The momentum starts at random, so that the draws of the start are recorded too."""
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
    """The draws of a row; additive gradient noise is included, whitened, if its covariance has an inverse."""
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
    """The data indices of each minibatch, shape (Q, n, C); None if none is drawn, or if each holds all data."""
    parts = [batch.minibatches for batch in runs.batches]
    if parts[0] is None or subject.target.size == 1:
        return None
    c = subject.configuration.gradient
    if not c.estimator.replaced and c.batch == subject.target.size:
        return None
    return np.concatenate([part[:, :, row] for part in parts if part is not None], axis=-1)


def fresh_minibatches(subject: Subject) -> bool:
    """Are minibatches drawn independently of one another, and not as blocks of a permutation?"""
    return not subject.configuration.gradient.estimator.exchangeable


def sides(subject: Subject, minibatches: np.ndarray) -> np.ndarray:
    """The side of the middle index on which a minibatch lies: the sign of sum_i (x_i - (N-1)/2). Shape (Q, n, C) -> (Q, C).

    The sign is symmetric for every kind of minibatch. Its values -1, 0, 1 have exponential moments of at most the normal law's.
    """
    assert subject.target.size is not None
    return np.sign((2 * minibatches - (subject.target.size - 1)).sum(1)).astype(np.float64)


def unit_of(subject: Subject) -> float:
    """The unit roundoff of the dtype in which draws are stored."""
    return float(np.finfo(subject.configuration.dtype).eps)


def numbered(minibatches: np.ndarray) -> np.ndarray:
    """A hash of each minibatch: equal data in equal order give equal numbers. Shape (Q, n, C) -> (Q, C)."""
    mixed = np.zeros((minibatches.shape[0], minibatches.shape[2]), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for place in range(minibatches.shape[1]):
            # Multiplied last: the high bits, which are kept, hold what every datum of the minibatch is.
            mixed = (mixed + minibatches[:, place].astype(np.uint64) + np.uint64(1)) * _ODD
            mixed ^= mixed >> np.uint64(29)
            mixed *= _ODD
    # As floats: float64 represents every integer up to 2^53.
    return (mixed >> np.uint64(12)).astype(np.float64) + 1.0


def _whitened(subject: Subject, runs: Runs, row: int) -> np.ndarray | None:
    """The additive gradient noise, whitened to standard normal draws, shape (L, g, C, d)."""
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
    # Summed coordinate by coordinate, so that equal noise has equal bits in every chain.
    white = sum(made[..., j : j + 1] * inverse[:, j] for j in range(dim))
    return np.asarray(white).reshape(-1, per_step, *made.shape[1:])
