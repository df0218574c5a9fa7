"""Is a torch step right at one setting (parameters, dimension, Gaussian target), over a list of step sizes?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

from sgverify.errors import SgverifyError, Unreached
from sgverify.law.gaussian_setting import FIRST_SHARE, GaussianSetting
from sgverify.law.law_defect import TURN, law_defect, slowest_change
from sgverify.law.memory_of_steps import is_idle, with_memory_units
from sgverify.law.one_step_map import OneStepMap, read_one_step
from sgverify.law.step_rows import StepRows
from sgverify.rates.powers import FEWEST, SHORT, ErrorTrend, judge_errors, undecided_end
from sgverify.samplers.intercepted.black_box import GradientFunction
from sgverify.samplers.intercepted.equilibrated import equilibrated
from sgverify.schemes.torch_step import TorchStep

RUNGS, FEW_RUNGS, MORE_RUNGS, ROUNDS = 7, 4, 3, 4
"""The number of halvings of the first step; the same in many dimensions; the smaller steps that are added, each a quarter of the
one before, if the smallest step does not decide; and the most such additions."""

MANY = 4
"""The dimension from which fewer step sizes are tried."""

ABOVE = 6
"""The doublings of the first step that are tried in few dimensions: exact friction, or an implicit step, is stable so far."""

BEFORE = 2
"""An error at step size h is judged only if the chain also contracts at 2^BEFORE h."""

WIDER = 1.5
"""States of the chain's own law are tried if it is wider than the stationary law by this factor."""

STALE = 0.9
"""The share of the error of the largest step, in units of it, above which smaller steps are known no better."""

DEFECT_RUNGS, DEFECT_MORE, DEFECT_ROUNDS, DEFECT_FALL = 4, 3, 4, 4.0
"""For a step that is not affine and is integrated over the law: the number of step sizes; the number of smaller ones that are
added if these decide nothing or violate; the most such additions; and the ratio of neighbouring step sizes."""

FAR = 3.0
"""A step that bends only beyond this many spreads does so too rarely for an integral over the law to show it."""

RESOLVED = 0.01
"""The change of the law in one step, divided by h rate, that an answer must be able to detect: a smaller error passes."""


@dataclass(frozen=True)
class Tried:
    """The result at one setting: `verdict` is conforms, violates or inconclusive, and `finding` its reason.

    `steps` are the tried step sizes; `bend` is that of a map (`OneStepMap`).
    """

    setting: GaussianSetting
    verdict: str
    finding: str
    steps: tuple[float, ...]
    bend: float | None = None
    value: float = 0.0
    due: float = 0.0
    affine: bool = True
    blurred: bool = False
    """Is the verdict inconclusive because an integral over many coordinates is too imprecise?"""
    alone: bool = False
    """Is it inconclusive where states go through the code one by one, so that few were tried?"""


