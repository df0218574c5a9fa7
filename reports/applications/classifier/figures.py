"""The studies of a run: variances along it, what the adaptive coefficient gains, and the uncertainty on unseen classes."""

from __future__ import annotations

import numpy as np

from reports.applications.classifier.comparison import MethodsCompared
from reports.applications.classifier.findings import controlled, log_ratios
from reports.applications.classifier.methods import TABLE, variant
from reports.applications.classifier.outcomes import curve_at
from reports.applications.statistics import Mean, mean_of
from sgverify.evidence import Panel, Series, Study, Table

_SCALING = ("as predicted", "after temperature scaling")


def studies(compared: MethodsCompared) -> tuple[Study, ...]:
    """All studies of a run."""
    found = [variances(compared), coefficients(compared), accuracies(compared)]
    return (*found, uncertainty(compared)) if compared.unseen else tuple(found)


def variances(compared: MethodsCompared) -> Study:
    """Figure 3."""
    printed = controlled(compared)
    series = [
        _along(compared, "reSGHMC, n", "reSGHMC", "plain"),
        _along(compared, "reSGHMC, 2n", "reSGHMC", "doubled"),
        *(_along(compared, f"VR-reSGHMC, m = {m} scaled", label, "fixed") for m, label in printed.items()),
    ]
    ratios = [_ratio(compared, f"m = {m} scaled", label, "fixed", "plain") for m, label in printed.items()]
    return Study(
        id="classifier/variance",
        title="Variance of the energies that a swap compares",
        source="vr-resgld Figure 3",
        summary=(
            "The variance of the difference of the replicas' energies over all minibatches, exactly, from the losses of all "
            "training images; geometric means over the seeds. m = 50 and 392 of "
            f"{compared.scaled.printed['batch']} images are here {compared.scaled.refreshes[0]} and "
            f"{compared.scaled.refreshes[1]} steps, the same share of an epoch; the control "
            "variates are as old as they get, just before they are renewed. The right panel compares with and without the control "
            "variate in the same states."
        ),
        panels=(
            Panel("variance", "epoch, of the printed ones", "variance", tuple(series), x_scale="linear"),
            Panel(
                "with the control variate, over without",
                "epoch, of the printed ones",
                "ratio of variances",
                tuple(ratios),
                x_scale="linear",
            ),
        ),
    )


def coefficients(compared: MethodsCompared) -> Study:
    """Figure 5."""
    scaled = compared.scaled
    correlation, gain, best = [], [], []
    for m, refresh in zip(scaled.printed["refresh"], scaled.refreshes, strict=True):
        label = variant("adaptive VR", refresh)
        correlation.append(_mean_along(compared, f"correlation, m = {m} scaled", label, "correlation", 1.0))
        correlation.append(_mean_along(compared, f"-c learnt, m = {m} scaled", label, "coefficient", -1.0))
        gain.append(_ratio(compared, f"learnt c, m = {m} scaled", label, "used", "fixed"))
        best.append(_ratio(compared, f"best c, m = {m} scaled", label, "best", "fixed"))
    return Study(
        id="classifier/coefficient",
        title="Correlation of current and snapshot energies, and what the learnt coefficient gains",
        source="vr-resgld Figure 5",
        summary=(
            "Of the first replica, the correlation over all training images of their losses at the state and at the snapshot, and "
            "the coefficient that has been learnt; of the difference of both replicas, its variance with the learnt coefficient, "
            "and with the best one of each replica, over that with c = -1. Runs of the adaptive method."
        ),
        panels=(
            Panel(
                "correlation and coefficient",
                "epoch, of the printed ones",
                "correlation, -c",
                tuple(correlation),
                x_scale="linear",
                y_scale="linear",
            ),
            Panel(
                "variance over that with c = -1",
                "epoch, of the printed ones",
                "ratio of variances",
                (*gain, *best),
                x_scale="linear",
            ),
        ),
    )


