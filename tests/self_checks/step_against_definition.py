"""Check: does the running code take, from any state, the step that its definition takes?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sgverify.errors import DefinitionError
from sgverify.exact.numbers.quadrature import EXTENDED, normal_cubature
from sgverify.exact.readings.long_double import (
    LongDouble,
    extended,
    step_in_long_double,
)
from sgverify.law.chosen_step import chosen_gradient, states_of
from sgverify.rates.verdict import Judgement
from sgverify.samplers import Settings
from sgverify.schemes.definition.binding import parameters_of
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject
from tests.self_checks.finding import Finding, finding, unanswered
from tests.self_checks.given_steps import run_given
from tests.self_checks.long_double import BITS, Coarse, MinibatchGradient
from tests.self_checks.transcripts import SHRUNK

STAGE = "one-step-law"

LENGTH = 4
"""The number of steps: in them the sampler runs the definition, records it, compares the recording, and plays it."""

DEGREE = 5
"""The nodes of the first step's draws are exact for polynomials of this degree."""

MOST_NODES = 64
"""The largest number of nodes. If a cubature needs more, as many random draws are used, and no expectation is formed."""

FEW = 8
"""The number of chains that are compared after the first step."""

MARGIN = 64
"""The safety factor of the rounding bound. The effect of rounding is proportional to the unit roundoff u, so that the
definition in `BITS` bits shows its size, up to the chance by which single roundings add up or cancel; that chance does not
reach this factor over the effect seen at a few nodes."""

SHIFTS = (0.0, 1e-6, -1e-6, 2e-6, -2e-6)
"""The relative shifts of h at which constants in float64 and in long double are compared: a constant that happens to be
rounded well at one h is not at its neighbours."""

RATIO, UNIT = 2.0 ** (BITS - 53), 2.0**-53

GROWN = 1e6
"""The growth factor of a state within these steps beyond which it counts as divergent: its rounding bound would be as large
as the state."""

MOST_WORK = 4_000_000
"""The largest number of data times states that are evaluated in long double."""


@dataclass(frozen=True)
class _Plan:
    """The step size, states, draws and minibatches of a run; `weights` are those of the nodes, None for random draws."""

    h: float
    state: list[np.ndarray]
    draws: np.ndarray
    weights: np.ndarray | None
    minibatches: list[list[int]]


def check_one_step_law(subject: Subject) -> Finding:
    """Each step of the sampler on chosen draws and minibatches is the definition's in long double, up to rounding.

    The draws of the first step are the nodes of a cubature, so that the expectations E f(X_1) are compared too, for the first
    coordinate f of each variable and its square. Gradients in long double come from Taylor polynomials of the potential,
    on any target.

    Cannot see: whether the definition is right, and how a run draws its random numbers: here they are chosen.
    """
    c = subject.configuration
    if c.gradient.estimator.memory:
        return unanswered(
            f"a step has no law of its own; gradient.kind={c.gradient.kind!r} carries {c.gradient.estimator.memory} from step to "
            "step",
            "not-applicable",
        )
    plan = _plan(subject)
    work = plan.draws.shape[2] * (subject.target.size or 0)
    if work > MOST_WORK:
        return unanswered(
            f"too many data for long double; {subject.target.size} at {plan.draws.shape[2]} states, and {MOST_WORK} in all are "
            "visited",
        )
    for factor in SHRUNK:
        plan = replace(plan, h=subject.step / factor)
        run = _run(subject, plan)
        largest = GROWN * max(float(np.abs(value).max()) for value in plan.state)
        if len(run) > LENGTH and all(np.all(np.abs(value) <= largest) for state in run for value in state):
            break
    else:
        reason = (
            f"the chains diverge within {LENGTH} steps; of size {subject.step:.3g} and of {plan.h:.3g} alike"
        )
        return unanswered(reason, method="quadrature")
    try:
        expected = [_definition(subject, plan, run, l) for l in _looked_at()]
        rounding = _rounding(subject, plan, run, expected)
    except DefinitionError as error:
        return unanswered(f"the potential cannot be read in long double: {error}")
    if not all(math.isfinite(bound) for bound in rounding.values()):
        reason = (
            f"roundings cannot be measured; a step of size {plan.h:.3g} leaves every bound in long double"
        )
        return unanswered(reason, method="quadrature")
    return _finding(subject, plan, run, expected, rounding)