def try_setting(
    step: TorchStep,
    setting: GaussianSetting,
    order: int,
    *,
    flow: bool,
    top: float | None = None,
    gradient: GradientFunction | None = None,
    fine: bool = False,
) -> Tried:
    """Compare the chain's law with the stationary law, to h^order, in all coordinates and pairs of them.

    With `flow`, also compare mean and covariance after one step with those of the dynamics' flow, to h^(order + 1). For a step
    that is not affine in the state, E f(X_1) - E f(X_0) under the stationary law must be O(h^(order + 1)). `top` is the largest
    step size, by default FIRST_SHARE/rate; `gradient` is the gradient for the code, by default the setting's. With `fine`, the
    integral over the law takes many points at once.
    """
    first = top or FIRST_SHARE / setting.rate
    rows = StepRows(step, setting, first, gradient)
    if setting.memory:
        setting = with_memory_units(rows, first)
        rows = StepRows(step, setting, first, gradient)
    above = _above(rows, first)
    steps = [first * 2.0**-k for k in range(RUNGS if setting.dim < MANY else FEW_RUNGS)]
    maps = [read_one_step(rows, h) for h in steps]
    for _ in range(ROUNDS):
        if any(found.bend is not None for found in maps):
            return _not_affine(rows, first, order, maps, gradient, fine)
        maps, wide = _in_its_own_law(rows, steps, maps)
        if wide:
            return _not_affine(rows, first, order, maps, gradient, fine)
        parts = _parts(setting, steps, maps, above, order, flow)
        judged = [
            (part, judge_errors(part.times, part.errors, part.bounds, part.power, large=part.large))
            for part in parts
        ]
        # An error may fall faster at smaller steps: a step may have other time scales than the target.
        slow = any(found.verdict == "slow" for _, found in judged)
        ends = any(undecided_end(part.times, part.errors, part.bounds, part.power) for part in parts)
        wanders = all(part.kind != "law" for part in parts)
        if not (slow or ends or wanders):
            break
        more = [steps[-1] * 4.0**-k for k in range(1, MORE_RUNGS + 1)]
        steps, maps = [*steps, *more], [*maps, *(read_one_step(rows, h) for h in more)]
    shown = tuple(sorted({*steps, *(h for part in parts for h in part.steps)}, reverse=True))
    # The law is reported before the flow: it is what a user observes.
    for part, found in reversed(judged):
        for verdict in ("slow", "jump"):
            if found.verdict == verdict:
                text, value, due = part.sentence(found)
                return Tried(setting, "violates", text, shown, None, value, due)
    if len(parts) < 1 + flow or all(part.kind != "law" for part in parts):
        radius = maps[-1].radius
        text = f"the chain contracts at no step size tried; down to {steps[-1]:.3g}, spectral radius {radius:.6g}"
        return Tried(setting, "inconclusive", text, shown)
    for part, found in judged:
        if found.verdict == "open":
            off, h = part.bounds[found.index], part.steps[found.index]
            text = f"values are known to {off:.2g} spreads only; by roundings and quadrature, at h={h:.3g}"
            return Tried(setting, "inconclusive", text, shown, blurred=setting.dim > 1)
    cut = next((found for found in maps if found.cut), None)
    if cut is not None:
        text = f"large draws do not enter as small ones do; those of {cut.noise_bend:g} standard deviations and more"
        return Tried(setting, "inconclusive", text, shown)
    return Tried(setting, "conforms", "", shown)


@dataclass(frozen=True)
class _Part:
    """Errors of one kind (flow or law) at the judged step sizes, in natural units, with the expected values `due`."""

    kind: str
    setting: GaussianSetting
    steps: np.ndarray
    times: np.ndarray
    errors: np.ndarray
    bounds: np.ndarray
    power: int
    due: np.ndarray
    large: int

    def sentence(self, found: ErrorTrend) -> tuple[str, float, float]:
        """The largest error in the user's units: a sentence, the value, and the expected value."""
        n, h = self.setting.known, self.steps[found.index]
        names, spreads = self.setting.names, self.setting.spreads
        error, due = self.errors[found.index, found.entry], self.due[found.index, found.entry]
        slow = (
            f"its error has a part that falls like h^{_half(found.slope)} down to there, where h^{self.power} is predicted"
            if found.verdict == "slow"
            else f"that is more than the errors at smaller steps announce, which fall like h^{self.power}"
        )
        kind, k = ("mean", found.entry) if found.entry < n else ("second", found.entry - n)
        i, j = (k, k) if kind == "mean" else divmod(k % n**2, n)
        if kind == "mean":
            offset, unit, what = self.setting.law[0][i], spreads[i], f"mean of {names[i]}"
        else:
            offset, unit = 0.0, spreads[i] * spreads[j]
            what = f"variance of {names[i]}" if i == j else f"covariance of {names[i]} and {names[j]}"
        if self.kind == "law":
            return self._said(what, f"the stationary {what}", offset, unit, error, due, h, slow)
        if k >= n**2 and kind == "second":
            unit = spreads[i] / spreads[j]
            what = f"change of the mean of {names[i]} after one step with {names[j]} at its start"
            return self._said(f"d {names[i]}/d {names[j]}", f"the {what}", 0.0, unit, error, due, h, slow)
        given = f"the {what} that one step from the target's mean gives"
        return self._said(what, given, offset, unit, error, due, h, slow)

    @staticmethod
    def _said(
        short: str, what: str, offset: float, unit: float, error: float, due: float, h: float, slow: str
    ) -> tuple[str, float, float]:
        value, right = offset + unit * (due + error), offset + unit * due
        text = f"{short} {value:.4g}, required {right:.4g}; {what} is {value:.6g} at h={h:.3g}, where {right:.6g} is due; {slow}"
        return text, value, right


def _above(rows: StepRows, first: float) -> list[OneStepMap]:
    """The maps at 2, 4, ... times the first step, as long as the chain contracts and is affine there.

    A correct step need not do so at all of these.
    """
    found: list[OneStepMap] = []
    for k in range(1, 1 + (ABOVE if rows.setting.dim < MANY else BEFORE)):
        try:
            seen = read_one_step(rows, first * 2.0**k)
        except SgverifyError:
            break
        if not seen.radius < 1:
            break
        found.append(seen)
        # If draws enter nonlinearly, each map costs an integral.
        if seen.noise_bend is not None and k >= BEFORE:
            break
    return found