def accuracies(compared: MethodsCompared) -> Study:
    """Tables 1 and 2."""
    printed = compared.scaled.printed
    cells: list[tuple[str | int | float | None, ...]] = []
    for label in (*TABLE, *(label for label in compared.outcomes if label not in TABLE)):
        row = compared.outcomes[label]
        swaps = None if row.swaps is None else mean_of(row.swaps.astype(np.float64))
        table = printed["accuracy"].get(label)
        cells.append(
            (
                label,
                _cell(mean_of(row.accuracy)),
                _cell(mean_of(row.last)),
                _cell(mean_of(row.brier_seen[0])),
                _cell(mean_of(row.brier_seen[1])),
                _cell(mean_of(row.brier_unseen[0])),
                _cell(mean_of(row.brier_unseen[1])),
                None if swaps is None else str(swaps),
                None if table is None else f"{table[0]:g}, {table[3]:g}",
            )
        )
    return Study(
        id="classifier/scores",
        title="Accuracy and Brier scores of model averages",
        source="vr-resgld Tables 1 and 2",
        summary=(
            "Means over the seeds with standard errors. Brier scores before and after temperature scaling by "
            f"{printed['scale']:g}; on unseen classes the least possible one is 1/R. The printed numbers are those of ResNet-20 on "
            "CIFAR10 and CIFAR100: their order is to be compared, not their size."
        ),
        tables=(
            Table(
                "Model averages",
                (
                    "method",
                    "accuracy, %",
                    "last state, %",
                    "Brier seen",
                    "seen, scaled",
                    "Brier unseen",
                    "unseen, scaled",
                    "swaps",
                    "printed accuracy, %",
                ),
                tuple(cells),
            ),
        ),
    )


def uncertainty(compared: MethodsCompared) -> Study:
    """Figure 4."""
    classes = compared.classes
    grid = curve_at(classes)
    panels = []
    for scale, name in enumerate(_SCALING):
        series = []
        for label in TABLE:
            values = compared.outcomes[label].curve[scale]
            means = [mean_of(values[:, place]) for place in range(len(grid))]
            series.append(_series(label, grid, means))
        panels.append(
            Panel(name, "entropy in nats", "share at most", tuple(series), x_scale="linear", y_scale="linear")
        )
    return Study(
        id="classifier/entropy",
        title="Entropy of predictions about unseen classes: the distribution function",
        source="vr-resgld Figure 4",
        summary=(
            f"Means over the seeds. The largest entropy is log {classes} = {grid[-1]:.3g}; the printed mark of 1.5 nats for 10 "
            f"classes is {compared.threshold:.3g} here. A curve that lies lower is less sure."
        ),
        panels=tuple(panels),
    )


def _epochs(compared: MethodsCompared) -> tuple[float, ...]:
    scaled = compared.scaled
    return tuple(round(number / scaled.epoch * scaled.stretched, 3) for number in compared.monitor.times)


def _along(compared: MethodsCompared, name: str, label: str, quantity: str) -> Series:
    """The geometric mean of a variance over the seeds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means = [mean_of(values) for values in np.log(compared.monitor.of(label, quantity))]
    return _exponentiated(name, _epochs(compared), means)


def _ratio(compared: MethodsCompared, name: str, label: str, above: str, below: str) -> Series:
    means = [mean_of(values) for values in log_ratios(compared, label, above, below)]
    return _exponentiated(name, _epochs(compared), means)


def _mean_along(compared: MethodsCompared, name: str, label: str, quantity: str, sign: float) -> Series:
    means = [mean_of(sign * values) for values in compared.monitor.of(label, quantity)]
    return _series(name, np.array(_epochs(compared)), means)


def _exponentiated(name: str, at: tuple[float, ...], means: list[Mean | None]) -> Series:
    """exp of means of logarithms; a standard error e of the logarithm is one of the relative size e."""
    values = [None if mean is None else float(np.exp(mean.value)) for mean in means]
    errors = [
        None if mean is None or mean.error is None or value is None else value * mean.error
        for mean, value in zip(means, values, strict=True)
    ]
    return _points(name, at, values, errors)


def _series(name: str, at: np.ndarray, means: list[Mean | None]) -> Series:
    values = [None if mean is None else mean.value for mean in means]
    errors = [None if mean is None else mean.error for mean in means]
    return _points(name, tuple(float(value) for value in at), values, errors)


def _points(
    name: str, at: tuple[float, ...], values: list[float | None], errors: list[float | None]
) -> Series:
    def short(value: float | None) -> float | None:
        return None if value is None else float(f"{value:.4g}")

    told = tuple(short(error) for error in errors) if any(error is not None for error in errors) else ()
    return Series(name, "sampled", at, tuple(short(value) for value in values), told)


def _cell(mean: Mean | None) -> str | None:
    return None if mean is None else str(mean)
