"""The variance of the difference of two energies: along a run, and over minibatches and step sizes."""

from __future__ import annotations

import math

import numpy as np
import statsmodels.api as sm

from sgverify.evidence import Panel, Series, Table
from sgverify.papers.vr_resgld.experiments.runs import run
from sgverify.papers.vr_resgld.experiments.settings import REFRESH, ExchangeEffort, PrintedFigure

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


__all__ = ["over_batches", "paths"]
