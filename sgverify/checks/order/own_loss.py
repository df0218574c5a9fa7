"""Check: does code with its own loss and minibatches follow the dynamics of the density that it is said to sample?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from sgverify.checks.code.real_run import curvature_of, law_of_run
from sgverify.checks.order.own_loss_call import RIGHT, CallOfDraws, moments
from sgverify.checks.order.own_loss_cause import (
    Terms,
    cause_of_drift,
    cause_of_noise,
    index_laws,
    time_of_call,
)
from sgverify.checks.question import Question
from sgverify.errors import Unreached, UserError
from sgverify.evidence import Evidence, Scope, tried
from sgverify.law.chosen_step import black_box, states_of
from sgverify.law.gaussian_setting import coefficients_at
from sgverify.rates.powers import powers_of_h
from sgverify.rates.verdict import Judgement
from sgverify.samplers.intercepted.replacing import DrawLaw
from sgverify.samplers.own.functions import gradients_by_datum
from sgverify.schemes.definition.binding import parameters_of
from sgverify.subject.composite import TorchSubject

STATES, MORE_STATES = 2, 3
"""The number of random states from which the code is called, the larger one in one dimension: so that there are more numbers than
the two factors, of prior and data, by which they are explained."""

STEPS = 4
"""The number of halvings of the first step size; the coefficient of h is that of the polynomial through all of them."""

SHARE = 2.0**-5
"""The first step size, as a share of 1/(largest curvature of the density), or of the default step if that is smaller."""

OTHER = 4.0
"""The temperature and the friction at which code that is called with them is tried too, in units of the configured ones."""

FARTHEST = (-6.0, -4.0, -2.5, -1.5, -0.7, 0.7, 1.5, 2.5, 4.0, 6.0)
"""The deviations, in spreads, to which each coordinate is moved."""

FAR_OFF, FAR_CALLS = 0.1, 6_000
"""The share of drift and noise that may be missing there, where they are not extrapolated to h = 0; and the calls in all."""

KNOWN = 0.05
"""The largest error bound of a coefficient, as a share of its size, with which it is judged."""

WITHOUT = (
    "prior and N/n are not tested: no density is given apart from the code, whose loss would be held against itself; add "
    "adapter.density=FILE:NAME"
)


@dataclass(frozen=True)
class CallCoefficients:
    """The coefficients of h in mean and covariance of one call from each state, shapes (states, n) and (states, n, n).

    `mean_off` and `covariance_off` bound their errors.
    """

    mean: np.ndarray
    mean_off: np.ndarray
    covariance: np.ndarray
    covariance_off: np.ndarray
    calls: int
    minibatches: int
    laws: tuple[DrawLaw, ...]


def check_own_loss(question: Question) -> Evidence:
    """The mean and the covariance of one call over all its minibatches and its noise, to first order in h.

    Without a density given apart from the code, the noise alone is held against the dynamics.

    Cannot see: states other than those on a grid out to 6 spreads that are tried, and orders beyond the first.
    """
    subject = cast(TorchSubject, question.subject)
    own = subject.scheme.own_loss
    assert own is not None
    try:
        found = _coefficients(subject)
    except Unreached as error:
        run = law_of_run(subject)
        shown = f"its minibatches and its noise are not enumerated: {error}"
        if run.fault:
            return question.evidence(
                Judgement("violates", False, f"{run.fault}; {shown}"), method="monte-carlo"
            )
        return question.unanswered("; ".join(filter(None, (shown, run.told))), method="quadrature")
    except UserError as error:
        if own.density is not None:
            raise
        return question.unanswered(
            f"{WITHOUT}; nor is it called: {error}; --set target.dim=... gives theta's dimension"
        )
    terms = _terms(subject, _states(subject))
    judgement = _judge(subject, found, terms)
    time = _time(subject, found.mean, found.covariance, terms)
    far, told = _far_out(subject, found, float(time)) if judgement.verdict != "violates" else ("", "")
    if far:
        judgement = Judgement("violates", False, far)
    other = _at_other_numbers(subject)
    if other is not None and judgement.verdict == "conforms":
        judgement = _and_there(
            judgement, other, _judge(other, _coefficients(other), _terms(other, _states(other)))
        )
    certificate: dict[str, Any] = {
        "mean": found.mean.tolist(),
        "due_mean": terms.drift.tolist(),
        "covariance": found.covariance.tolist(),
        "due_covariance": terms.covariance.tolist(),
        "minibatches": found.minibatches,
        "calls": found.calls,
        "index_draws": [law.named for law in found.laws if law.chances],
        "density": own.density,
    }
    tried_at = f"{len(found.mean)} states{f', and {told}' if told else ''}"
    scope = _scope(question, other, tried_at)
    return question.evidence(method="quadrature", judgement=judgement, certificate=certificate, scope=scope)


def _far_out(subject: TorchSubject, found: CallCoefficients, time: float) -> tuple[str, str]:
    """A sentence about a call from far out that is not that of the dynamics, and the states that were tried; "" each if none.

    Each coordinate in turn is moved out to `FARTHEST` spreads, at one step size: what is due there to first order in h is due up to
    `FAR_OFF`, so that clamps, clipped gradients and branches show, and schemes of another order do not.
    """
    own, target, c = subject.scheme.own_loss, subject.target, subject.configuration
    h = min(subject.step, SHARE / curvature_of(subject))
    places = [(k, float(out)) for k in range(target.dim) for out in FARTHEST]
    most = int(FAR_CALLS // max(1, found.minibatches))
    if most < 2 * len(FARTHEST):
        return "", ""
    chosen = places if len(places) <= most else places[:: -(-len(places) // most)]
    box, (first, *_) = black_box(subject), _states(subject)
    states = []
    for k, out in chosen:
        deviation = np.zeros(target.dim)
        deviation[k] = out
        theta = torch.from_numpy(target.at_deviations_float64(deviation, c.temperature)).reshape(
            first[0].shape
        )
        states.append((theta.to(first[0].dtype), *first[1:]))
    terms = _terms(subject, states).over(time)
    size = max(float(np.abs(terms.drift).max()), 1e-300) if own is not None and own.density else float("inf")
    for number, (state, (k, out)) in enumerate(zip(states, chosen, strict=True)):
        call = CallOfDraws(box, state, h)
        mean, square = moments(call, h, SHARE)
        spread = (square - np.outer(mean, mean)) / h
        due, noise = terms.drift[number], terms.covariance[number]
        # Minibatches add to the noise what is of the order of h.
        lacking = float((np.diag(noise) - np.diag(spread)).max() / np.abs(noise).max())
        away = float(np.abs(mean / h - due).max() / size)
        where = f"{abs(out):g} spreads {'above' if out > 0 else 'below'} the mean in coordinate {k}"
        if away > FAR_OFF:
            return (
                f"{where} the mean displacement of a call is {_shown(mean / h)} h, and {_shown(due)} h is due",
                "",
            )
        if lacking > FAR_OFF:
            return f"{where} a call has {1 - lacking:.3g} times the noise of the dynamics", ""
    return "", f"{len(chosen)} out to {max(map(abs, FARTHEST)):g} spreads"


def call_error(subject: TorchSubject) -> float:
    """The largest error of mean and covariance of a small call from one state, in units of what is due; about h if right."""
    state = _states(subject)[0]
    h = min(subject.step, SHARE / curvature_of(subject)) / 64
    mean, square = moments(CallOfDraws(black_box(subject), state, h), h, SHARE)
    terms = _terms(subject, [state])
    covariance = (square - np.outer(mean, mean)) / h
    terms = terms.over(float(_time(subject, mean[None] / h, covariance[None], terms)))
    pairs = ((mean / h, terms.drift[0]), (covariance, terms.covariance[0]))
    return max(float(np.abs(own - due).max() / max(np.abs(due).max(), 1e-300)) for own, due in pairs)


def _time(subject: TorchSubject, mean: np.ndarray, covariance: np.ndarray, terms: Terms) -> Fraction:
    """For how many h a call of overdamped dynamics moves, where a density is given apart from the code."""
    own, overdamped = subject.scheme.own_loss, len(subject.scheme.dynamics.state) == 1
    given = overdamped and own is not None and own.density is not None
    return time_of_call(mean, covariance, terms) if given else Fraction(1)


def _shown(values: np.ndarray) -> str:
    return f"({', '.join(f'{value:.4g}' for value in values[:3])}{', ...' if len(values) > 3 else ''})"


def _scope(question: Question, other: TorchSubject | None, states: str) -> Scope:
    """That of single calls to first order in h, from these states of the code's own density."""
    temperatures = [question.configuration.temperature, *([other.configuration.temperature] if other else [])]
    return question.scope(
        steps=tried("h -> 0"),
        temperatures=tried(f"T = {' and '.join(f'{T:g}' for T in temperatures)}", temperatures),
        states=tried(states),
        gradients=tried("its own minibatches"),
    )


