"""A step that accepts and rejects leaves its law invariant at every step size, or its ratio is wrong."""

from __future__ import annotations

import numpy as np

from sgverify.checks.accept_reject import message
from sgverify.checks.designed_settings import configured_design
from sgverify.checks.law_defect import law_defect
from sgverify.checks.step_rows import StepRows
from sgverify.checks.torch_subject import TorchSubject
from sgverify.rates import Judgement

SIZES = (0.25, 0.5, 1.0, 2.0)
"""Step sizes in units of the fastest time of the target: where proposals are rejected often, a wrong ratio shows."""

RESOLVED = 0.02
"""A change of a moment, in natural units, that would have been seen at every one of these."""

MOVED = 0.01
"""The least share of states and draws at which each coordinate has to move."""


def judge_invariance(subject: TorchSubject) -> tuple[Judgement, list[dict[str, object]]]:
    """E f(X_1) = E f(X_0) under the stationary law of the configured target, f moments and waves, and what was found."""
    own = configured_design(subject)
    if own is None:
        return Judgement(
            "inconclusive", False, f"{message(subject)}; the configured target is not Gaussian"
        ), []
    setting = own.setting(subject.scheme.dynamics)
    found: list[dict[str, object]] = []
    worst, resolved = None, 0.0
    rows = StepRows(subject.scheme, setting, SIZES[0] / setting.rate)
    for size in SIZES:
        h = size / setting.rate
        mean, bound, names = law_defect(rows, h, fine=True)
        k = int(np.argmax(np.abs(mean) / bound))
        found.append(
            {"step": h, "moment": names[k], "change": float(mean[k]), "error_bound": float(bound[k])}
        )
        resolved = max(resolved, float(bound.max()))
        if abs(mean[k]) > bound[k] and (worst is None or abs(mean[k]) > abs(worst[0])):
            worst = (float(mean[k]), float(bound[k]), names[k], h)
    if worst is not None:
        change, bound_of, name, h = worst
        return Judgement(
            "violates",
            False,
            f"the step accepts and rejects, and does not leave its law invariant: at h={h:.3g}, {setting.text}, one step from "
            f"that law changes {name} by {change:.3g}, give or take {bound_of:.1g}, in natural units; its ratio is wrong",
        ), found
    still = _still(rows, SIZES[1] / setting.rate)
    if still:
        reason = f"the step accepts and rejects, and {', '.join(still)} hardly ever moves: what stays leaves every law invariant"
        return Judgement("inconclusive", False, reason), found
    if resolved > RESOLVED:
        reason = f"{message(subject)}; its law is known to {resolved:.2g} alone, and {RESOLVED:g} is needed"
        return Judgement("inconclusive", False, reason), found
    steps = ", ".join(f"{size / setting.rate:.3g}" for size in SIZES)
    return Judgement(
        "conforms",
        False,
        f"the step accepts and rejects, and is judged by its invariance: from the stationary law at {setting.text} one step of h = "
        f"{steps} changes no moment that was tried by more than {resolved:.1g}; other targets, temperatures and dimensions are "
        "not judged",
    ), found


def _still(rows: StepRows, h: float) -> list[str]:
    """Coordinates that stay where they are at nearly all states and draws."""
    n, random = len(rows.setting.spreads), np.random.default_rng(0)
    x, z = random.standard_normal((256, n)), random.standard_normal((256, rows.draws(h)))
    moved = (np.abs(rows(x, z, h) - x) > 1e-9).mean(axis=0)
    return [name for name, share in zip(rows.setting.names, moved, strict=True) if share < MOVED]


__all__ = ["judge_invariance"]
