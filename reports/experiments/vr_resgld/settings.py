"""The settings of vr-resgld's simulations, section 5.1 and appendix G: printed ones, and ours where it prints none.

One run of SGLD or of replica exchange on the mixture: the coldest trace, swaps and variances along it.

The variance of the difference of two energies: along a run, and over minibatches and step sizes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import statsmodels.api as sm
import torch
from torch import Tensor

from sgverify.configuration import Configuration, load_configuration
from sgverify.evidence import Panel, Series, Table
from sgverify.samplers import Settings, fixed, one_thread
from sgverify.samplers.composites.exchange import Exchange
from sgverify.samplers.run.leg import RunObserver
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes import Scheme
from sgverify.schemes.composites import Composite
from sgverify.schemes.loading import load_step
from sgverify.targets import Target, build_target

TARGET = {"name": "tied-means-mixture"}
"""N = 1e5, phi = 20, sigma = 5, beta = -5: the catalogue's defaults."""

START = 30.0
"""The printed start of SGLD; the start of the two replicas is not printed."""

APART = (30.0, -10.0)
"""One replica to each mode, as far outside as the printed start: the other way to start two replicas."""

REFRESH = 40


@dataclass(frozen=True)
class PrintedFigure:
    """The settings of one figure: temperatures of the two replicas, the step size, and F for each way to swap."""

    tau_1: float
    tau_2: float
    step: float
    correction_reduced: float
    correction_plain: float


SECTION_5_1 = PrintedFigure(tau_1=10, tau_2=1000, step=1e-7, correction_reduced=1, correction_plain=100)
APPENDIX_G = PrintedFigure(tau_1=1, tau_2=500, step=1e-5, correction_reduced=1, correction_plain=500)


@dataclass(frozen=True)
class ExchangeEffort:
    """Steps and chains of a trace, the minibatch, the steps and chains over which a variance is averaged, and how many draws
    of the data the barrier is looked at over.

    The paper prints neither the minibatch nor the number of steps, nor which periods m its paths of variances have. It averages
    variances over 10 realisations.
    """

    length: int
    ladder_length: int
    chains: int
    batch: int
    settling: int
    realisations: int
    batches: tuple[int, ...]
    factors: tuple[float, ...]
    periods: tuple[int, ...]
    draws: int


EFFORTS = {
    "quick": ExchangeEffort(60, 40, 2, 50, 20, 4, (50, 100), (1.0, 4.0), (10, 20), 4),
    "default": ExchangeEffort(600, 400, 4, 200, 160, 10, (100, 200, 400), (1.0, 4.0), (20, 40, 80), 24),
    "full": ExchangeEffort(
        10_000, 5_000, 8, 500, 400, 10, (250, 500, 1000, 2000), (1.0, 4.0, 16.0), (20, 40, 80, 160), 24
    ),
}


def configured(
    *,
    temperature: float,
    step: float,
    batch: int,
    chains: int,
    exchange: dict[str, Any] | None,
    places: tuple[float, ...] = (START,),
) -> Configuration:
    """The mixture at a temperature; all replicas start at one place, or each at its own."""
    given: dict[str, Any] = {
        "target": TARGET,
        "temperature": temperature,
        "gradient": {"kind": "iid", "batch": batch},
        "chains": chains,
        "schedule": {"step": step},
    }
    if exchange is not None:
        given["exchange"] = exchange
    starts = [_start(place, temperature) for place in places]
    return load_configuration({**given, "start": starts if len(starts) > 1 else starts[0]})


def _start(place: float, temperature: float) -> float:
    """A place in standard deviations of exp(-U/T) from its mean, as the configuration wants it."""
    target = mixture()
    return float((place - target.location_float64(temperature)[0]) / target.spread_float64(temperature)[0])


@cache
def mixture(data_seed: int = 0) -> Target:
    """The posterior of section 5.1, of one draw of its data."""
    return build_target(load_configuration(None, target={**TARGET, "data_seed": data_seed}).target)


POINTS = 400
"""The number of states of a trace that are kept."""


@dataclass
class ExchangeTrail(RunObserver):
    """A watch that keeps every n-th state and counts every swap.

    `theta` of every replica, shape (K, R, C); `variance` of the energies' difference between the two coldest, shape (K, C);
    `tried` and `accepted` swaps of each pair, shape (R - 1,); `changes`: how often the coldest changed the mode, shape (C,);
    `crossings`: how often a state went over the middle by its own motion, which swaps leave alone, shape (C,).
    """

    ensemble: Ensemble
    every: int
    middle: float
    numbers: list[int] = field(default_factory=list)
    theta: list[np.ndarray] = field(default_factory=list)
    variance: list[np.ndarray] = field(default_factory=list)
    tried: np.ndarray | int = 0
    accepted: np.ndarray | int = 0
    changes: np.ndarray | int = 0
    crossings: np.ndarray | int = 0
    _above: np.ndarray | None = None

    def show(self, rows: tuple[int, ...], number: int, state: tuple[Tensor, ...], steps: np.ndarray) -> None:
        """See `RunObserver.show`."""
        theta = state[0][..., 0]
        above = (theta > self.middle).numpy().copy()
        if self._above is not None:
            self.changes = self.changes + (above[0] != self._above[0])
            self.crossings = self.crossings + abs(above.sum(axis=0) - self._above.sum(axis=0))
        self._above = above
        hooks = self.ensemble.hooks
        if isinstance(hooks, Exchange):
            recorded = hooks.recorded()
            if "swapped" in recorded:
                chance = recorded["swap_probability"][:-1]
                self.tried = self.tried + chance.isfinite().sum(1).numpy()
                self.accepted = self.accepted + (recorded["swapped"][:-1] > 0).sum(1).numpy()
        if number % self.every == 0:
            self.numbers.append(number)
            self.theta.append(theta.clone().numpy())
            if isinstance(hooks, Exchange):
                self.variance.append(hooks.variance[0].clone().numpy())