def _in_its_own_law(
    rows: StepRows, steps: list[float], maps: list[OneStepMap]
) -> tuple[list[OneStepMap], bool]:
    """The maps, tested also at states of the chain's own law if it is wider, and whether any of them bends there."""
    found = list(maps)
    for k in range(len(steps)):
        if maps[k].radius >= 1:
            continue
        law = solve_discrete_lyapunov(maps[k].matrix, maps[k].covariance)
        spreads = np.sqrt(np.maximum(np.diag(law), 0.0))
        if (spreads > WIDER).any() and np.isfinite(spreads).all():
            found[k] = read_one_step(rows, steps[k], wide=np.maximum(spreads, 1.0))
            if found[k].bend is not None:
                return found, True
    return found, False


def _parts(
    setting: GaussianSetting,
    steps: list[float],
    maps: list[OneStepMap],
    above: list[OneStepMap],
    order: int,
    flow: bool,
) -> list[_Part]:
    n, higher = setting.known, len(above)
    steps = [*(steps[0] * 2.0**k for k in range(higher, 0, -1)), *steps]
    maps = [*reversed(above), *maps]
    contracts = [seen.radius < 1 for seen in maps]
    stable = [k >= BEFORE and all(contracts[k - BEFORE : k + 1]) for k in range(len(maps))]
    # Far above the first step, a correct step need not be affine.
    first = next((k for k in range(higher) if all(seen.bend is None for seen in maps[k:])), higher)
    stationary = (setting.law[1] / np.outer(setting.spreads, setting.spreads))[:n, :n]
    found = []

    def add(
        kind: str, kept: list[int], due: list[np.ndarray], got: list[np.ndarray], off: list[float], power: int
    ) -> None:
        h = np.array([steps[k] for k in kept])
        errors = np.array(got) - np.array(due)
        large = sum(k < higher for k in kept)
        found.append(
            _Part(kind, setting, h, setting.rate * h, errors, np.array(off), power, np.array(due), large)
        )

    kept = [k for k in range(first, len(steps)) if stable[k] or k >= higher]
    if flow and setting.flow is not None:
        exact = [setting.after(steps[k]) for k in kept]
        due = [np.concatenate([np.zeros(n), part[1].ravel(), part[0].ravel()]) for part in exact if part]
        got = [
            np.concatenate([maps[k].still, maps[k].covariance.ravel(), maps[k].matrix.ravel()]) for k in kept
        ]
        add("flow", kept, due, got, [max(maps[k].rounding, maps[k].blur) for k in kept], order + 1)
    kept = [k for k in kept if stable[k]]
    if sum(k >= higher for k in kept) >= FEWEST:
        laws, off = [], []
        for seen in (maps[k] for k in kept):
            mean = np.linalg.solve(np.eye(len(seen.matrix)) - seen.matrix, seen.still)[:n]
            law = solve_discrete_lyapunov(seen.matrix, seen.covariance)
            laws.append(np.concatenate([mean, law[:n, :n].ravel()]))
            gain = float(np.linalg.norm(solve_discrete_lyapunov(seen.matrix, np.eye(len(law))), 2))
            off.append(
                gain * (seen.blur + 4 * seen.rounding * max(1.0, float(np.abs(law).sum(axis=1).max())))
            )
        law_due = np.concatenate([np.zeros(n), stationary.ravel()])
        add("law", kept, [law_due] * len(kept), laws, off, order)
    return found


def _with_memory_at_rest(
    rows: StepRows, first: float, bend: float, where: str, gradient: GradientFunction | None
) -> Tried:
    """Judge a step that is not affine in its memory by the law that its chain tends to as h -> 0.

    At small steps the memory is at rest where the state is. If it follows the state and not the draws, the step from there is one
    without memory: where that is wrong, the chain's law is. Where it is right, the chain's law is so as h -> 0 and may approach the
    stationary one at any speed, like sqrt(h) for a memory that jumps where the state passes a threshold; only a memory that does
    not move the state leaves the order as it is.
    """
    setting = rows.setting
    kept = ", ".join(item.name for item in setting.memory)
    bends = f"one step is not affine at {where}, {bend:g} spreads from the mean"
    try:
        found = try_setting(
            equilibrated(rows.step), setting.without_memory, 1, flow=False, top=first, gradient=gradient
        )
    except Unreached as error:
        text = f"the law of the memory ({kept}) is not known; {error}; {bends}"
        return Tried(setting, "inconclusive", text, (first,), bend, affine=False)
    text = f"{found.finding}; with the memory ({kept}) at rest, as for h -> 0" if found.finding else ""
    if found.verdict == "conforms" and not is_idle(rows, first):
        text = f"the law is right as h -> 0, and its order is not known; with the memory ({kept}) at rest; {bends}"
        return replace(found, setting=setting, verdict="inconclusive", finding=text, affine=False)
    return replace(found, setting=setting, finding=text, affine=False)