def _at_other_numbers(subject: TorchSubject) -> TorchSubject | None:
    """The subject at another temperature and friction, as far as the code is called with them; None if it is with neither."""
    c, told = subject.configuration, subject.scheme.declaration.ingredients
    changes = {
        field: OTHER * value
        for name, field, value in (("T", "temperature", c.temperature), ("D", "friction", c.friction))
        if name in told
    }
    return replace(subject, configuration=c.model_copy(update=changes)) if changes else None


def _and_there(here: Judgement, other: TorchSubject, there: Judgement) -> Judgement:
    """What is known from both subjects, of which the first conforms."""
    c, told = other.configuration, other.scheme.declaration.ingredients
    numbers = {"T": c.temperature, "D": c.friction}
    at = ", ".join(f"{name} = {value:g}" for name, value in numbers.items() if name in told)
    if there.verdict == "conforms":
        return replace(here, reason=f"{here.reason}; and so at {at}")
    return replace(there, reason=f"{there.reason}; at {at}, where it is called with other numbers")


def _judge(subject: TorchSubject, found: CallCoefficients, terms: Terms) -> Judgement:
    own = subject.scheme.own_loss
    assert own is not None
    time = _time(subject, found.mean, found.covariance, terms)
    terms = terms.over(float(time))
    noise = _apart(found.covariance, found.covariance_off, terms.covariance)
    if noise is not None and noise != "":
        return Judgement("inconclusive", False, f"the noise is {noise}")
    if noise == "":
        return Judgement("violates", False, cause_of_noise(found.covariance, terms))
    if own.density is None:
        return Judgement(
            "inconclusive",
            False,
            f"{WITHOUT}; its noise is that of the dynamics",
        )
    drift = _apart(found.mean, found.mean_off, terms.drift)
    if drift is not None and drift != "":
        return Judgement("inconclusive", False, f"the mean displacement is {drift}")
    if drift == "":
        told = cause_of_drift(found.mean, terms)
        indices = index_laws(found.laws, terms.size)
        return Judgement("violates", False, f"{told}{'; ' if indices else ''}{indices}")
    power = "h" if time == 1 else f"{time} h, for which a call moves,"
    data = f"the prior once and each of {terms.size} data once" if terms.size else "the density's gradient"
    return Judgement(
        "conforms",
        False,
        f"{found.minibatches} minibatches enumerated: mean and noise are right; per unit of {power} the mean has {data}, and the "
        f"covariance is that of T = {subject.configuration.temperature:g}, at {len(found.mean)} states",
    )