def run(
    name: str,
    *,
    temperature: float,
    step: float,
    length: int,
    batch: int,
    chains: int,
    middle: float,
    exchange: dict[str, Any] | None = None,
    every: int | None = None,
    places: tuple[float, ...] = (START,),
) -> ExchangeTrail:
    """Move a scheme or composite of the catalogue from where it is told, and keep what `ExchangeTrail` keeps."""
    c = configured(
        temperature=temperature, step=step, batch=batch, chains=chains, exchange=exchange, places=places
    )
    scheme = load_step(name)
    assert isinstance(scheme, (Scheme, Composite))
    ensemble = Ensemble(scheme, mixture(), fixed([step], [length]), Settings.of(c))
    trail = ExchangeTrail(ensemble, every or max(1, length // POINTS), middle)
    with one_thread(), torch.no_grad():
        for block in ensemble.blocks(trail):
            if block.diverged:
                raise ArithmeticError(str(next(iter(block.diverged.values()))))
    return trail


SIZE = 100_000


def paths(printed: PrintedFigure, effort: ExchangeEffort) -> tuple[Panel, Table]:
    """The mean over chains of sigma^2 along a run, for several refresh periods m and for plain energies."""
    length = effort.settling * 4
    series, rows = [], []
    for label, scheme, period in (
        *((f"m = {m}", "vr-resgld", m) for m in effort.periods),
        ("plain energies", "resgld", REFRESH),
    ):
        numbers, mean, error = _measured(scheme, printed, effort, effort.batch, period, printed.step, length)
        series.append(Series(label, "sampled", numbers, mean, error))
        rows.append((label, mean[-1], error[-1]))
    plain = rows[-1][1]
    return (
        Panel("Variance of the energies' difference", "step", "sigma^2", tuple(series), x_scale="linear"),
        Table(
            "Variance of the energies' difference at the end of the paths",
            ("energies", "sigma^2", "standard error", "plain energies' share"),
            tuple((*row, plain / row[1]) for row in rows),
        ),
    )


def over_batches(printed: PrintedFigure, effort: ExchangeEffort) -> tuple[Panel, Table]:
    """sigma^2 of variance-reduced energies over n/N and the step size, with the exponents of a log-log regression."""
    series: list[Series] = []
    logs: list[tuple[float, float, float]] = []
    for factor in effort.factors:
        eta = printed.step * factor
        values, errors = [], []
        for batch in effort.batches:
            _, mean, error = _measured("vr-resgld", printed, effort, batch, REFRESH, eta, effort.settling)
            values.append(mean[-1])
            errors.append(error[-1])
            logs.append((math.log(batch), math.log(eta), math.log(mean[-1])))
        shares = tuple(batch / SIZE for batch in effort.batches)
        series.append(Series(f"eta = {eta:g}", "sampled", shares, tuple(values), tuple(errors)))
    table = np.array(logs)
    fitted = sm.OLS(table[:, 2], sm.add_constant(table[:, :2])).fit()
    low, high = fitted.conf_int()[1:].T
    return (
        Panel("Variance of variance-reduced energies", "n / N", "sigma^2", tuple(series)),
        Table(
            "Exponents of sigma^2, log-log regression (lemma 1 bounds it by m^2 eta / n)",
            ("of", "exponent", "95 % from", "to"),
            (
                ("the minibatch n", float(fitted.params[1]), float(low[0]), float(high[0])),
                ("the step size eta", float(fitted.params[2]), float(low[1]), float(high[1])),
            ),
        ),
    )


def _measured(
    scheme: str,
    printed: PrintedFigure,
    effort: ExchangeEffort,
    batch: int,
    period: int,
    step: float,
    length: int,
) -> tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]]:
    """Steps, means over the realisations and their standard errors, where the variance is measured."""
    exchange = {
        "ladder": [1.0, printed.tau_2 / printed.tau_1],
        "refresh": period,
        "every": period,
        "correction": printed.correction_reduced,
    }
    trail = run(
        scheme,
        temperature=printed.tau_1,
        step=step,
        length=max(length, 2 * period),
        batch=batch,
        chains=effort.realisations,
        middle=0.0,
        exchange=exchange,
        every=period,
    )
    values = np.array(trail.variance)
    return (
        tuple(trail.numbers),
        tuple(values.mean(axis=1).tolist()),
        tuple((values.std(axis=1, ddof=1) / values.shape[1] ** 0.5).tolist()),
    )
