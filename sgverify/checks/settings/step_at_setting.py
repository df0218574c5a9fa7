"""Is a torch step right at one setting (parameters, dimension, Gaussian target), over a list of step sizes?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sgverify.errors import SgverifyError, Unreached
from sgverify.law.gaussian_setting import FIRST_SHARE, GaussianSetting
from sgverify.law.law_defect import TURN, law_defect, slowest_change
from sgverify.law.one_step_map import OneStepMap, read_in_its_law, read_one_step, rows_of_chain
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

STALE = 0.9
"""The share of the error of the largest step, in units of it, above which smaller steps are known no better."""

DEFECT_RUNGS, DEFECT_MORE, DEFECT_ROUNDS, DEFECT_FALL = 4, 3, 4, 4.0
"""For a step that is not affine and is integrated over the law: the number of step sizes; the number of smaller ones that are
added if these decide nothing or violate; the most such additions; and the ratio of neighbouring step sizes."""

PROBED = 16
"""The number of states and draws at which a memory is tried for its effect on the state."""

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
    rows = rows_of_chain(step, setting, first, gradient)
    setting = rows.setting
    above = _above(rows, first)
    steps = [first * 2.0**-k for k in range(RUNGS if setting.dim < MANY else FEW_RUNGS)]
    maps = [read_in_its_law(rows, h) for h in steps]
    for _ in range(ROUNDS):
        if any(found.bend is not None for found in maps):
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
        steps, maps = [*steps, *more], [*maps, *(read_in_its_law(rows, h) for h in more)]
    shown = tuple(sorted({*steps, *(h for part in parts for h in part.steps)}, reverse=True))
    # The law is reported before the flow: it is what a user observes.
    for part, found in reversed(judged):
        for verdict in ("slow", "jump"):
            if found.verdict == verdict:
                return Tried(setting, "violates", part.sentence(found), shown)
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

    def sentence(self, found: ErrorTrend) -> str:
        """The largest error in the user's units."""
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
        given = f"the {what} that one step from the target's mean gives"
        if self.kind == "law":
            given = f"the stationary {what}"
        elif k >= n**2 and kind == "second":
            offset, unit, what = 0.0, spreads[i] / spreads[j], f"d {names[i]}/d {names[j]}"
            given = f"the change of the mean of {names[i]} after one step with {names[j]} at its start"
        value, right = offset + unit * (due + error), offset + unit * due
        return f"{what} {value:.4g}, required {right:.4g}; {given} is {value:.6g} at h={h:.3g}, where {right:.6g} is due; {slow}"


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
        laws = [maps[k].law for k in kept]
        got = [np.concatenate([law.mean[:n], law.covariance[:n, :n].ravel()]) for law in laws]
        law_due = np.concatenate([np.zeros(n), setting.correlation[:n, :n].ravel()])
        add("law", kept, [law_due] * len(kept), got, [law.bound for law in laws], order)
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
    if found.verdict == "conforms" and not _is_idle(rows, first):
        text = f"the law is right as h -> 0, and its order is not known; with the memory ({kept}) at rest; {bends}"
        return replace(found, setting=setting, verdict="inconclusive", finding=text, affine=False)
    return replace(found, setting=setting, finding=text, affine=False)


def _is_idle(rows: StepRows, h: float) -> bool:
    """Is the state after a step the same to the last bit whatever the memory is, at the states and draws that are tried?"""
    setting, random = rows.setting, np.random.default_rng(0)
    n, known = len(setting.spreads), setting.known
    states, draws = random.standard_normal((PROBED, n)), random.standard_normal((PROBED, rows.draws(h)))
    others = states.copy()
    # Of both signs and of two sizes; a memory that has no value below 0 is taken to move the state.
    others[:, known:] = -3 * states[:, known:] + 1
    try:
        one, other = (rows(tried, draws, h)[:, :known] for tried in (states, others))
    except SgverifyError:
        return False
    return bool(np.array_equal(one, other))


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
        verdict = "violates"
        text = (
            f"E {names[judged.entry]} changes by h^{_half(judged.slope)}, required h^{order + 1}; {at}; from the stationary law, "
            f"one step of size {steps[judged.index]:.3g} changes E {names[judged.entry]} by {change:.3g}, in spreads: that falls "
            f"like h^{_half(judged.slope)}, where a chain of order {order} changes it by h^{order + 1}, so that the chain's law is "
            "another one"
        )
    elif left <= RESOLVED:
        verdict = "conforms"
        text = f"{at}; from the stationary law one step changes no moment that was tried by more than {left:.1e} h rate"
    else:
        verdict = "inconclusive"
        text = f"the change of the law is known to {left:.2g} h rate only; in one step, from the stationary law; {at}"
    unsure = verdict == "inconclusive"
    blurred, alone = unsure and setting.dim >= MANY, unsure and not rows.together
    return Tried(setting, verdict, text, tuple(steps), bend, affine=False, blurred=blurred, alone=alone)


def _half(slope: float) -> str:
    """The text of the multiple of 1/2 nearest to a slope."""
    return f"{round(2 * slope) / 2 + 0.0:g}"