def _not_affine(
    rows: StepRows,
    first: float,
    order: int,
    maps: list[OneStepMap],
    gradient: GradientFunction | None,
    fine: bool,
) -> Tried:
    """Judge a step that is not affine by its change of the stationary law."""
    setting = rows.setting
    bent = [found for found in maps if found.bend is not None]
    bend = min(found.bend for found in bent if found.bend is not None)
    where = next(found.where for found in bent if found.bend == bend)
    if setting.memory:
        return _with_memory_at_rest(rows, first, bend, where, gradient)
    steps = [first * DEFECT_FALL**-k for k in range(DEFECT_RUNGS)]
    fine = fine and rows.together
    read = [law_defect(rows, h, fine=fine) for h in steps]
    for _ in range(DEFECT_ROUNDS):
        errors, widest = (np.array([part[k] for part in read]) for k in (0, 1))
        times = setting.rate * np.array(steps)
        judged = slowest_change(times, errors, widest, order + 1)
        best = int(np.argmin(((np.abs(errors) + widest) / times[:, None]).max(axis=1)))
        left, blur = (float((part[best] / times[best]).max()) for part in (np.abs(errors) + widest, widest))
        if judged is None and left <= RESOLVED:
            break
        spread = (widest / times[:, None]).max(axis=1)
        if judged is None and not rows.together and blur > RESOLVED and spread.min() > STALE * spread[0]:
            # Rows that go through the code one by one are few, and smaller steps make them no more telling.
            break
        # A step may bend on a scale of its own; if the method is right, it bends less at smaller steps.
        turns = judged is not None and judged.turn > TURN and judged.slope > 1 + SHORT
        hidden = judged is not None and judged.index < len(steps) - 1
        if judged is not None and len(steps) > DEFECT_RUNGS and not (turns or hidden):
            break
        if (hidden or 2 * blur > RESOLVED) and not fine and rows.together and setting.dim < MANY:
            fine = True
            read = [law_defect(rows, h, fine=True) for h in steps]
            continue
        if judged is None and best < len(steps) - 1:
            break
        more = [steps[-1] * DEFECT_FALL**-k for k in range(1, DEFECT_MORE + 1)]
        steps, read = [*steps, *more], [*read, *(law_defect(rows, h, fine=fine) for h in more)]
    errors, widest = (np.array([part[k] for part in read]) for k in (0, 1))
    if judged is not None and judged.turn > TURN and judged.index < len(steps) - 1:
        # The next slope, hidden below the bounds, may be higher.
        judged = None
    names = read[0][2]
    at = f"one step is not affine at {where}, {bend:g} spreads from the mean"
    if judged is not None:
        change = errors[judged.index, judged.entry]
        text = (
            f"E {names[judged.entry]} changes by h^{_half(judged.slope)}, required h^{order + 1}; {at}; from the stationary law, "
            f"one step of size {steps[judged.index]:.3g} changes E {names[judged.entry]} by {change:.3g}, in spreads: that falls "
            f"like h^{_half(judged.slope)}, where a chain of order {order} changes it by h^{order + 1}, so that the chain's law is "
            "another one"
        )
        return Tried(setting, "violates", text, tuple(steps), bend, affine=False)
    if left <= RESOLVED:
        text = f"{at}; from the stationary law one step changes no moment that was tried by more than {left:.1e} h rate"
        return Tried(setting, "conforms", text, tuple(steps), bend, affine=False)
    text = f"the change of the law is known to {left:.2g} h rate only; in one step, from the stationary law; {at}"
    blurred = setting.dim >= MANY
    return Tried(
        setting,
        "inconclusive",
        text,
        tuple(steps),
        bend,
        affine=False,
        blurred=blurred,
        alone=not rows.together,
    )


def _half(slope: float) -> str:
    """The text of the multiple of 1/2 nearest to a slope."""
    return f"{round(2 * slope) / 2 + 0.0:g}"


__all__ = ["FAR", "MANY", "Tried", "try_setting"]
