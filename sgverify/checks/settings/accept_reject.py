"""Does torch code accept and reject proposals, and if so, does it leave its law invariant?

A step that accepts and rejects moves for some draws and returns its state, bit for bit, for others. With the right ratio it
leaves its law invariant at every step size.
"""

from __future__ import annotations

import numpy as np
import torch

from sgverify.errors import SgverifyError
from sgverify.law.chosen_step import states_of, taker
from sgverify.law.designs import configured_design
from sgverify.law.law_defect import law_defect
from sgverify.law.step_rows import StepRows
from sgverify.rates import Judgement
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.composite import TorchSubject

TRIES = 24
"""The number of draws at each step size."""

TINY = 2.0**-8
"""The share of the configured step at which all proposals are accepted; a step that still stays there is lazy, without ratio."""

LARGER = (1, 4, 16, 64)
"""The tested multiples of the configured step: a proposal that is rarely rejected at one step size is rejected at a larger."""


@cached_per_subject
def accepts_and_rejects(subject: TorchSubject) -> bool:
    """Does theta stay unchanged for some draws and move for others?

    A step that adds continuous noise never stays. A lazy step, which stays at the smallest step sizes too, does not count; one
    with a log density that stays there for every draw accepts next to nothing, and does.
    """
    random = torch.Generator().manual_seed(0)
    try:
        take, census = taker(subject)
        (state,) = states_of(subject, 1)
        place = subject.scheme.dynamics.state.index("theta")
        stays = moves = 0
        still, drawn = False, census(state)
        for larger in (TINY, *LARGER):
            h = larger * subject.step
            for _ in range(TRIES):
                numbers = torch.randn(drawn, generator=random, dtype=torch.float64)
                before = tuple(part.clone() for part in state)
                draws = numbers[None] if subject.scheme.chains else numbers
                after = take(before, draws, h)[place]
                if not torch.isfinite(after).all():
                    continue
                same = torch.equal(after.to(torch.float64), state[place])
                stays, moves = stays + same, moves + (not same)
            if larger == TINY:
                still = stays > 0
                if still and (moves or "log_density" not in subject.scheme.declaration.ingredients):
                    return False
    except (SgverifyError, ValueError, RuntimeError):
        return False
    return stays > 0 and (moves > 0 or still)


def message(subject: TorchSubject) -> str:
    """The sentence about the properties of a step with rejections that can and cannot be judged."""
    return (
        "for some draws theta stays where it is; a step that accepts and rejects has no local order of its own, for what it does "
        "at a rejection is no power series in h; what can be judged of it is that its law is invariant, on the configured target "
        "alone, whose energy its ratio has to be; leave `order` out, or sample by the scheme that proposes and judge that"
    )


SIZES = (0.25, 0.5, 1.0, 2.0)
"""The step sizes in units of the target's fastest time scale: so large that frequent rejections show a wrong ratio."""

RESOLVED = 0.02
"""The change of a moment, in natural units, that a conforming answer must be able to detect at every step size."""

MOVED = 0.01
"""The least share of states and draws at which each coordinate must move."""


def judge_invariance(subject: TorchSubject) -> tuple[Judgement, list[dict[str, object]]]:
    """The verdict on E f(X_1) = E f(X_0) under the stationary law of the configured target, and the values found.

    The test functions f are moments and waves (see `law_defect`).
    """
    own = configured_design(subject)
    if own is None:
        return Judgement(
            "inconclusive", False, f"the configured target is not Gaussian; {message(subject)}"
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
            f"one step changes {name} by {change:.3g}, required 0; at h={h:.3g}, {setting.text}, one step from that law changes "
            f"{name} by {change:.3g}, give or take {bound_of:.1g}, in natural units; for some draws theta stays where it is: where "
            "the step accepts and rejects, its ratio is wrong, or what it does with the other variables at a rejection",
        ), found
    still = _still(rows, SIZES[1] / setting.rate)
    if still:
        reason = f"{', '.join(still)} hardly ever moves; what stays leaves every law invariant, and the step accepts and rejects"
        return Judgement("inconclusive", False, reason), found
    if resolved > RESOLVED:
        reason = f"the law is known to {resolved:.2g} only; {RESOLVED:g} is needed; {message(subject)}"
        return Judgement("inconclusive", False, reason), found
    steps = ", ".join(f"{size / setting.rate:.3g}" for size in SIZES)
    return Judgement(
        "conforms",
        False,
        f"the law is invariant at {len(SIZES)} step sizes; a step that accepts and rejects is judged by its invariance: from the "
        f"stationary law at {setting.text} one step of h = {steps} changes no moment that was tried by more than {resolved:.1g}; "
        "other targets, temperatures and dimensions are not judged",
    ), found


def _still(rows: StepRows, h: float) -> list[str]:
    """The names of the coordinates that stay unchanged at nearly all states and draws."""
    n, random = len(rows.setting.spreads), np.random.default_rng(0)
    x, z = random.standard_normal((256, n)), random.standard_normal((256, rows.draws(h)))
    moved = (np.abs(rows(x, z, h) - x) > 1e-9).mean(axis=0)
    return [name for name, share in zip(rows.setting.names, moved, strict=True) if share < MOVED]


__all__ = ["accepts_and_rejects", "judge_invariance", "message"]
