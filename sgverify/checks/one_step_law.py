"""Check: from any state the running code takes the step that the definition takes, and so has its expectations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.checks.injected import slope_of, states_of
from sgverify.checks.making import make_evidence, unsettled
from sgverify.checks.sampled_rung import run_seed
from sgverify.checks.subject import Subject
from sgverify.claims import Claim
from sgverify.errors import DefinitionError
from sgverify.evidence import Evidence
from sgverify.exact.cubature import normal_cubature
from sgverify.exact.long_double import LongDoubleGradient, step_in_long_double
from sgverify.rates import Judgement
from sgverify.samplers import Settings
from sgverify.samplers.intercepted.given_run import run_given

CHECK = "one-step-law"

LENGTH = 4
"""Steps: the sampler runs the definition, records it, holds the recording against it, and plays it."""

DEGREE = 5
"""The nodes of the first step's draws are exact for polynomials of this degree."""

MOST_NODES = 64
"""More draws than these nodes serve are put at as many random places instead, and no expectation is formed."""

FEW = 8
"""Chains of the later steps that are looked at."""

MARGIN = 64
"""Roundings grow with the unit roundoff u: the same code in float32 shows how many there are. float64 makes a few more
of them than float32, whose constants are computed in float64 and rounded once, and chance may add up otherwise."""

RATIO, UNIT = 2.0**-29, 2.0**-53

MOST_WORK = 4_000_000
"""Data times states at most that are visited in long double."""


@dataclass(frozen=True)
class _Plan:
    """One step's states and draws: the nodes' weights where they stand for normal draws."""

    state: list[np.ndarray]
    draws: np.ndarray
    weights: np.ndarray | None
    minibatches: list[list[int]]


def check_one_step_law(subject: Subject, claim: Claim) -> Evidence:
    """Each step of the sampler on chosen draws and minibatches is the definition's in long double, up to rounding.

    The draws of the first step stand at the nodes of a cubature, so that E f(X_1) is compared too, for f = theta, theta^2 and
    their like. Gradients in long double come from Taylor polynomials of the potential, on any target.
    """
    c = subject.configuration
    if c.gradient.kind == "svrg":
        return unsettled(
            subject,
            claim,
            CHECK,
            "gradient.kind='svrg' carries a snapshot from step to step, so that a step has no law of its own",
            "not-applicable",
        )
    plan = _plan(subject)
    work = plan.draws.shape[2] * (subject.target.size or 0)
    if work > MOST_WORK:
        return unsettled(
            subject,
            claim,
            CHECK,
            f"{subject.target.size} data at {plan.draws.shape[2]} states are more than are visited in long double",
        )
    runs = {name: _run(subject, plan, name) for name in ("float64", "float32")}
    try:
        expected = {
            name: [_definition(subject, plan, run, l) for l in _looked_at()] for name, run in runs.items()
        }
    except DefinitionError as error:
        return unsettled(subject, claim, CHECK, f"the potential cannot be read in long double: {error}")
    gaps = {name: _gaps(runs[name], expected[name], plan) for name in runs}
    return _evidence(subject, claim, plan, runs["float64"], expected["float64"], gaps)


def _looked_at() -> tuple[int, ...]:
    return (1, LENGTH)


def _plan(subject: Subject) -> _Plan:
    scheme, dim = subject.scheme, subject.target.dim
    numbers = scheme.draws * dim
    normal = all(law.normal for law in scheme.laws)
    weights: np.ndarray | None = None
    random = np.random.default_rng(run_seed(subject, CHECK))
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
        if not law.normal:
            table = np.array([float(value) for value in law.table])
            draws[:, place] = random.choice(table, size=draws[:, place].shape)
    start = [value.numpy().reshape(-1) for value in states_of(subject, 1)[0]]
    state = [np.repeat(value[None], len(nodes), axis=0) for value in start]
    chosen = slope_of(subject, seed=run_seed(subject, CHECK, "minibatches")).minibatches
    batches = [batch.tolist() for batch in chosen[: max(1, scheme.minibatches)]]
    return _Plan(state, draws, weights, batches)


def _run(subject: Subject, plan: _Plan, dtype: str) -> list[list[np.ndarray]]:
    return run_given(
        subject.scheme,
        subject.target,
        h=subject.step,
        state=plan.state,
        draws=plan.draws,
        minibatches=plan.minibatches,
        settings=Settings.of(subject.configuration, dtype=dtype, device="cpu", burn_in=0, thinning=1),
    )