def _looked_at() -> tuple[int, ...]:
    return (1, LENGTH)


def _plan(subject: Subject) -> _Plan:
    scheme, dim = subject.scheme, subject.target.dim
    numbers = scheme.draws * dim
    normal = all(law.normal for law in scheme.laws)
    weights: np.ndarray | None = None
    random = np.random.default_rng(run_seed(subject, STAGE))
    nodes = None
    if normal and 2 * numbers**2 + 1 <= MOST_NODES:
        nodes, weights = normal_cubature(numbers, DEGREE)
    elif normal and 2 * numbers + 1 <= MOST_NODES:
        nodes, weights = normal_cubature(numbers, 3)
    else:
        nodes = random.standard_normal((MOST_NODES // 2, numbers))
    first = nodes.reshape(len(nodes), scheme.draws, dim).swapaxes(0, 1)
    draws = np.stack([first, *(random.standard_normal(first.shape) for _ in range(LENGTH - 1))])
    for place, law in enumerate(scheme.laws):
        if law.edge is not None:
            draws[:, place] = random.uniform(-law.largest, law.largest, size=draws[:, place].shape)
        elif not law.normal:
            table = np.array([float(value) for value in law.table])
            draws[:, place] = random.choice(table, size=draws[:, place].shape)
    start = [value.numpy().reshape(-1) for value in states_of(subject, 1)[0]]
    state = [np.repeat(value[None], len(nodes), axis=0) for value in start]
    chosen = chosen_gradient(subject, seed=run_seed(subject, STAGE, "minibatches")).minibatches
    batches = [batch.tolist() for batch in chosen[: max(1, scheme.minibatches)]]
    return _Plan(subject.step, state, draws, weights, batches)


def _run(subject: Subject, plan: _Plan) -> list[list[np.ndarray]]:
    return run_given(
        subject.scheme,
        subject.target,
        h=plan.h,
        state=plan.state,
        draws=plan.draws,
        minibatches=plan.minibatches,
        settings=Settings.of(subject.configuration, dtype="float64", device="cpu", burn_in=0, thinning=1),
    )


def _definition(
    subject: Subject,
    plan: _Plan,
    run: Sequence[Sequence[np.ndarray]],
    number: int,
    *,
    constants: Any = EXTENDED,
    most: int | None = None,
    h: float | None = None,
    carrier: type[LongDouble] = LongDouble,
) -> list[np.ndarray]:
    """X_l by the definition from the run's own X_(l-1); X_1 from the chosen states."""
    c = subject.configuration
    few = slice(0, most) if number == 1 else slice(0, FEW)
    before = plan.state if number == 1 else run[number - 1]
    return step_in_long_double(
        subject.scheme,
        [value[few] for value in before],
        [draw[few] for draw in plan.draws[number - 1]],
        h=plan.h if h is None else h,
        gradient=MinibatchGradient(
            subject.target,
            plan.minibatches,
            scale=c.gradient.scale,
            clip=c.gradient.clip,
            centre=c.gradient.estimator.centre_float64(subject.target),
        ),
        parameters=parameters_of(c),
        dim=subject.target.dim,
        metric=subject.metric,
        carrier=extended(constants, carrier),
    )


def _rounding(
    subject: Subject,
    plan: _Plan,
    run: Sequence[Sequence[np.ndarray]],
    expected: Sequence[Sequence[np.ndarray]],
) -> dict[str, float]:
    """A bound, for each variable, of the effect of rounding in float64 on one step.

    The bound has four parts, none of which uses the running code: a flawed code must not enlarge its own tolerance.

    1. The effect of evaluating the definition with fewer bits, scaled to float64.
    2. The effect of constants in float64, from the definition evaluated with such constants.
    3. One rounding per datum in a sum over the data.
    4. The unit roundoff of each number itself.
    """
    gradient = MinibatchGradient(subject.target, scale=subject.configuration.gradient.scale)
    # A control variate adds two more sums over the data.
    sums = 3 if subject.configuration.gradient.estimator.centred else 1
    summed = sums * plan.h * (MARGIN + (subject.target.size or 0)) * gradient.size(plan.state[0][:1])
    # The draws of the second step, since most coordinates of the first step's nodes are 0.
    later = replace(plan, draws=plan.draws[1:])
    rough = [np.zeros(len(plan.state))]
    for shift in SHIFTS:
        found = [
            _definition(subject, later, (), 1, constants=kind, most=2, h=plan.h * (1 + shift))
            for kind in (np.float64, EXTENDED)
        ]
        rough.append(np.array([float(np.abs(a - b).max()) for a, b in zip(*found, strict=True)]))
    constant = np.max(rough, axis=0)
    coarse = [_definition(subject, plan, run, l, carrier=Coarse) for l in _looked_at()]
    bounds = {}
    for place, name in enumerate(subject.scheme.state):
        sizes = [float(np.abs(part).max()) for part in (*(e[place] for e in expected), plan.state[place])]
        lost = max(
            float(np.abs(some[place] - due[place]).max()) for some, due in zip(coarse, expected, strict=True)
        )
        bounds[name] = MARGIN * (RATIO * lost + float(constant[place]) + UNIT * max(sizes)) + UNIT * summed
    return bounds


def _finding(
    subject: Subject,
    plan: _Plan,
    run: Sequence[Sequence[np.ndarray]],
    expected: Sequence[Sequence[np.ndarray]],
    rounding: dict[str, float],
) -> Finding:
    worst: tuple[float, str] = (0.0, "")
    largest = dict.fromkeys(subject.scheme.state, 0.0)
    for l, values in zip(_looked_at(), expected, strict=True):
        for name, found, due in zip(subject.scheme.state, run[l], values, strict=True):
            apart = np.abs(found[: len(due)] - due).max(axis=-1)
            gap = float(apart.max())
            largest[name] = max(largest[name], gap)
            if not gap <= rounding[name]:
                ratio = gap / rounding[name] if math.isfinite(gap) else math.inf
                what = "taken by the definition" if l == 1 else "played"
                if ratio > worst[0]:
                    worst = (
                        ratio,
                        (
                            f"{name} after step {l} is off by {gap:.3g}, rounding {rounding[name]:.1g}; step {l} ({what}) ends "
                            f"that far from the definition in long double (chain {int(np.argmax(apart))})"
                        ),
                    )
    certificate: dict[str, Any] = {
        "states": len(plan.state[0]),
        "steps": list(_looked_at()),
        "rounding_explains": rounding,
        "largest_gap": largest,
        "minibatches": len(plan.minibatches),
    }
    if plan.weights is not None:
        certificate["expectations"] = _expectations(subject, plan.weights, run[1], expected[0])
    nodes = f"{len(plan.state[0])} {'nodes' if plan.weights is not None else 'draws'}"
    text = (
        worst[1]
        or f"steps at {nodes} are the definition's; in long double, gradients by Taylor polynomials of the potential: no "
        f"coordinate is further off than {max(largest.values()):.2g}"
    )
    return finding(
        method="quadrature",
        judgement=Judgement("violates" if worst[1] else "conforms", False, text),
        certificate=certificate,
    )


def _expectations(
    subject: Subject, weights: np.ndarray, found: Sequence[np.ndarray], due: Sequence[np.ndarray]
) -> dict[str, list[float]]:
    """E f(X_1) by the running code and by the definition; f is each variable's first coordinate, and its square."""
    table = {}
    for name, a, b in zip(subject.scheme.state, found, due, strict=True):
        for power, label in ((1, name), (2, f"{name}^2")):
            table[f"E {label}"] = [float(weights @ a[:, 0] ** power), float(weights @ b[:, 0] ** power)]
    return table


__all__ = ["check_one_step_law"]
