"""The verdict of a run: may its draws be used, what speaks against it, and what to do next?

A run is examined from three sides, none of which sees what the others do: what was predicted of its law before it was drawn (the
bias of means and widths, the steps to forget the start), what its chains say of each other (R-hat, effective sample size), and what
was found against what was predicted (the widths, an escape). Each side is a `RunFinding`, whose size stands beside two thresholds,
and the word is that of the worst.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

import numpy as np

from sgverify.advice.covariates import scale_line
from sgverify.advice.plans.model import MOST
from sgverify.advice.widths import SHIFTED, SMALL, StepBias
from sgverify.draws.inference_data import CHAINS, arviz
from sgverify.draws.summary import FEWEST, diagnosed, labels_of, r_hats
from sgverify.evidence.documents import DrawsVerdict, Word
from sgverify.subject.subject import Subject

WORDS: tuple[Word, ...] = get_args(Word)

RHAT = (1.01, 1.1)
"""Vehtari, Gelman, Simpson, Carpenter, Bürkner 2021, section 4.3; Gelman, Carlin et al. 2013, section 11.4. R-hat of m half chains
that are worth n independent draws is sqrt(1 + m/n) where they agree (Vats, Knudson 2021, section 3): twice that m is no sign."""

ESS = 400.0
"""Vehtari et al. 2021, section 4.3. A mean is then known to a twentieth of a standard deviation, a standard deviation to 4 %."""

EACH = 5.0
"""The independent draws that a chain is worth at least, so that its halves can be compared: ten times fewer than Vehtari et al.
2021 ask of each half, as many short chains say as much of their agreement as few long ones."""

WIDTH = (SMALL, 0.2)
"""The relative error of a standard deviation: that of 200 independent draws, and that of 13."""

MEAN = (SHIFTED, 0.5)
"""The error of a mean, in standard deviations: that of 100 independent draws, and that of 4."""

FOUND = 0.1
"""A spread that is off the predicted one by this share and three standard errors refutes the prediction, which is to be closer."""


@dataclass(frozen=True)
class RunFinding:
    """One reason, with its place among `WORDS`, and the settings of the run that would mend it."""

    level: int
    reason: str
    settings: Mapping[str, Any] = field(default_factory=dict)


class RunVerdict(DrawsVerdict):
    """`TRUST`, `CHECK` or `DO NOT TRUST`, for the worst of the findings."""

    @property
    def line(self) -> str:
        """The verdict in one line."""
        return f"{self.word}: {self.reason}{f'; next: {self.next}' if self.next else ''}"

    def document(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def judge(
    draws: Any, subject: Subject, bias: StepBias | None, unknown: str | None, named: bool
) -> RunVerdict:
    """The verdict on draws of a subject whose bias was predicted; `unknown` says why it was not. `named`: a command draws them."""
    run = _Run(draws, subject, bias)
    findings = [*run.escape(), *run.predicted(unknown), *run.of_chains(), *run.against_prediction()]
    if subject.changes_along_run is not None:
        # Of draws of many laws, chains need not agree.
        why = f"the law of the draws changes along the run: {subject.changes_along_run}"
        findings = [*run.escape(), RunFinding(1, why)]
    worst = max(findings, key=lambda finding: finding.level, default=None)
    if worst is None or not worst.level:
        reason, onward = run.summary(), ""
    else:
        others = sum(finding.level > 0 for finding in findings) - 1
        reason = worst.reason + (f" (and {others} more)" if others else "")
        onward = run.command(run.rescaled(worst.settings), named=named)
    known = bias is not None and bias.distrust is None and bool(bias.factors)
    return RunVerdict(
        WORDS[0 if worst is None else worst.level],
        reason,
        onward,
        run.r_hat[0],
        run.ess[0],
        abs(bias.share) if bias is not None and known else None,
        abs(bias.shift[0]) if bias is not None and known else None,
    )


def _level(size: float, bounds: tuple[float, float]) -> int:
    return int(size > bounds[0]) + int(size > bounds[1])


class _Run:
    """The draws of a run, with what was predicted of them."""

    def __init__(self, draws: Any, subject: Subject, bias: StepBias | None) -> None:
        self.attributes, self.subject, self.bias = dict(draws.attrs), subject, bias
        self.known = bias is not None and bias.distrust is None
        self.step = float(self.attributes.get("step_size", math.nan))
        self.weighted = "log_weight" in draws.sample_stats
        self.r_hat: tuple[float | None, str] = (None, "")
        self.ess: tuple[float | None, str] = (None, "")
        self.sd = np.zeros(0)
        self.chains, self.kept = draws.posterior.sizes["chain"], draws.posterior.sizes["draw"]
        if self.kept >= FEWEST and not self.attributes["diverged"]:
            part = diagnosed(draws.posterior).load()
            self.sd = np.concatenate(
                [np.ravel(value) for value in part.std(CHAINS, ddof=1).data_vars.values()]
            )
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                self.efficiency = arviz().ess(part, method="bulk")
                tails = arviz().ess(part, method="tail")
                self.r_hat = _worst(r_hats(draws.posterior), 1)
            # A part stands for all draws.
            share = part.sizes["chain"] * part.sizes["draw"] / (self.chains * self.kept)
            found = [_worst(each, -1) for each in (self.efficiency, tails)]
            low, name = min(found, key=lambda item: math.inf if item[0] is None else item[0])
            self.ess = (None if low is None else low / share, name)

    def escape(self) -> Iterator[RunFinding]:
        """Chains that left every bound."""
        if self.attributes["diverged"]:
            yield RunFinding(2, f"{self.attributes['diverged']}: chains escape", self._smaller())

    def predicted(self, unknown: str | None) -> Iterator[RunFinding]:
        """The bias of the law of the chain, and what is left of the start."""
        bias = self.bias
        if bias is None or not self.known:
            why = unknown if bias is None else f"no Gaussian describes them, {bias.distrust}"
            yield RunFinding(1, f"the widths of the draws are not predicted: {why}", self._compared())
            return
        if bias.beyond:
            yield RunFinding(2, f"schedule.step={bias.step:g} {bias.fault}", self._smaller())
            return
        shift, _ = bias.shift
        width = math.expm1(abs(math.log1p(bias.share)))
        level = max(_level(width, (WIDTH[0] * 1.01, WIDTH[1])), _level(abs(shift), MEAN))
        yield RunFinding(level, f"schedule.step={bias.step:g} {bias.fault}", self._smaller())
        if bias.near and not self.subject.target.quadratic:
            yield RunFinding(
                1,
                f"schedule.step={bias.step:g} is near the stability limit, {bias.limit:.3g}",
                self._smaller(),
            )
        if bias.forgetting is not None:
            yield self._of_start(bias.forgetting)

    def _of_start(self, forgetting: float) -> RunFinding:
        c = self.subject.configuration
        done, burnt, away = int(self.attributes["steps_done"]), int(c.burn_in), abs(float(c.start_of()))
        long = max(1, done - burnt)
        left = away * math.exp(-burnt / forgetting) * min(1.0, forgetting / long)
        # As many steps, after a burn-in of a tenth of them, as leave nothing of the start.
        wanted = math.ceil(forgetting * max(50.0, math.log(max(away, 1.0) / SHIFTED)))
        settings: dict[str, Any] = {
            "burn_in": wanted // 10,
            "steps": max(int(c.steps), wanted + wanted // 10),
        }
        settings = {"target.whiten": True} if wanted > MOST else settings
        if long < forgetting:
            said = (
                f"the slowest direction forgets its start in {forgetting:,.0f} steps, and {long:,} were kept"
            )
            return RunFinding(2, said, settings)
        said = f"the start, {away:g} sd from the mean, shifts averages by {left:.2g} sd: it is forgotten in {forgetting:,.0f} steps"
        if "steps" in settings:
            settings["steps"] = max(int(c.steps), 2 * settings["burn_in"])
        return RunFinding(_level(left, MEAN), said, settings)

    def of_chains(self) -> Iterator[RunFinding]:
        """R-hat and the effective sample size."""
        longer = {"steps": 4 * int(self.subject.configuration.steps)}
        if self.kept < FEWEST and not self.attributes["diverged"]:
            yield RunFinding(1, f"{self.kept} draws of each chain are too few to compare", longer)
        if not len(self.sd):
            return
        (rhat, where), (ess, least) = self.r_hat, self.ess
        if rhat is None:
            what = "one chain cannot be compared with others" if self.chains < 2 else f"{where} has no R-hat"
            yield RunFinding(1, what, {"chains": 4} if self.chains < 2 else longer)
        else:
            worth = (ess or 0.0) / self.chains
            alike = math.sqrt(1 + 4 / worth) if worth >= EACH else 1.0
            level = _level(rhat, (max(RHAT[0], alike), max(RHAT[1], alike)))
            yield RunFinding(level, f"R-hat is {rhat:.3g} in {where}: the chains disagree", longer)
        if ess is not None and ess < ESS:
            steps = int(self.subject.configuration.steps)
            burnt = int(self.subject.configuration.burn_in)
            wanted = float(f"{burnt + (steps - burnt) * 1.2 * ESS / max(ess, 1.0):.2g}")
            said = f"all draws are worth {ess:,.0f} independent ones in {least}, fewer than {ESS:g}"
            yield RunFinding(1, said, {"steps": int(wanted)})
        if ess is not None and ess < EACH * self.chains:
            yield RunFinding(
                1, f"a chain is worth {ess / self.chains:.2g} independent draws in {least}", longer
            )

    def against_prediction(self) -> Iterator[RunFinding]:
        """The spread that was found, against the predicted one and that of exp(-U/T)."""
        bias = self.bias
        if bias is None or bias.foreign or not 0 < len(self.sd) == len(bias.sd) or self.weighted:
            return
        true = np.asarray(bias.sd)
        error = 3 / np.sqrt(2 * np.maximum(4.0, np.ravel(self.efficiency.to_array().values)))
        compared = [(true, WIDTH[1], 2, "under exp(-U/T)")]
        if self.known and bias.factors:
            compared.append((true * np.asarray(bias.factors), FOUND, 1, "predicted at this step"))
        for wanted, bound, level, beside in compared:
            off = np.abs(np.log(self.sd / wanted)) - np.log1p(bound) - error
            place = int(np.nanargmax(np.where(np.isfinite(off), off, np.inf)))
            if not off[place] <= 0:
                said = f"{self.subject.target.labels[place]} has the sd {self.sd[place]:.3g}, and {wanted[place]:.3g} is {beside}"
                yield RunFinding(level, said, self._smaller())

    def summary(self) -> str:
        """The numbers that speak for the draws."""
        assert self.bias is not None
        (rhat, _), (ess, _) = self.r_hat, self.ess
        return (
            f"R-hat at most {rhat:.3f}, effective sample size at least {ess:,.0f}; predicted and found: widths within "
            f"{max(abs(self.bias.share), 1e-3):.1%}, means within {max(abs(self.bias.shift[0]), 1e-3):.2g} sd"
        )

    def rescaled(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """The settings; other coordinates where the scales of these are what takes more steps, or no step at all."""
        beyond = self.bias is not None and self.bias.beyond
        slow = (beyond or "steps" in settings) and self.subject.composite is None
        return {"target.whiten": True} if slow and scale_line(self.subject) else settings

    def command(self, settings: Mapping[str, Any], *, named: bool) -> str:
        """The command, or the settings, with these changes."""
        if not settings:
            return ""
        if not named:
            return " ".join(
                f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
                for key, value in settings.items()
            )
        from sgverify.configuration import load_configuration

        changed = {key.replace(".", "__"): value for key, value in settings.items()}
        return self.subject.command("sample", under=load_configuration(self.subject.configuration, **changed))

    def _smaller(self) -> dict[str, Any]:
        better = None if self.bias is None else self.bias.better
        return {"schedule.step": better or float(f"{self.step / 4:.2g}")} if self._fixed else {}

    def _compared(self) -> dict[str, Any]:
        steps = int(self.subject.configuration.steps)
        return {"schedule.step": float(f"{self.step / 4:.2g}"), "steps": 4 * steps} if self._fixed else {}

    @property
    def _fixed(self) -> bool:
        return self.subject.configuration.schedule.kind == "fixed" and math.isfinite(self.step)


def _worst(found: Any, sign: int) -> tuple[float | None, str]:
    """The largest (sign 1) or least (sign -1) value of any coordinate, and its name; None where one is not finite."""
    values = np.concatenate([np.ravel(value.values) for value in found.data_vars.values()])
    labels = list(labels_of(found))
    if not np.isfinite(values).all():
        return None, labels[int(np.argmin(np.isfinite(values)))]
    place = int(np.argmax(sign * values))
    return float(values[place]), labels[place]