def _definition(
    subject: Subject, plan: _Plan, run: Sequence[Sequence[np.ndarray]], number: int
) -> list[np.ndarray]:
    """X_l from the run's own X_(l-1), by the definition."""
    c = subject.configuration
    few = slice(None) if number == 1 else slice(0, FEW)
    # In float32 the first state and the draws are rounded: they are part of what float32 does.
    before = plan.state if number == 1 else run[number - 1]
    return step_in_long_double(
        subject.scheme,
        [value[few] for value in before],
        [draw[few] for draw in plan.draws[number - 1]],
        h=subject.step,
        gradient=LongDoubleGradient(
            subject.target, plan.minibatches, scale=c.gradient.scale, clip=c.gradient.clip
        ),
        parameters={"T": c.temperature, "D": c.friction},
        dim=subject.target.dim,
        metric=subject.metric,
    )


def _gaps(
    run: Sequence[Sequence[np.ndarray]], expected: Sequence[Sequence[np.ndarray]], plan: _Plan
) -> list[list[np.ndarray]]:
    """X_l of the code less that of the definition, for each step that is looked at and each variable."""
    return [
        [
            np.asarray(found[: len(due)] - due, dtype=np.float64)
            for found, due in zip(run[l], values, strict=True)
        ]
        for l, values in zip(_looked_at(), expected, strict=True)
    ]


def _evidence(
    subject: Subject,
    claim: Claim,
    plan: _Plan,
    run: Sequence[Sequence[np.ndarray]],
    expected: Sequence[Sequence[np.ndarray]],
    gaps: dict[str, list[list[np.ndarray]]],
) -> Evidence:
    worst: tuple[float, str] = (0.0, "")
    # A sum over the data rounds once for each of them; its constants are summed in float64 whatever the run's format.
    gradient = LongDoubleGradient(subject.target, scale=subject.configuration.gradient.scale)
    summed = subject.step * (MARGIN + (subject.target.size or 0)) * gradient.size(plan.state[0][:1])
    bounds: dict[str, float] = {}
    for place, name in enumerate(subject.scheme.state):
        sizes = [np.abs(np.asarray(value[place], dtype=np.float64)) for value in expected]
        size = max(float(np.nanmax(part)) for part in [*sizes, np.abs(plan.state[place])])
        single = max(float(np.nanmax(np.abs(part[place]))) for part in gaps["float32"])
        bound = MARGIN * (RATIO * single + UNIT * size) + UNIT * summed
        bounds[name] = bound
        for l, part in zip(_looked_at(), gaps["float64"], strict=True):
            apart = float(np.max(np.abs(part[place])))
            if not math.isfinite(apart) or apart > bound:
                ratio = apart / bound if math.isfinite(apart) else math.inf
                if ratio > worst[0]:
                    chain = int(np.nanargmax(np.abs(part[place]).max(axis=-1)))
                    what = "taken by the definition" if l == 1 else "played"
                    worst = (
                        ratio,
                        (
                            f"step {l} ({what}) ends at another {name}: {apart:.3g} away from the definition in long double (chain "
                            f"{chain}), where rounding explains {bound:.2g}"
                        ),
                    )
    certificate: dict[str, Any] = {
        "states": len(plan.state[0]),
        "steps": list(_looked_at()),
        "rounding_explains": bounds,
        "largest_gap": {
            name: max(float(np.max(np.abs(part[place]))) for part in gaps["float64"])
            for place, name in enumerate(subject.scheme.state)
        },
        "minibatches": len(plan.minibatches),
    }
    if plan.weights is not None:
        certificate["expectations"] = _expectations(subject, plan.weights, run[1], expected[0])
        certificate["exact_for_polynomials_of_degree"] = DEGREE
    nodes = f"{len(plan.state[0])} {'nodes' if plan.weights is not None else 'draws'}"
    text = (
        worst[1]
        or f"at {nodes} the sampler's steps are the definition's in long double, gradients by Taylor polynomials of the "
        f"potential: no coordinate is further off than {max(certificate['largest_gap'].values()):.2g}"
    )
    return make_evidence(
        subject,
        claim,
        CHECK,
        method="quadrature",
        judgement=Judgement("violates" if worst[1] else "conforms", False, text),
        certificate=certificate,
    )


def _expectations(
    subject: Subject, weights: np.ndarray, found: Sequence[np.ndarray], due: Sequence[np.ndarray]
) -> dict[str, list[float]]:
    """E f(X_1) by the running code and by the definition, f each variable's first coordinate and its square."""
    table = {}
    for name, a, b in zip(subject.scheme.state, found, due, strict=True):
        for power, label in ((1, name), (2, f"{name}^2")):
            table[f"E {label}"] = [float(weights @ a[:, 0] ** power), float(weights @ b[:, 0] ** power)]
    return table


__all__ = ["check_one_step_law"]
