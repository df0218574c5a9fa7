"""The bias of the draws' means and standard deviations at a step size, estimated before they are drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from sgverify.advice.chain_laws import ChainLaws, ClosureLaws, ExactLaws, GridLaws
from sgverify.advice.covariates import covariance_of
from sgverify.advice.product_laws import LinesLaws, laws_of
from sgverify.advice.size.finding import gradient_label, smallest_crossings
from sgverify.advice.size.model import below
from sgverify.advice.widths import NEAR, SHIFTED, SMALL, TOLERANCE, StepBias
from sgverify.configuration import Configuration, load_configuration
from sgverify.configuration.overrides import SamplingOverrides
from sgverify.errors import ConfigurationError, InstabilityError, Unreached, UserError
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.schemes import Scheme
from sgverify.schemes.composites.composite import ReplicaExchange
from sgverify.subject.binding import make_subject
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject
from sgverify.targets import Target
from sgverify.targets.derived import FramedTarget
from sgverify.targets.own.log_density import LogDensity
from sgverify.targets.registry import dressed

MOST_QUARTERINGS = 12
"""The most quarterings of a step size at which the chain has no law: down to a 1.7e7th."""

HOW = {
    ExactLaws: "computed from the law of the chain",
    ClosureLaws: "approximated by a Gaussian law, U's Hessian and the minibatch noise averaged over it",
    GridLaws: "computed from the law of the chain on a grid",
    LinesLaws: "computed from the laws of its coordinates on grids",
}
"""The method behind the standard deviations, as a phrase."""

_LOST = (InstabilityError, PrecisionLostError, Unreached)


@cached_per_subject
def step_bias(subject: Subject, step: float, *, whole: bool = False) -> StepBias | None:
    """The bias of means and spread of draws at a fixed step size; None if there is no cheap way to compute it.

    On quadratic targets, and on a line with noise that is added to the gradient, the bias is that of the chain's invariant law,
    minibatches included. On other targets it is that of a Gaussian closure of this law (`ClosureLaws`), an approximation. The
    stability limit is sought where the step is near it, with `whole` wherever it is.
    """
    if not _plain(subject):
        return None
    doubtful = None
    for laws in laws_of(subject, quick=True):
        try:
            found = _told(laws, step, whole=whole)
        except PrecisionLostError as error:
            sd = tuple(map(float, laws.target.sd))
            found = StepBias(*_of(subject), step, HOW[type(laws)], sd=sd, distrust=str(error))
        except _LOST:
            continue
        if found.distrust is None:
            return found
        doubtful = found
    return doubtful


def given_target(
    target: Target | LogDensity | Mapping[str, Any] | str, overrides: Mapping[str, Any]
) -> tuple[Target | None, dict[str, Any]]:
    """The target that was made in Python, None for others, and the settings with the one that is named.

    Raises `ConfigurationError` for a target that is set besides.
    """
    made = target.target() if isinstance(target, LogDensity) else target
    tables: dict[str, Any] = dict(overrides)
    twice = sorted({"target", "target.name", "target__name"} & set(tables))
    if twice:
        raise ConfigurationError(
            f"{twice[0]}={tables[twice[0]]!r}: expected one target, and {getattr(target, 'name', target)!r} is given; leave it out"
        )
    if isinstance(made, Target):
        return made, tables
    tables |= {"target.name": made} if isinstance(made, str) else {"target": dict(made)}
    return None, tables


def width(
    target: Target | LogDensity | Mapping[str, Any] | str,
    scheme: Scheme | str,
    config: Configuration | Mapping[str, Any] | str | Path | None = None,
    *,
    step: float,
    batch: int | None = None,
    **overrides: Unpack[SamplingOverrides],
) -> StepBias:
    """How wide draws of a scheme are at a step size, without drawing, as `sgverify width` says it.

    `target`, `config` and `overrides` as in `sgverify.advise`; `batch` is that of minibatches drawn with replacement where no
    `gradient.kind` is given. The answer has `factors` of the standard deviations `sd`, `shifts` of the means, the stability
    `limit` and the steps of `forgetting`. Raises `UserError` where target, scheme or configuration are wrong.

        print(sgverify.width("mine.py:posterior", "sghmc-baoab", step=0.1))
    """
    made, tables = given_target(target, overrides)
    given: dict[str, Any] = {"schedule.step": step}
    if batch is not None:
        open_ = "kind" not in load_configuration(config, **tables).gradient.model_fields_set
        given |= {"gradient.batch": batch, **({"gradient.kind": "iid"} if open_ else {})}
    configuration = load_configuration(config, **tables, **given)
    subject = make_subject(scheme, configuration)
    if made is not None:
        vars(subject)["target"] = dressed(made, configuration.target)
    if subject.black_box:
        raise UserError(
            f"scheme={subject.reference!r}: is torch code; expected a scheme with a definition, whose law can be computed"
        )
    with suppress(InstabilityError):
        # An unstable step is an answer here.
        subject.validate()
    found = step_bias(subject, subject.step, whole=True)
    if found is None:
        why = "no law of this chain is computed"
        return StepBias(*_of(subject), subject.step, "none", distrust=why, foreign=True)
    return found


def _of(subject: Subject) -> tuple[str, str, str]:
    return subject.reference, subject.target.name, gradient_label(subject)


def _told(laws: ChainLaws, step: float, *, whole: bool) -> StepBias:
    bias = StepBias(*_of(laws.subject), step, HOW[type(laws)], names=laws.subject.target.labels)
    if isinstance(laws, ClosureLaws):
        # It brings an optimiser, which laws that are exact do without.
        from sgverify.advice.closure.shape import other_mode

        why = laws.distrust_of_target or other_mode(laws.subject)
        bias = replace(bias, distrust=why, foreign=why is not None)
    try:
        mean, sd, shifts, widths = _errors(laws, step)
        if not (widths > -1).all():
            raise InstabilityError(f"h={step:g}: a coordinate of the chain has no variance")
    except InstabilityError as error:
        if isinstance(laws, GridLaws):
            raise
        bias = replace(bias, unstable=str(error))
    else:
        bias = replace(
            bias,
            mean=tuple(map(float, mean)),
            sd=tuple(map(float, sd)),
            forgetting=laws.forgetting(step),
            factors=tuple(map(float, widths + 1)),
            shifts=tuple(map(float, shifts)),
            distrust=bias.distrust or laws.distrust(step),
        )
    if bias.foreign and not bias.factors:
        return replace(bias, unstable=None, distrust=bias.distrust or laws.distrust(step))
    # Near the limit of a Gaussian chain nothing happens; elsewhere it may come where U is steeper.
    near = isinstance(laws, ClosureLaws) and not _stands(laws, step / NEAR)
    if whole or not bias.factors or near:
        bias = replace(bias, limit=_limit(laws, step))
    better = _better(laws, step) if replace(bias, distrust=None).matters else None
    if better is not None and bias.distrust is not None and laws.distrust(better) is not None:
        better = None
    if better is not None and bias.beyond and bias.limit is not None:
        # What keeps the widths at a step beyond the limit keeps no chain.
        better = min(better, below(bias.limit / 2))
    return replace(bias, better=better)


def _errors(laws: ChainLaws, step: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Means and standard deviations of the target, and the biases of both, in the user's coordinates."""
    moments, target = laws.at(step), laws.subject.target
    shifts, widths = moments.biases(laws.target)
    covariance = covariance_of(laws.subject) if isinstance(target, FramedTarget) else None
    if not isinstance(target, FramedTarget) or covariance is None or moments.chain is None:
        return laws.target.mean, laws.target.sd, shifts, widths
    centre, axes = target.frame.arrays
    sd, found = (
        np.sqrt(np.einsum("ij,jk,ik->i", axes, each, axes)) for each in (covariance, moments.chain.of_theta)
    )
    mean = centre + axes @ laws.target.mean
    return mean, sd, axes @ (moments.mean - laws.target.mean) / sd, found / sd - 1


