"""What a step costs: counted against samplers that keep every gradient they have."""

from __future__ import annotations

import numpy as np

from sgverify import scheme, sqrt
from sgverify.schemes import Scheme, find_scheme, kinetic, langevin
from sgverify.schemes.definition.limits import evaluations
from tests.tables import each_row


@scheme(langevin)
def heun(theta, *, h, grad, noise, T):
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad(guess)) + kick


@scheme(langevin)
def two_batches(theta, *, h, grad, noise, T):
    return theta - h / 2 * (grad(theta) + grad.fresh()(theta)) + sqrt(2 * T * h) * noise()


@scheme(kinetic, memory={"g": lambda theta, p, *, grad: grad(theta)})
def kept(theta, p, g, *, h, grad, noise, D, T):
    """Velocity Verlet with its last gradient in memory: one evaluation as it is written."""
    p = p - h / 2 * g - h * D * p + sqrt(2 * D * T * h) * noise()
    theta = theta + h * p
    g = grad(theta)
    return theta, p - h / 2 * g, g


def counted(item: Scheme, minibatches: bool) -> int:
    """Evaluations of the second of two steps by a sampler with an unlimited memory of (minibatch, place)."""
    rng, known, new, batches = np.random.default_rng(0), {}, [], [0]

    class Gradient:
        def __init__(self, batch: int) -> None:
            self.batch = batch

        def __call__(self, place: np.ndarray) -> np.ndarray:
            key = (self.batch, place.astype(float).tobytes())
            if key not in known:
                known[key] = 3.0 * place
                new.append(key)
            return known[key]

        def fresh(self) -> Gradient:
            batches[0] += 1
            return Gradient(batches[0] if minibatches else 0)

    first = Gradient(0)
    given = {"h": 0.1, "noise": lambda: rng.normal(size=2), "D": 2.0, "T": 1.0}
    state = tuple(rng.normal(size=2) for _ in item.dynamics.state)
    if item.memory:
        state = item.start_memory(state, grad=first, **given)
    for _ in range(2):
        new.clear()
        state = item.step(state, grad=first.fresh() if minibatches else first, **given)
    return len(new)


@each_row("minibatches", [False, True])
@each_row(
    "item",
    [heun, two_batches, kept]
    + [
        find_scheme(f"sghmc-{name}")
        for name in ("euler", "aboba", "baoab", "obabo", "oabao", "chen-boaob", "md-babobab")
    ],
)
def test_the_count_is_that_of_a_sampler_that_forgets_nothing(item: Scheme, minibatches: bool) -> None:
    assert evaluations(item, minibatches=minibatches) == counted(item, minibatches)


def test_a_second_evaluation_is_paid_for() -> None:
    """A cost per step in place of a cost per gradient would call Heun as cheap as Euler."""
    assert [evaluations(heun, minibatches=m) for m in (False, True)] == [2, 2]
    assert [evaluations(find_scheme("sgld-euler"), minibatches=m) for m in (False, True)] == [1, 1]
    assert [evaluations(two_batches, minibatches=m) for m in (False, True)] == [1, 2]
    assert evaluations(find_scheme("sgnht-euler"), minibatches=True) == 1