def _apart(value: np.ndarray, off: np.ndarray, due: np.ndarray) -> str | None:
    """None if equal, "" if not, or a sentence where the errors are too large to tell."""
    size = max(float(np.abs(due).max()), 1e-300)
    wrong = np.abs(value - due) > RIGHT * size + off
    if wrong.any():
        return ""
    if float(off.max()) > KNOWN * size:
        return f"known to {float(off.max() / size):.2g} of its size only: the code rounds too coarsely"
    return None


def _states(subject: TorchSubject) -> list[tuple[Tensor, ...]]:
    return states_of(subject, STATES if subject.target.dim > 1 else MORE_STATES)


def _terms(subject: TorchSubject, states: Sequence[tuple[Tensor, ...]]) -> Terms:
    """The drift and the covariance that are due per unit of h, and the drift's parts by prior and data."""
    target, dynamics = subject.target, subject.scheme.dynamics
    drifts, covariances, priors, data = [], [], [], []
    parameters = {name: parameters_of(subject.configuration)[name] for name in dynamics.parameters}
    for state in states:
        flat = [value.reshape(1, -1) for value in state]
        prior, each = gradients_by_datum(target, state[0].reshape(-1).numpy())

        def drift(gradient: np.ndarray, flat: list[Tensor] = flat) -> tuple[np.ndarray, np.ndarray]:
            first, second = coefficients_at(
                dynamics, parameters, flat, lambda theta: torch.tensor(gradient)[None]
            )
            return first[0], second[0]

        none, half = drift(np.zeros(target.dim))
        priors.append(drift(prior)[0] - none)
        data.append(np.array([drift(one)[0] - none for one in each]).reshape(len(each), len(none)))
        drifts.append(none + priors[-1] + data[-1].sum(axis=0))
        covariances.append(2 * np.diag(half))
    return Terms(np.array(drifts), np.array(covariances), np.array(priors), np.array(data), target.size or 0)


def _coefficients(subject: TorchSubject) -> CallCoefficients:
    curvature = curvature_of(subject)
    first = min(subject.step, SHARE / curvature)
    steps = np.array([first * 2.0**-k for k in range(STEPS)])
    means: list[Any] = []
    squares: list[Any] = []
    calls = 0
    box = black_box(subject)
    for state in _states(subject):
        call = CallOfDraws(box, state, first)
        pairs = [moments(call, float(h), float(h) * curvature) for h in steps]
        mean, square = (np.array([pair[k] for pair in pairs]) for k in range(2))
        sizes = np.sqrt(np.abs(square).max(axis=(1, 2)))
        wide = np.broadcast_to((2 * call.off * sizes)[:, None, None], square.shape)
        for found, values, off in (
            (means, mean, np.full(mean.shape, call.off)),
            (squares, square, wide),
        ):
            powers = powers_of_h(steps, values, off)
            found.append((powers.coefficients[1], 2 * powers.bounds[1]))
        calls += call.calls
    (mean, mean_off), (covariance, off) = (
        (np.array(part) for part in zip(*found, strict=True)) for found in (means, squares)
    )
    return CallCoefficients(mean, mean_off, covariance, off, calls, call.minibatches, call.laws)