def _stands(laws: ChainLaws, step: float) -> bool:
    """Has the chain a law at this step, as far as a quick look tells?"""
    if isinstance(laws, ExactLaws):
        return step < laws.largest_step
    if isinstance(laws, ClosureLaws):
        try:
            laws.near(step)
        except InstabilityError:
            return False
    return True


def _limit(laws: ChainLaws, step: float) -> float | None:
    """The largest step at which the chain has a law, to one per cent; None where none is found within a factor of 4^12."""
    if isinstance(laws, ExactLaws):
        return laws.largest_step
    stands = _stands(laws, step)
    inside, outside = step, step
    for _ in range(MOST_QUARTERINGS):
        if stands:
            inside, outside = outside, outside * 4
        else:
            inside, outside = inside / 4, inside
        if _stands(laws, outside if stands else inside) != stands:
            break
    else:
        return None
    while outside > inside * (1 + TOLERANCE):
        middle = math.sqrt(inside * outside)
        inside, outside = (middle, outside) if _stands(laws, middle) else (inside, middle)
    return inside


def _plain(subject: Subject) -> bool:
    """Do chains, apart from swaps, move by the scheme alone at the configured temperature, all along the run?"""
    if subject.changes_along_run is not None:
        return False
    if subject.composite is None:
        return True
    if not isinstance(subject.composite, ReplicaExchange):
        return False
    table = subject.configuration.exchange
    return table is None or (table.ladder[0] == 1 and (table.step_factors or [1])[0] == 1)


def _better(laws: ChainLaws, step: float) -> float | None:
    """The largest step, to two figures, below which no sd is off by more than `SMALL`, and no mean by more than `SHIFTED`."""

    def error(trial: float) -> float:
        try:
            _, _, shifts, widths = _errors(laws, trial)
        except _LOST:
            return math.inf
        with np.errstate(divide="ignore"):
            wide = float(np.expm1(np.abs(np.log1p(widths)).max()))
        return max(wide, float(np.abs(shifts).max()) * SMALL / SHIFTED)

    (level,) = smallest_crossings(error, (SMALL,), step, laws.largest_step, 2.0, TOLERANCE)
    return None if level.step is None else below(min(level.step, step))
