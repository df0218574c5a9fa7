"""What does vr-resgld say of its methods on image classifiers, and is it so here? With standard errors over the seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from reports.applications.classifier.comparison import MethodsCompared
from reports.applications.classifier.methods import TABLE, variant
from reports.applications.classifier.outcomes import Outcome
from reports.applications.result import PaperFinding, Reproduced
from reports.applications.statistics import CONFIDENCE, Mean, difference, mean_of, sign_of

LAST_PART = 4
"""The last part of a run is its last quarter, where the printed variances are smallest."""

ROUNDING = 1e-9
"""A standard error of this share of a difference or less is rounding: shares of few images may differ alike for every seed."""

_SCALING = ("before temperature scaling", "after temperature scaling")


def findings(compared: MethodsCompared) -> tuple[PaperFinding, ...]:
    """The statements of the paper on its figures 3, 4 and 5 and its tables 1 and 2, beside what was found."""
    return (
        *_variances(compared),
        *_coefficients(compared),
        *_accuracies(compared),
        *_uncertainties(compared),
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


def _variances(compared: MethodsCompared) -> list[PaperFinding]:
    """Figure 3."""
    scaled, printed, of = compared.scaled, compared.scaled.printed["variance"], parts(compared)
    source = "vr-resgld section 5.2, Figure 3"
    ratio = mean_of(np.exp(log_ratios(compared, "reSGHMC", "plain", "doubled")).mean(0))
    exact = (1 / scaled.batch - 1 / scaled.size) / (1 / (2 * scaled.batch) - 1 / scaled.size)
    found = [
        PaperFinding(
            statement="Minibatches of twice the size halve the variance of the energies",
            source=source,
            printed=f"'around {printed['doubled']:g} times'",
            found=f"{ratio} times",
            verdict="reproduced"
            if ratio is not None and round(ratio.value) == round(printed["doubled"])
            else "not reproduced",
            reason=(
                f"at any state it is (1/n - 1/N)/(1/(2n) - 1/N) = {exact:.4g} for minibatches without replacement, n = "
                f"{scaled.batch}, N = {scaled.size}"
            ),
        )
    ]
    for m, label in controlled(compared).items():
        change = log_ratios(compared, label, "fixed", "plain")
        early, late = (change[of[part]].mean(0) for part in ("early", "late"))
        told = f"{_factor(early)} times as large early, {_factor(late)} late"
        found.append(
            _judged(
                f"The control variate of m = {m} takes away less than 37 % of the variance while the step is large",
                source,
                "37 % on CIFAR100, no difference on CIFAR10 (m = 50)",
                told,
                mean_of(early - math.log(1 - 0.37)),
            )
        )
        found.append(
            _judged(
                f"The control variate of m = {m} takes away more as step and temperature fall",
                source,
                "'as the learning rate and the temperature decrease, the reduction of the variance gets more significant'",
                told,
                difference(early, late),
            )
        )
        most = -change[of["late"]].min(0)
        for data, times in printed["late"].items():
            found.append(
                _judged(
                    f"The control variate of m = {m} makes the variance up to {times:g} times smaller late, as on {data}",
                    source,
                    f"'up to {times:g} times on {data}' (m = 50); 'a similar pattern' (m = 392)",
                    f"up to {_factor(most)} times smaller",
                    mean_of(most - math.log(times)),
                )
            )
        against = log_ratios(compared, label, "fixed", "doubled")
        found.append(
            _judged(
                f"In the last quarter of the run m = {m} has a smaller variance than minibatches of twice the size",
                source,
                ", ".join(
                    f"from epoch {epoch} of {scaled.printed['epochs']} on {data}"
                    for data, epoch in printed["overtakes"].items()
                ),
                f"{_factor(against[of['last']].mean(0))} times as large; smaller for good {_overtakes(compared, against)}",
                mean_of(-against[of["last"]].mean(0)),
            )
        )
    return found


def _coefficients(compared: MethodsCompared) -> list[PaperFinding]:
    """Figure 5."""
    scaled, printed, of = compared.scaled, compared.scaled.printed["adaptive"], parts(compared)
    source = "vr-resgld Appendix E.2, Figure 5"
    found = []
    for m, label in controlled(compared).items():
        rho = compared.monitor.of(label, "correlation")
        early, late = (rho[of[part]].mean(0) for part in ("early", "late"))
        found.append(
            _judged(
                f"Energies at the state and at the snapshot are nearly proportional late, and not early, m = {m}",
                source,
                f"the size of the correlation is 'around {printed['correlation']:g}' early and closer to 1 late",
                f"correlation {mean_of(early)} early, {mean_of(late)} late",
                difference(late, early),
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
                _judged(
                    f"The learnt coefficient makes the variance smaller than c = -1 does, {part} in the run, m = {m}",
                    source,
                    told if part == "late" else f"by 'as much as' {told}",
                    (
                        f"{_factor(used[of[part]].mean(0))} times as large as with c = -1, at most {mean_of(gain.max(0))} less; "
                        f"the best coefficient would make it {_factor(best[of[part]].mean(0))} times as large"
                    ),
                    mean_of(-used[of[part]].mean(0)),
                )
            )
    return found


def _accuracies(compared: MethodsCompared) -> list[PaperFinding]:
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
            _judged(
                f"Model averages of {better} are right more often than those of {worse}",
                "vr-resgld Table 1",
                f"by {min(gaps):+.2f} to {max(gaps):+.2f} per cent over six networks",
                f"{mean_of(one)} and {mean_of(two)} per cent",
                difference(one, two),
            )
        )
    many, few = of["VR-reSGHMC"].swaps, of["reSGHMC"].swaps
    if many is not None and few is not None:
        swaps = printed["swaps"]
        found.append(
            _judged(
                "VR-reSGHMC swaps more often than reSGHMC under the same setting",
                "vr-resgld section 5.2, swaps",
                f"around {swaps['VR-reSGHMC']} swaps, and around {swaps['reSGHMC']}",
                f"{mean_of(many)} and {mean_of(few)} swaps",
                difference(many, few),
            )
        )
    return found


def _uncertainties(compared: MethodsCompared) -> list[PaperFinding]:
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


def _maintained(brier: Mapping[str, Any], best: Outcome, worst: Outcome) -> PaperFinding:
    """Is the Brier score on seen classes below that of M-SGD?"""
    one, two = best.brier_seen[0], worst.brier_seen[0]
    return _judged(
        "cVR-reSGHMC has a smaller Brier score on seen classes than M-SGD, before temperature scaling",
        "vr-resgld Table 2",
        f"{brier[best.label][0]:g} and {brier[worst.label][0]:g}",
        f"{mean_of(one)} and {mean_of(two)}",
        difference(two, one),
    )


def _unseen(
    compared: MethodsCompared,
    statement: str,
    source: str,
    printed: str,
    pair: tuple[np.ndarray, np.ndarray],
    sign: int,
) -> PaperFinding:
    """A statement on images of unseen classes; it holds where `sign` times the difference is positive."""
    if not compared.unseen:
        return PaperFinding(
            statement=statement,
            source=source,
            printed=printed,
            found="no number",
            verdict="not tried",
            reason="there are no images of unseen classes; give --unseen",
        )
    return _judged(
        statement, source, printed, f"{mean_of(pair[0])} and {mean_of(pair[1])}", difference(*pair), sign
    )


def _judged(
    statement: str, source: str, printed: str, found: str, gap: Mean | None, sign: int = 1
) -> PaperFinding:
    """The verdict on a statement that holds where `sign` times `gap` is positive."""
    verdict: Reproduced = "undecided"
    known = sign_of(gap)
    if gap is None:
        reason = "chains have diverged, or a variance is 0"
    elif known is None:
        reason = "one chain has no standard error"
    elif gap.error is not None and gap.error <= ROUNDING * abs(gap.value):
        reason = (
            f"the difference is {gap.value:+.3g} for each of {gap.count} seeds, which gives no standard error"
        )
    elif known == 0:
        reason = (
            f"the difference is {_told(gap)}: no sign at {CONFIDENCE:.0%} confidence over {gap.count} seeds"
        )
    else:
        verdict = "reproduced" if known == sign else "not reproduced"
        reason = f"the difference is {_told(gap)} over {gap.count} seeds"
    return PaperFinding(
        statement=statement, source=source, printed=printed, found=found, verdict=verdict, reason=reason
    )


def _told(gap: Mean) -> str:
    return f"{gap.value:+.3g} ± {gap.error:.2g}" if gap.error is not None else f"{gap.value:+.3g}"


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
