"""Check: is torch code right at temperatures, frictions, dimensions, step sizes and states far from the configured ones?

A step that accepts and rejects moves for some draws and returns its state, bit for bit, for others. With the right ratio it
leaves its law invariant at every step size, which is judged in the place of other settings.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch

from sgverify.checks.question import Question
from sgverify.checks.readings import held_to_flow, predicted_order
from sgverify.checks.settings.step_at_setting import FAR, MANY, Tried, try_setting
from sgverify.errors import SgverifyError, Unreached, UserError
from sgverify.evidence import EVERY, Evidence, Scope, tried
from sgverify.law.chosen_step import states_of, taker
from sgverify.law.gaussian_setting import GaussianDesign, configured_design, designs, near_design, unit_design
from sgverify.law.law_defect import law_defect
from sgverify.law.measured_order import HIGHEST
from sgverify.law.one_step_map import RARE, STATES
from sgverify.law.step_rows import StepRows
from sgverify.rates.verdict import Judgement
from sgverify.samplers.intercepted.black_box import NotFiniteError
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.composite import TorchSubject, limits

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


HOT = 2
"""The number of hotter settings that are tried."""


MOST_ALONE = 3
"""The most settings that are tried in vain where states go through the code one by one, some seconds each."""


@dataclass(frozen=True)
class _Outcome:
    design: GaussianDesign
    tried: Tried


def check_settings(question: Question) -> Evidence:
    """One step's mean and covariance, and the chain's law, in all coordinates and pairs, over a designed list of settings.

    Each setting is a temperature, a friction and a Gaussian target of some dimension and spread, with its own list of step
    sizes; states are tried out to 6 spreads. The first violation is moved as near to the configured setting as possible.

    Cannot see: targets that are not Gaussian, and settings outside the list that the certificate shows.
    """
    subject = cast(TorchSubject, question.subject)
    own = configured_design(subject) or near_design(subject)
    found: list[_Outcome] = []
    passed_over: list[str] = []
    try:
        if accepts_and_rejects(subject):
            # The ratio of a step with rejections contains the energy of one target: no other target can be tried.
            judgement, moments = judge_invariance(subject)
            certificate = {"moments": moments, "limits": limits(subject.target.dim)}
            scope = question.scope(states=EVERY, steps=tried(f"{len(moments)} step sizes"))
            return question.evidence(
                method="quadrature", judgement=judgement, certificate=certificate, scope=scope
            )
        for design in [*([own] if own is not None else []), *designs()]:
            try:
                found.append(_Outcome(design, _try(subject, design)))
            except UserError as error:
                if own is None or len(design.mean) == len(own.mean):
                    raise
                # The code is made for one dimension: other settings are tried in that dimension.
                passed_over.append(f"dimension {len(design.mean)}: {_first_line(error)}")
                there = replace(design, precision=own.precision, mean=own.mean)
                found.append(_Outcome(there, _try(subject, there)))
            if found[-1].tried.verdict == "violates" or sum(item.tried.alone for item in found) == MOST_ALONE:
                # Where states go one by one and few decide nothing, no further setting has more of them.
                break
        else:
            found += _in_the_bulk(subject, found)
            if not subject.scheme.memory:
                found += _fine(subject)
    except (Unreached, UserError) as error:
        return question.unanswered(f"not tried at other settings: {_first_line(error)}", method="quadrature")
    judged = [outcome.tried for outcome in _unblurred(found)]
    return question.evidence(
        method="quadrature",
        judgement=_judge(subject, own, found, passed_over),
        scope=_scope(judged) if judged else Scope(),
        certificate={
            "settings": [
                {
                    "setting": outcome.tried.setting.text,
                    "steps": [max(outcome.tried.steps), min(outcome.tried.steps)],
                    "affine": outcome.tried.affine,
                    "verdict": outcome.tried.verdict,
                    "finding": outcome.tried.finding,
                }
                for outcome in found
            ],
            "not_run": passed_over,
            "limits": limits(subject.target.dim),
        },
    )


def try_states(subject: TorchSubject, order: int) -> Tried:
    """The step over the states of one Gaussian setting, and over those of hotter ones where it bends far from the mean only.

    Held to `order`; the worst of them. Raises `Unreached` where no Gaussian law is the dynamics' own.
    """
    return _worst(_over_states(subject, order)).tried


def _fine(subject: TorchSubject) -> list[_Outcome]:
    """The outcomes over many states; none where the code is made for another dimension."""
    try:
        return _over_states(subject, _order(subject))
    except NotFiniteError:
        raise
    except UserError:
        return []


@cached_per_subject
def _over_states(subject: TorchSubject, order: int) -> list[_Outcome]:
    # Code that is made for one dimension is tried in that.
    for dim in (1, subject.proof_dimension, subject.target.dim):
        try:
            found = [_Outcome(unit_design(dim), _try(subject, unit_design(dim), order))]
            break
        except NotFiniteError:
            raise
        except UserError as error:
            unfit = error
    else:
        raise unfit
    return found + _in_the_bulk(subject, found, order)


def _worst(found: list[_Outcome]) -> _Outcome:
    return next((outcome for outcome in found if outcome.tried.verdict == "violates"), found[0])


def _order(subject: TorchSubject) -> int:
    """The order that the step is held to: the one that it states, if one state shows no less."""
    stated = None if subject.law_alone else subject.scheme.order
    return min(predicted_order(subject), stated or HIGHEST)


def _try(subject: TorchSubject, design: GaussianDesign, order: int | None = None) -> Tried:
    setting = design.setting(subject.scheme.dynamics, subject.scheme.memory)
    fine, order = order is not None, _order(subject) if order is None else order
    return try_setting(subject.scheme, setting, order, flow=held_to_flow(subject), fine=fine)


def _in_the_bulk(subject: TorchSubject, found: list[_Outcome], order: int | None = None) -> list[_Outcome]:
    """The outcomes of hotter settings, at which a step that bends only far from the mean bends where the chain is."""
    least = FAR if order is None else FAR / 2
    far = [outcome for outcome in found if (outcome.tried.bend or 0.0) >= least]
    hot = []
    for outcome in sorted(far, key=lambda outcome: outcome.tried.bend or 0.0)[:HOT]:
        design = outcome.design.hotter((2 * (outcome.tried.bend or 1.0)) ** 2)
        hot.append(_Outcome(design, _try(subject, design, order)))
        if hot[-1].tried.verdict == "violates":
            break
    return hot


def _judge(
    subject: TorchSubject, own: GaussianDesign | None, found: list[_Outcome], passed_over: list[str]
) -> Judgement:
    def of(design: GaussianDesign, tried: Tried) -> Judgement:
        told = f"{tried.finding}; at {tried.setting.text}; alone: {_command(subject, design)}"
        return Judgement(tried.verdict, False, told)

    wrong = [outcome for outcome in found if outcome.tried.verdict == "violates"]
    if wrong:
        return of(*_nearest(subject, own, wrong[0]))
    judged = _unblurred(found)
    blurred = [outcome.tried.setting.text for outcome in found if not any(outcome is kept for kept in judged)]
    found, passed_over = judged, [*passed_over, *(f"{text}: too blurred" for text in blurred)]
    open_ones = [outcome for outcome in found if outcome.tried.verdict == "inconclusive"]
    if open_ones:
        return of(open_ones[0].design, open_ones[0].tried)
    return Judgement("conforms", False, _tried(subject, found, passed_over))


def _unblurred(found: list[_Outcome]) -> list[_Outcome]:
    """Without imprecise integrals over many coordinates or draws, if settings with fewer of them are judged."""
    few = any(outcome.tried.verdict == "conforms" and outcome.tried.setting.dim < MANY for outcome in found)
    return [outcome for outcome in found if not (outcome.tried.blurred and few)]


def _scope(judged: list[Tried]) -> Scope:
    """That of single steps at full gradients: the settings that were judged, and no run."""
    sizes = sorted({one.setting.dim for one in judged})
    numbers = {
        name: sorted({one.setting.parameters[name] for one in judged})
        for name in judged[0].setting.parameters
    }
    told = ", ".join(f"{name} = {', '.join(f'{x:g}' for x in values)}" for name, values in numbers.items())
    low, high = min(min(one.steps) for one in judged), max(max(one.steps) for one in judged)
    return Scope(
        dimensions=tried(f"dimensions {', '.join(map(str, sizes))}", sizes),
        steps=tried(f"h from {low:.1e} to {high:.3g}"),
        temperatures=tried(told, numbers.get("T")) if told else EVERY,
        states=STATES,
        targets=tried("Gaussians"),
        gradients=tried("full"),
        dtypes=tried("float64"),
    )


def _nearest(
    subject: TorchSubject, own: GaussianDesign | None, wrong: _Outcome
) -> tuple[GaussianDesign, Tried]:
    """The violation at a setting that agrees with the configured one in as many parts as possible."""
    design, tried = wrong.design, wrong.tried
    if own is None:
        return design, tried
    for k in range(3):
        nearer = list(design.nearer(own))[k]
        if nearer.settings() == design.settings():
            continue
        try:
            again = _try(subject, nearer)
        except SgverifyError:
            continue
        if again.verdict == "violates":
            design, tried = nearer, again
    return design, tried


def _command(subject: TorchSubject, design: GaussianDesign) -> str:
    """The command line that tries this setting."""
    arguments = ["sgverify", "verify", subject.reference, "--checks", "settings"]
    for key, value in design.settings().items():
        if key == "friction" and "D" not in subject.scheme.dynamics.parameters:
            continue
        arguments += ["--set", f"{key}={value}".replace(" ", "")]
    return shlex.join(arguments)


def _tried(subject: TorchSubject, found: list[_Outcome], passed_over: list[str]) -> str:
    tried = [outcome.tried for outcome in found]
    scope = _scope(tried)
    axes = (scope.temperatures, scope.dimensions, scope.steps, scope.states)
    bent = [t for t in tried if not t.affine]
    flow = f"one step to h^{_order(subject) + 1}, " if not bent and held_to_flow(subject) else ""
    text = (
        f"{len(found)} settings: the law is right to h^{_order(subject)}; {flow}the stationary law in every coordinate "
        f"and pair; tried on Gaussian targets at {', '.join(axis.told for axis in axes if axis and axis.told)}, draws out to "
        f"{max(RARE):g}; nothing is said beyond"
    )
    if bent:
        text += f"; {bent[0].finding}"
    if passed_over:
        text += f"; not judged at {'; '.join(passed_over)}"
    return text


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
