"""How the variance of variance-reduced energies depends on h, m and n, for any energies and any coefficient, from runs.

The chains are sampled; the variance over minibatches is not. An energy is an average over the data of its minibatch, so that the
estimates on all minibatches of one datum, i = 1..N, determine its variance on every minibatch of n:

    Var L~(B | theta) = V/n, without replacement V/n (N - n)/(N - 1),  V = the variance over i of L~({i} | theta).

The running code computes these N estimates at states that its own run reached, with the control and the coefficient it has there.

Powers of h are read from three runs without swaps at vanishing steps h, h/2, h/4 on equal random numbers, between which the mean
over chains of V hardly has noise. As h -> 0 it is c h^e (1 + a sqrt(h) + ...), e a multiple of 1/2; the local exponents e_1 and
e_2 between neighbouring steps differ from e by terms in sqrt(h), each by 1/sqrt(2) of the one before: e is within
2 |e_1 - e_2|/(sqrt(2) - 1) of e_2, up to the errors of both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from sgverify.checks.question import Question
from sgverify.checks.rates.sampled.method import share_of
from sgverify.configuration.model import ExchangeTable
from sgverify.errors import Unreached
from sgverify.evidence import Evidence, Point
from sgverify.exact.exchange.acceptance import ages
from sgverify.rates.verdict import Judgement
from sgverify.samplers import Row, Settings, one_thread
from sgverify.samplers.composites.exchange import Exchange
from sgverify.samplers.composites.swap_energies import Controls, SwapEnergies
from sgverify.samplers.run.leg import RunObserver
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Fixed
from sgverify.subject.composite import CompositeSubject, Ladder
from sgverify.subject.seeds import run_seed
from sgverify.targets import Target

STAGE = "energy-variance"
CHAINS = 128
VANISHING = {False: 2.0**-22, True: 2.0**-14}
"""The largest of the three step sizes, in units of the configured one, without and with a momentum. Theta moves by sqrt(h) or, from
a momentum of 0, by h^(3/2): by 1e-3 to 1e-6 of what a configured step moves it, so that swaps between equal numbers are decided
alike, and far above the rounding of energies, 1e-16 N of them.
"""
HALVINGS = (1.0, 0.5, 0.25)
LONGEST = 200
"""The most steps between two refreshes of a run; a longer configured period is shortened to it, and the answer says so."""
MOST = 1 << 22
"""The most energies of single data that are held at once, and a hundred times as many are computed in all."""
EPS = float(np.finfo(np.float64).eps)
PAIRS = 8
"""The pairs of data whose estimate is compared with the average of the two."""


@dataclass(frozen=True)
class Spread:
    """V, the variance over single data, at `age` steps after a refresh; shape (steps, replicas, chains)."""

    age: int
    values: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """The mean over chains, shape (steps, replicas)."""
        return np.asarray(self.values.mean(-1))


@dataclass(frozen=True)
class LocalExponent:
    """A power of h with bounds of its error; `resolved` is the only multiple of 1/2 within them, None if there are several."""

    value: float
    error: float

    @property
    def resolved(self) -> float | None:
        """The multiple of 1/2."""
        if not math.isfinite(self.value):
            return self.value if self.value == math.inf else None
        near = round(2 * self.value) / 2
        apart = abs(self.value - near)
        return near if apart <= self.error < 0.5 - apart else None


def sampled_energy_variance(question: Question, why: str) -> Evidence:
    """E Var L~ against O(m^2 eta/n) from runs of the composite; `why` there is no exact law."""
    subject = cast(CompositeSubject, question.subject)
    ladder = Ladder.of(subject)
    period = min(ladder.period, LONGEST)
    size, batch = cast(int, subject.target.size), subject.configuration.gradient.batch
    looks = sorted({1, max(1, period - 1)})
    replicas = len(ladder.temperatures)
    if size * len(HALVINGS) * replicas * CHAINS * len(looks) > 100 * MOST:
        return question.unanswered(
            f"too many data for their energies at every state; {size} at {len(HALVINGS) * replicas * CHAINS} states; take "
            "fewer by target.size"
        )
    try:
        first = subject.step * VANISHING["p" in subject.scheme.dynamics.state]
        small = _Run(subject, [first * share for share in HALVINGS], period, looks, swaps=False)
        large = _Run(subject, [subject.step], period, list(ages(period)))
    except Unreached as error:
        return question.unanswered(str(error), method="monte-carlo")
    faults = [*small.faults, *large.faults]
    if faults:
        return question.evidence(Judgement("violates", False, faults[0]), method="monte-carlo")
    # Two errors of sampling for each age and replica, each of two sides.
    z = float(stats.norm.isf(share_of(subject).rate / (4 * replicas * len(looks))))
    exponents = [_exponent(spread.values[:, k], z) for spread in small.found for k in range(replicas)]
    points = _points(subject, large, batch)
    constants = [_constant(point, batch) for point in points]
    return question.answered(
        _judgement(question, exponents, small, max(constants)),
        method="monte-carlo",
        found=None,
        points=points,
        certificate={
            "m": period,
            "m configured": ladder.period,
            "n": batch,
            "temperatures": [str(T) for T in ladder.temperatures],
            "exponents in eta, by age and replica": [[one.value, one.error] for one in exponents],
            "ages": looks,
            "exponent in n": "-1, times (N - n)/(N - 1) without replacement: single data and pairs of them",
            "n/(m^2 eta) times E Var L~ by m, of the hottest replica at the step size": constants,
            "coefficients at the end": small.coefficients,
            "chains": CHAINS,
            "minibatches": f"all of one datum, N = {size}: their variance is that of every minibatch, in closed form",
            "why sampled": why,
        },
    )


def _judgement(question: Question, exponents: list[LocalExponent], run: _Run, constant: float) -> Judgement:
    wanted = float(cast(Any, question.prediction).exponent)
    if not any(spread.values.any() for spread in run.found):
        return Judgement("conforms", False, "the variance is 0; all data have one energy, up to constants")
    resolved = [one.resolved for one in exponents]
    low = [value for value in resolved if value is not None and value < wanted]
    if low:
        return Judgement(
            "violates",
            False,
            f"E Var L~ falls as eta^{min(low):g}, and is required to fall as eta^{wanted:g}",
        )
    if any(value is None for value in resolved):
        worst = max(exponents, key=lambda one: one.error)
        reason = f"the powers of eta are too uncertain; {worst.value:.3g} within {worst.error:.2g} at vanishing steps"
        return Judgement("inconclusive", False, reason)
    least = min(cast(list[float], resolved))
    return Judgement(
        "conforms",
        least == wanted,
        f"E Var L~ falls as eta^{least:g} as eta -> 0; sampled over {CHAINS} chains and exact over minibatches, on which it falls "
        f"as 1/n; n/(m^2 eta) times it is at most {constant:.4g} over m = 2 to {run.period}",
    )


def rounding_of(target: Target, theta: np.ndarray) -> float:
    """A rounding bound of a sum over the data in any order: N eps times the sum of absolute values."""
    total = float(np.abs(np.asarray(target.prior(theta))).max())
    if target.data is not None and target.likelihood is not None:
        each = np.abs(np.asarray(target.likelihood(theta[..., None, :], target.data)))
        total += len(target.data) * float(each.max())
    return 64 * ((target.size or 1) + 16) * EPS * (total + 1)


class _Run:
    """A run of the composite at several steps on equal random numbers, up to the end of its second period."""

    def __init__(
        self,
        subject: CompositeSubject,
        steps: list[float],
        period: int,
        looks: list[int],
        *,
        swaps: bool = True,
    ) -> None:
        self.subject, self.period, self.looks = subject, period, set(looks)
        c = subject.configuration
        # A swap that is decided otherwise at another step size would hide how the steps differ.
        table = {"refresh": period, **({} if swaps else {"every": 2 * period + 1})}
        exchange = (c.exchange or ExchangeTable()).model_copy(update=table)
        settings = Settings.of(
            c,
            seed=run_seed(subject, STAGE),
            chains=CHAINS,
            first_chain=0,
            dtype="float64",
            device="cpu",
            burn_in=0,
            thinning=1,
            exchange=exchange,
            compiled=False,
        )
        rows = [Row(_OnEqualNumbers(step), (2 * period,)) for step in steps]
        self.ensemble = Ensemble(subject.composite, subject.target, rows, settings)
        self.found: list[Spread] = []
        self.faults: list[str] = []
        self.coefficients: list[float] = []
        with one_thread(), torch.no_grad():
            for block in self.ensemble.blocks(_Looking(self)):
                for why in block.diverged.values():
                    raise Unreached(f"the chains diverge; {why}")

    def look(self, number: int, theta: Tensor) -> None:
        """Compute V where step `number` is one of the ages that are asked for, after the first refresh."""
        age = number - self.period
        hooks = cast(Exchange, self.ensemble.hooks)
        controls = cast(Controls, hooks.controls)
        if age == 0 and not torch.equal(controls.at, theta):
            self.faults.append(
                f"the control is not renewed; after m = {self.period} steps it is an earlier state"
            )
        if age not in self.looks or self.faults:
            return
        energies = self._single(hooks.energies, theta, controls)
        groups = energies.reshape(len(energies), -1, hooks.replicas, CHAINS)
        self.found.append(Spread(age, groups.var(0).reshape(groups.shape[1:])))
        self.coefficients = np.unique(controls.coefficient.numpy().round(6))[:4].tolist()
        self.faults += self._faults(hooks.energies, theta, controls, energies)

    def _single(self, energies: SwapEnergies, theta: Tensor, controls: Controls) -> np.ndarray:
        """The estimate on each minibatch of one datum, shape (N, S, C)."""
        size, (rows, chains) = cast(int, self.subject.target.size), theta.shape[:2]
        piece = max(1, MOST // (rows * chains * theta.shape[2]))
        found = []
        for start in range(0, size, piece):
            data = torch.arange(start, min(start + piece, size))
            chosen = data[:, None].repeat_interleave(rows, 0).expand(-1, chains)[None]
            found.append(self._estimate(energies, theta, controls, chosen).reshape(len(data), rows, chains))
        return np.concatenate(found)

    def _estimate(
        self, energies: SwapEnergies, theta: Tensor, controls: Controls, chosen: Tensor
    ) -> np.ndarray:
        """What the swap after a step would compare, on given minibatches: `chosen` of shape (n, r S, C)."""
        times = chosen.shape[1] // len(theta)
        wide = Controls(*(tensor.repeat(times, 1, 1) for tensor in controls.tensors))
        held, energies.minibatch = energies.minibatch, lambda number: chosen  # type: ignore[method-assign]
        try:
            return np.asarray(energies.at(theta.repeat(times, 1, 1), wide, 0)[..., 0].numpy())
        finally:
            energies.minibatch = held  # type: ignore[method-assign]

    def _faults(
        self, energies: SwapEnergies, theta: Tensor, controls: Controls, single: np.ndarray
    ) -> list[str]:
        """Is the mean over minibatches U(theta), and the estimate on two data the average of those on each?"""
        places = theta.reshape(-1, theta.shape[-1]).numpy()
        states = np.concatenate([places, controls.at.reshape(places.shape).numpy()])
        margin = rounding_of(self.subject.target, states) * 4
        off = float(np.abs(single.mean(0).ravel() - self.subject.target.energy_float64(places)).max())
        if off > margin:
            return [
                f"the mean of the energy is not U(theta); over all minibatches it is off by up to {off:.3g}"
            ]
        size = len(single)
        pairs = torch.tensor([[k % size, (k * k + k + 1) % size] for k in range(PAIRS)])
        chosen = pairs.T[:, :, None].repeat_interleave(len(theta), 1).expand(-1, -1, theta.shape[1])
        both = self._estimate(energies, theta, controls, chosen).reshape(PAIRS, *single.shape[1:])
        apart = float(np.abs(both - single[pairs.numpy()].mean(1)).max())
        if apart > margin * size:
            return [f"an energy is no average over its minibatch; on two data it is off by {apart:.3g}"]
        return []


class _Looking(RunObserver):
    def __init__(self, run: _Run) -> None:
        self._run = run

    def show(self, rows: tuple[int, ...], number: int, state: tuple[Tensor, ...], steps: np.ndarray) -> None:
        """See `RunObserver.show`."""
        self._run.look(number, state[0])


class _OnEqualNumbers(Fixed):
    """A fixed step whose random numbers do not depend on its size; those of the replicas differ."""

    key = b"equal numbers"


def _exponent(values: np.ndarray, z: float) -> LocalExponent:
    """The power of h of the mean over chains; `values`, shape (3, C), at h, h/2 and h/4."""
    means = values.mean(1)
    if not means.all():
        return LocalExponent(math.inf, 0.0) if not means.any() else LocalExponent(math.nan, math.inf)
    relative = values / means[:, None]
    first, second = (math.log2(means[k] / means[k + 1]) for k in (0, 1))

    def error(weights: Sequence[float]) -> float:
        combined = np.tensordot(weights, relative, 1)
        return z * float(combined.std(ddof=1)) / math.sqrt(len(combined)) / math.log(2)

    # Twice, for the terms beyond sqrt(h).
    rest = 2 * (abs(first - second) + error((1.0, -2.0, 1.0))) / (math.sqrt(2) - 1)
    return LocalExponent(second, rest + error((0.0, 1.0, -1.0)))


def _constant(point: Point, batch: int) -> float:
    """n/(m^2 eta) times the variance at m = the age + 1."""
    return cast(float, point.value) * batch / (cast(int, point.length) ** 2 * cast(float, point.step))


def _points(subject: CompositeSubject, run: _Run, batch: int) -> list[Point]:
    """E Var L~ of the hottest replica by age, at the configured step."""
    replaced = subject.configuration.gradient.estimator.energies_replaced
    size = cast(int, subject.target.size)
    share = 1 / batch if replaced else (size - batch) / (size - 1) / batch if size > 1 else 0.0
    points = []
    for spread in run.found:
        values = spread.values[0, -1] * share
        error = float(values.std(ddof=1)) / math.sqrt(len(values))
        points.append(
            Point(
                step=subject.step,
                length=spread.age + 1,
                value=float(values.mean()),
                standard_error=error,
                kind="sampled",
            )
        )
    return points
