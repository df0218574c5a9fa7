"""The rows of the table of engines: models of each kind of randomness, small enough for all their paths."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from sgverify import scheme, sqrt
from sgverify.configuration import load_configuration
from sgverify.exact.answers import ExactAnswers, answers_for
from sgverify.schemes import Scheme, exp, find_scheme, kinetic, langevin
from sgverify.subject.subject import Subject
from tests.enumeration import Outcome, enumerate_runs
from tests.zoo.carriers import real
from tests.zoo.regressions import draw, table
from tests.zoo.schemes import bent, bounded, coins, heun_of_two_minibatches
from tests.zoo.schemes import heun as normal_heun

H = 0.0625


@scheme(langevin)
def plain(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + h * noise.two_point()


@scheme(langevin)
def heun(theta, *, h, grad, noise, T):
    guess = theta - h * grad(theta)
    return theta - h / 2 * (grad(theta) + grad(guess)) + h * noise.two_point()


@scheme(langevin)
def two_batches(theta, *, h, grad, noise, T):
    other = grad.fresh()
    return theta - h / 2 * (grad(theta) + other(theta - h * grad(theta))) + h * noise.two_point()


@scheme(kinetic)
def pushed(theta, p, *, h, grad, noise, D, T):
    p = (1 - D * h) * p - h * grad(theta) + h * noise.two_point()
    return theta + h * p, p


@scheme(kinetic)
def mixed(theta, p, *, h, grad, noise, D, T):
    kick = sqrt(2 * D * T * h) * (noise.two_point() + noise.three_point()) / sqrt(2)
    p = exp(-D * h) * p - h * grad(theta) + kick
    return theta + h * p, p


LINE = {"name": "gaussian-mean", "data": [0.5, -1.25, 2.0, 0.25]}
THREE = {"name": "gaussian-mean", "data": [0.5, -1.25, 2.0]}
FOUR = [[0.5, 1.0], [-1.25, 0.5], [2.0, -0.75], [0.25, -1.5]]
PLANE = {"name": "gaussian-mean", "dim": 2, "data": FOUR[:3]}
TILTED = {"name": "gaussian", "dim": 2, "precision": [[2.0, 0.5], [0.5, 1.0]], "mean": [0.5, -1.0]}
CROSSED = {**PLANE, "prior_precision": [[1.0, 0.0], [0.0, 3.0]], "noise_precision": [[0.75, 0.5], [0.5, 0.5]]}
"""Prior and likelihood whose Hessians do not commute."""


def regression(dim: int, size: int) -> dict[str, Any]:
    """Data with Hessians of their own."""
    rows = [[0.5, 1.5, -0.25], [-1.0, 0.75, 1.0], [1.25, -0.5, 0.5], [0.75, 1.0, -1.5]]
    return {"name": "linear-regression", "dim": dim, "data": [[*row[:dim], row[2]] for row in rows[:size]]}


def curved(size: int, dim: int) -> dict[str, Any]:
    """The same with a prior of its own."""
    return table(draw(size, dim, seed=dim))


@dataclass(frozen=True)
class Row:
    """A model, a test function, and a length whose paths are few; fractions unless a draw or a coefficient is none."""

    scheme: Scheme | str
    target: dict[str, Any]
    gradient: dict[str, Any]
    phi: str
    length: int
    exactly: bool = True
    more: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def subject(self) -> Subject:
        return subject_of(self.scheme, self.target, self.gradient, self.phi, **self.more)

    @cached_property
    def answers(self) -> ExactAnswers:
        return answers_for(self.subject.model)

    @cached_property
    def due(self) -> list[Outcome]:
        return enumerate_runs(self.subject, [H] * self.length, number=Fraction if self.exactly else real)

    def __str__(self) -> str:
        name = self.scheme if isinstance(self.scheme, str) else self.scheme.name
        kind = f"{self.gradient['kind']}{self.gradient.get('batch', '')}"
        return f"{name}-{self.target['name']}-{kind}-{self.phi}"


def fresh(kind: str, batch: int = 1, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "batch": batch, **more}


FULL = {"kind": "full"}
WARM = {"temperature": 1.5, "friction": 1.75, "start": 1.0}
AWAY = {"start": 1.5, "temperature": 0.75}
MOVING = {"start": -1.0, "start_momentum": "stationary"}

EXACT = [
    # scheme, target, gradient, test function, steps; what an engine does not answer is not asked
    Row(plain, LINE, fresh("iid", 2), "theta**2 - theta", 2),
    Row(heun, THREE, fresh("without-replacement", 2), "theta**3 + theta", 3),
    Row(plain, THREE, fresh("iid"), "theta**4 - theta", 3),
    Row(pushed, THREE, FULL, "theta**2*p + p**3 - theta", 4),
    Row(pushed, PLANE, fresh("iid"), "theta[0]*p[1] + theta[1]", 2),
    Row(plain, LINE, fresh("reshuffle"), "theta**2 - theta", 4),
    Row(two_batches, LINE, fresh("reshuffle"), "theta**2", 3, False),
    Row(pushed, THREE, fresh("reshuffle"), "theta*p + theta**2", 4),
    Row(plain, PLANE, fresh("reshuffle"), "theta[0]*theta[1]", 3),
    Row(plain, THREE, fresh("reshuffle", 3), "theta**2 + theta", 2),
    Row(plain, THREE, fresh("symmetric"), "theta**2 - theta", 7),
    Row(heun, LINE, fresh("symmetric", 2), "theta**2", 5),
    Row(pushed, THREE, fresh("symmetric"), "theta*p", 5),
    Row(plain, regression(1, 3), fresh("iid"), "theta**2 - 3*theta", 3),
    Row(two_batches, regression(1, 2), fresh("iid"), "theta**2", 2),
    Row(heun, regression(2, 2), fresh("without-replacement"), "theta[0]*theta[1]", 2),
    Row(pushed, regression(1, 3), fresh("without-replacement", 2), "theta**2 + p", 3),
    Row(plain, regression(1, 4), fresh("reshuffle", 2), "theta**2 + theta", 3),
    Row(pushed, regression(1, 3), fresh("reshuffle"), "theta*p", 4),
    Row(heun, regression(1, 3), fresh("symmetric"), "theta**2", 7, False),
    Row(plain, regression(1, 3), fresh("svrg", refresh=2), "theta**2 - theta", 3),
    Row(two_batches, regression(1, 2), fresh("svrg", refresh=2), "theta**2", 2),
    Row(pushed, regression(1, 2), fresh("svrg", refresh=3), "theta*p + theta", 4),
    # The Hessians of prior and likelihood do not commute; blocks of one permutation meet twice in a step, there and back.
    Row(plain, CROSSED, fresh("iid", 2), "theta[0]*theta[1] - theta[0]", 2),
    Row(pushed, CROSSED, fresh("symmetric"), "theta[0]*p[1] + theta[1]**2", 4, False),
    Row(two_batches, {**CROSSED, "data": FOUR}, fresh("symmetric"), "theta[0]**2", 3, False),
]

BOUNDED = [
    Row(coins, TILTED, FULL, "theta[0]*theta[1] + theta[0]**2", 3, False),
    Row(coins, THREE, FULL, "theta**4 - theta**3", 4, False, AWAY),
    Row(bounded, THREE, FULL, "theta**4 - theta**3", 4, False),
    Row(bounded, THREE, {"kind": "additive", "covariance": 0.5}, "theta**2", 3, False),
    Row(mixed, THREE, FULL, "theta**2 + theta*p", 3, False, MOVING),
    Row(mixed, THREE, FULL, "theta**3 + theta*p**2", 3, False, MOVING),
    Row(coins, TILTED, FULL, "theta[0]**4 - 3*theta[0]**2*theta[1]**2 + theta[1]", 2, False, AWAY),
    Row(mixed, TILTED, FULL, "theta[0]**2 + theta[1]", 2, False),
    Row(coins, LINE, fresh("iid", 2), "theta**2", 2, False),
    Row(coins, LINE, fresh("without-replacement", 2), "theta**4", 2, False),
    Row(mixed, LINE, fresh("without-replacement", 3), "theta**2", 2, False),
    Row(coins, LINE, fresh("reshuffle", 2), "theta**2", 3, False, AWAY),
    Row(coins, curved(3, 1), fresh("iid", 2), "theta**2 - theta", 2, False, WARM),
    Row(
        coins,
        curved(3, 2),
        fresh("without-replacement", 2),
        "theta[0]*theta[1] + theta[1]**2",
        2,
        False,
        WARM,
    ),
]

NORMAL = [
    Row("sgld-euler", curved(3, 1), fresh("iid", 2), "theta**2 - 3*theta + 2", 2, False, WARM),
    Row(
        "sgld-euler",
        curved(3, 2),
        fresh("without-replacement", 2),
        "theta[0]*theta[1] + theta[1]**2",
        2,
        False,
        WARM,
    ),
    Row("sgld-euler", curved(2, 3), fresh("iid"), "theta[0]*theta[2] + theta[1]", 1, False, WARM),
    Row(normal_heun, curved(3, 1), fresh("without-replacement", 2), "theta**2 - 3*theta + 2", 2, False, WARM),
    Row(heun_of_two_minibatches, curved(2, 1), fresh("iid"), "theta**2 - 3*theta + 2", 2, False, WARM),
    Row(
        heun_of_two_minibatches,
        curved(2, 2),
        fresh("without-replacement"),
        "theta[0]*theta[1] + theta[1]**2",
        1,
        False,
        WARM,
    ),
    Row(bent, curved(3, 1), fresh("without-replacement", 2), "theta**2 - 3*theta + 2", 2, False, WARM),
    Row("sghmc-euler", curved(3, 1), fresh("iid", 2), "theta**2 + theta*p", 2, False, WARM),
    Row(
        "sghmc-euler-explicit",
        curved(3, 1),
        fresh("without-replacement", 2),
        "theta**2 + theta*p",
        2,
        False,
        WARM,
    ),
    Row("sghmc-aboba", curved(3, 1), fresh("iid", 2, scale=0.5), "theta**2 + theta*p", 2, False, WARM),
    Row("sghmc-aboba", curved(3, 1), fresh("without-replacement", 2), "theta**2 + theta*p", 3, False, WARM),
    Row("sghmc-aboba", curved(2, 2), fresh("iid"), "theta[0]*theta[1] - p[1]", 2, False, WARM),
    Row("sghmc-chen-boaob", curved(3, 1), fresh("iid", 2), "theta**2 + theta*p", 1, False, WARM),
    Row("sghmc-baoab", curved(3, 1), fresh("iid"), "theta**2 + theta*p", 2, False, {**WARM, **MOVING}),
    Row("sghmc-obabo", curved(2, 1), fresh("iid"), "theta**2 + theta*p", 1, False, WARM),
    Row("sghmc-baoab", CROSSED, FULL, "theta[0]*p[1] + theta[1]**2", 2, False, MOVING),
    Row("sgld-euler", CROSSED, fresh("iid", 2), "theta[0]*theta[1] + theta[1]", 2, False, AWAY),
    Row("sgld-euler", THREE, fresh("without-replacement", scale=1.5), "theta**2 - theta", 3, False, AWAY),
    Row(
        "sghmc-aboba",
        TILTED,
        {"kind": "additive", "covariance": [[1.0, 0.5], [0.5, 2.0]]},
        "theta[0]*theta[1] + p[0]",
        1,
        False,
        MOVING,
    ),
    Row("sghmc-euler", THREE, fresh("iid"), "theta**2 + theta*p", 2, False, {**WARM, **MOVING}),
    Row("sghmc-euler", THREE, fresh("reshuffle"), "theta**2 + theta*p", 3, False, MOVING),
]

TABLE = [*EXACT, *BOUNDED, *NORMAL]


def subject_of(made: Any, target: Any, gradient: Any, phi: str, **more: Any) -> Subject:
    tree = {
        "target": target,
        "gradient": gradient,
        "test_function": phi,
        "schedule": {"step": H},
        "start": 0.0,
    }
    made = find_scheme(made) if isinstance(made, str) else made
    return Subject(made, load_configuration({**tree, **more}), "")
