"""The statements of vr-resgld about its methods on image classifiers, beside what the comparison found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from reports.applications.classifier.comparison import MethodsCompared
from reports.applications.classifier.methods import TABLE, variant
from reports.applications.classifier.outcomes import Outcome
from reports.applications.judging import Statement, Test, bounded, decide, signed
from reports.applications.result import PaperFinding
from reports.applications.statistics import difference, mean_of

LAST_PART = 4
"""The last part of a run is its last quarter, where the printed variances are smallest."""

_SCALING = ("before temperature scaling", "after temperature scaling")


def findings(compared: MethodsCompared) -> tuple[PaperFinding, ...]:
    """The statements of the paper on its figures 3, 4 and 5 and its tables 1 and 2, beside what was found."""
    return decide(
        (
            *_variances(compared),
            *_coefficients(compared),
            *_accuracies(compared),
            *_uncertainties(compared),
        )
    )


def log_ratios(compared: MethodsCompared, label: str, above: str, below: str) -> np.ndarray:
    """log of one variance over another along a run, shape (times, C)."""
    # A variance of 0, where all losses are rounded to 0, has no logarithm: its seeds have no number.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(compared.monitor.of(label, above) / compared.monitor.of(label, below)))


def parts(compared: MethodsCompared) -> dict[str, np.ndarray]:
    """Which times are early (the step size is constant), late, and in the last quarter of the run."""
    at = np.array(compared.monitor.times)
    early = at <= compared.scaled.early
    return {
        "early": early,
        "late": ~early,
        "last": at > compared.scaled.steps * (1 - 1 / LAST_PART),
    }


def controlled(compared: MethodsCompared) -> dict[int, str]:
    """The methods with a control variate and c = -1 by their printed m."""
    often, _ = compared.scaled.refreshes
    first, second = compared.scaled.printed["refresh"]
    return {first: variant("VR", often), second: "VR-reSGHMC"}


def _variances(compared: MethodsCompared) -> list[Statement]:
    """Figure 3."""
    scaled, printed, of = compared.scaled, compared.scaled.printed["variance"], parts(compared)
    source = "vr-resgld section 5.2, Figure 3"
    ratio = mean_of(np.exp(log_ratios(compared, "reSGHMC", "plain", "doubled")).mean(0))
    exact = (1 / scaled.batch - 1 / scaled.size) / (1 / (2 * scaled.batch) - 1 / scaled.size)
    found = [
        Statement(
            statement="Minibatches of twice the size halve the variance of the energies",
            source=source,
            printed=f"'around {printed['doubled']:g} times'",
            found=f"{ratio} times",
            settled="undecided"
            if ratio is None
            else "reproduced"
            if round(ratio.value) == round(printed["doubled"])
            else "not reproduced",
            test=(
                f"at any state it is (1/n - 1/N)/(1/(2n) - 1/N) = {exact:.4g} for minibatches without replacement, n = "
                f"{scaled.batch}, N = {scaled.size}"
            ),
        )
    ]
    for m, label in controlled(compared).items():
        change = log_ratios(compared, label, "fixed", "plain")
        early, late = (change[of[part]].mean(0) for part in ("early", "late"))
        told = f"{_factor(early)} times as large early, {_factor(late)} late"
        share = max(printed["early"].values())
        found.append(
            _statement(
                f"While the step is large, the control variate of m = {m} takes away at most {100 * share:g} % of the "
                "variance, and adds none",
                source,
                "; ".join(f"{100 * value:g} % on {data}" for data, value in printed["early"].items())
                + " (m = 50); 'a similar pattern' (m = 392)",
                told,
                bounded(mean_of(-early), 1 / (1 - share), told="the variance is divided by a factor that"),
            )
        )
        found.append(
            _statement(
                f"The control variate of m = {m} takes away more as step and temperature fall",
                source,
                "'as the learning rate and the temperature decrease, the reduction of the variance gets more significant'",
                told,
                signed(difference(early, late), 1, told="the difference of the logarithms is"),
            )
        )
        most = -change[of["late"]].min(0)
        for data, times in printed["late"].items():
            found.append(
                _statement(
                    f"The control variate of m = {m} makes the variance up to {times:g} times smaller late, as on {data}",
                    source,
                    f"'up to {times:g} times on {data}' (m = 50); 'a similar pattern' (m = 392)",
                    f"up to {_factor(most)} times smaller",
                    bounded(mean_of(most), times, told="the largest factor"),
                )
            )
        against = log_ratios(compared, label, "fixed", "doubled")
        found.append(
            _statement(
                f"In the last quarter of the run m = {m} has a smaller variance than minibatches of twice the size",
                source,
                ", ".join(
                    f"from epoch {epoch} of {scaled.printed['epochs']} on {data}"
                    for data, epoch in printed["overtakes"].items()
                ),
                f"{_factor(against[of['last']].mean(0))} times as large; smaller for good {_overtakes(compared, against)}",
                signed(mean_of(-against[of["last"]].mean(0)), 1, told="the logarithm is less by"),
            )
        )
    return found


def _coefficients(compared: MethodsCompared) -> list[Statement]:
    """Figure 5."""
    scaled, printed, of = compared.scaled, compared.scaled.printed["adaptive"], parts(compared)
    source = "vr-resgld Appendix E.2, Figure 5"
    found = []
    for m, label in controlled(compared).items():
        rho = compared.monitor.of(label, "correlation")
        early, late = (rho[of[part]].mean(0) for part in ("early", "late"))
        found.append(
            _statement(
                f"Energies at the state and at the snapshot are nearly proportional late, and not early, m = {m}",
                source,
                f"the size of the correlation is 'around {printed['correlation']:g}' early and closer to 1 late",
                f"correlation {mean_of(early)} early, {mean_of(late)} late",
                signed(difference(late, early), 1),
            )
        )
    for m, refresh in zip(scaled.printed["refresh"], scaled.refreshes, strict=True):
        label = variant("adaptive VR", refresh)
        used, best = (log_ratios(compared, label, name, "fixed") for name in ("used", "best"))
        for part, told in (
            (
                "early",
                f"{printed['early']['CIFAR10']:.0%} on CIFAR10, {printed['early']['CIFAR100']:.0%} on CIFAR100",
            ),
            ("late", f"'10 % improvement' ({printed['late']:.0%})"),
        ):
            gain = 1 - np.exp(used[of[part]])
            found.append(
                _statement(
                    f"The learnt coefficient makes the variance smaller than c = -1 does, {part} in the run, m = {m}",
                    source,
                    told if part == "late" else f"by 'as much as' {told}",
                    (
                        f"{_factor(used[of[part]].mean(0))} times as large as with c = -1, at most {mean_of(gain.max(0))} less; "
                        f"the best coefficient would make it {_factor(best[of[part]].mean(0))} times as large"
                    ),
                    signed(mean_of(-used[of[part]].mean(0)), 1, told="the logarithm is less by"),
                )
            )
    return found


def _accuracies(compared: MethodsCompared) -> list[Statement]:
    """Table 1, and the number of swaps."""
    printed, of = compared.scaled.printed, compared.outcomes
    found = []
    for better, worse in (
        ("VR-reSGHMC", "reSGHMC"),
        ("cVR-reSGHMC", "cycSGHMC"),
        ("cVR-reSGHMC", "VR-reSGHMC"),
        ("reSGHMC", "SGHMC"),
        ("SGHMC", "M-SGD"),
    ):
        one, two = of[better].accuracy, of[worse].accuracy
        gaps = [a - b for a, b in zip(printed["accuracy"][better], printed["accuracy"][worse], strict=True)]
        found.append(
            _statement(
                f"Model averages of {better} are right more often than those of {worse}",
                "vr-resgld Table 1",
                f"by {min(gaps):+.2f} to {max(gaps):+.2f} per cent over six networks",
                f"{mean_of(one)} and {mean_of(two)} per cent",
                signed(difference(one, two), 1),
            )
        )
    many, few = of["VR-reSGHMC"].swaps, of["reSGHMC"].swaps
    if many is not None and few is not None:
        swaps = printed["swaps"]
        found.append(
            _statement(
                "VR-reSGHMC swaps more often than reSGHMC under the same setting",
                "vr-resgld section 5.2, swaps",
                f"around {swaps['VR-reSGHMC']} swaps, and around {swaps['reSGHMC']}",
                f"{mean_of(many)} and {mean_of(few)} swaps",
                signed(difference(many, few), 1),
            )
        )
    return found


def _uncertainties(compared: MethodsCompared) -> list[Statement]:
    """Figure 4 and Table 2."""
    brier, of = compared.scaled.printed["brier"], compared.outcomes
    best = of["cVR-reSGHMC"]
    found = []
    others = [label for label in TABLE if label in brier and label != best.label]
    for scale, when in enumerate(_SCALING):
        for label in others:
            found.append(
                _unseen(
                    compared,
                    f"cVR-reSGHMC is more often unsure (entropy above {compared.threshold:.3g}) about unseen classes than {label}, "
                    f"{when}",
                    "vr-resgld Figure 4",
                    "cVR-reSGHMC has the most predictions of high entropy, M-SGD the fewest",
                    (best.unsure[scale], of[label].unsure[scale]),
                    1,
                )
            )
        for label in others:
            place = 1 + 2 * scale
            found.append(
                _unseen(
                    compared,
                    f"cVR-reSGHMC has a smaller Brier score on unseen classes than {label}, {when}",
                    "vr-resgld Table 2",
                    f"{brier[best.label][place]:g} and {brier[label][place]:g}",
                    (best.brier_unseen[scale], of[label].brier_unseen[scale]),
                    -1,
                )
            )
    found.append(_maintained(brier, best, of["M-SGD"]))
    found.append(
        _unseen(
            compared,
            "Temperature scaling lowers the Brier score of cVR-reSGHMC on unseen classes",
            "vr-resgld Table 2",
            f"{brier[best.label][1]:g} before, {brier[best.label][3]:g} after",
            (best.brier_unseen[1], best.brier_unseen[0]),
            -1,
        )
    )
    return found


def _maintained(brier: Mapping[str, Any], best: Outcome, worst: Outcome) -> Statement:
    """Is the Brier score on seen classes below that of M-SGD?"""
    one, two = best.brier_seen[0], worst.brier_seen[0]
    return _statement(
        "cVR-reSGHMC has a smaller Brier score on seen classes than M-SGD, before temperature scaling",
        "vr-resgld Table 2",
        f"{brier[best.label][0]:g} and {brier[worst.label][0]:g}",
        f"{mean_of(one)} and {mean_of(two)}",
        signed(difference(one, two), -1),
    )


def _unseen(
    compared: MethodsCompared,
    statement: str,
    source: str,
    printed: str,
    pair: tuple[np.ndarray, np.ndarray],
    sign: int,
) -> Statement:
    """A statement on images of unseen classes; it holds where `sign` times the difference is positive."""
    if not compared.unseen:
        return Statement(
            statement=statement,
            source=source,
            printed=printed,
            found="no number",
            test="there are no images of unseen classes; give --unseen",
            settled="not tried",
        )
    found = f"{mean_of(pair[0])} and {mean_of(pair[1])}"
    return _statement(statement, source, printed, found, signed(difference(*pair), sign))


def _statement(statement: str, source: str, printed: str, found: str, test: Test | str) -> Statement:
    return Statement(statement=statement, source=source, printed=printed, found=found, test=test)


def _factor(logs: np.ndarray) -> str:
    """exp of the mean of logarithms over the seeds, with its standard error."""
    mean = mean_of(logs)
    if mean is None:
        return "(no number)"
    value = math.exp(mean.value)
    return f"{value:.3g}" + ("" if mean.error is None else f" ± {value * mean.error:.2g}")


def _overtakes(compared: MethodsCompared, against: np.ndarray) -> str:
    """From which of the printed epochs on a log ratio stays negative, seed by seed."""
    told = []
    for chain in range(against.shape[1]):
        above = np.flatnonzero(~(against[:, chain] < 0))
        after = 0 if not len(above) else int(above[-1]) + 1
        if after == len(against):
            told.append("never")
            continue
        epoch = compared.monitor.times[after] / compared.scaled.epoch * compared.scaled.stretched
        told.append(f"{epoch:.0f}")
    return f"from epoch {', '.join(told)} of {compared.scaled.printed['epochs']}, seed by seed"
