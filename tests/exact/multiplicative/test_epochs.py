"""Reshuffled minibatches against every permutation of the data, epoch by epoch in float64."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import answers_for, unreached
from sgverify.exact.recursion.orders import count_products, is_enumerable
from tests.exact.multiplicative.models import draw, find, subject
from tests.exact.multiplicative.test_laws import matrices


def ordered_partitions(items: tuple[int, ...], batch: int) -> list[list[tuple[int, ...]]]:
    if not items:
        return [[]]
    return [
        [block, *rest]
        for block in itertools.combinations(items, batch)
        for rest in ordered_partitions(tuple(i for i in items if i not in block), batch)
    ]


def run(
    name: str, data: Any, batch: int, step: float, start: Any, length: int, *, backward: bool = False
) -> list[Any]:
    """E X_l X_l^T for l = 1..length over all permutations: epochs are independent, their blocks are not.

    `backward`: every sweep over the blocks is followed by the same one backward.
    """
    blocks = list(itertools.combinations(range(len(data)), batch))
    parts = dict(zip(blocks, matrices(find(name), data, "without-replacement", batch, step), strict=True))
    epochs = ordered_partitions(tuple(range(len(data))), batch)
    if backward:
        epochs = [[*epoch, *reversed(epoch)] for epoch in epochs]
    mean, second, found = start, np.outer(start, start), []
    while len(found) < length:
        paths = []
        for epoch in epochs:
            x, xx, path = mean, second, []
            for block in epoch:
                m, c, q = parts[block]
                xx = m @ xx @ m.T + np.outer(m @ x, c) + np.outer(c, m @ x) + np.outer(c, c) + q
                x = m @ x + c
                path.append((x, xx))
            paths.append(path)
        for position in range(len(epochs[0])):
            found.append(sum(path[position][1] for path in paths) / len(paths))
        mean = sum(path[-1][0] for path in paths) / len(paths)
        second = found[-1]
    return found[:length]


CASES = [("sgld-euler", 1, 4, 1), ("heun", 1, 4, 2), ("sghmc-aboba", 1, 4, 2), ("sghmc-baoab", 2, 4, 2)]


@pytest.mark.parametrize(("name", "dim", "size", "batch"), CASES)
def test_the_bias_is_that_of_every_permutation(name: str, dim: int, size: int, batch: int) -> None:
    data, step = draw(size, dim, seed=7), 0.0625
    phi, place = ("theta**2", (0, 0)) if dim == 1 else ("theta[0]*theta[1]", (0, 1))
    found = subject(name, data, "reshuffle", batch, phi)
    answers = answers_for(found.model)
    assert answers.steps == size // batch
    start = np.array([float(v.mid()) for v in found.model.start_law()[0].entries()])
    values = [second[place] for second in run(name, data, batch, step, start, 1200)]
    truth = float(found.truth)
    for length in (1, 2, 3, answers.steps, 7, 1200):
        expected = float(np.mean(values[:length])) - truth
        assert answers.bias(fixed_step(step), length).value == pytest.approx(expected, rel=1e-9)
    settled = float(np.mean(values[-answers.steps :])) - truth
    assert answers.stationary_bias(fixed_step(step)).value == pytest.approx(settled, rel=1e-8)
    moments = answers.moments(fixed_step(step))
    second = moments.covariance[place] + moments.mean[place[0], 0] * moments.mean[place[1], 0]
    assert float(second.mid()) - truth == pytest.approx(settled, rel=1e-8)


def test_independent_subsets_are_another_law() -> None:
    data = draw(4, 1, seed=7)
    one, other = (
        answers_for(subject("sgld-euler", data, kind, 2, "theta**2").model)
        for kind in ("reshuffle", "without-replacement")
    )
    step = fixed_step(0.0625)
    assert abs(one.stationary_bias(step).value / other.stationary_bias(step).value - 1) > 1e-3


@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-aboba"])
def test_the_expansion_is_that_of_the_stationary_bias(name: str) -> None:
    answers = answers_for(subject(name, draw(4, 1, seed=7), "reshuffle", 2, "theta**2 + theta").model)
    assert answers.expansion.exact and answers.expansion.values[0] == 0.0
    rest = []
    for h in (2.0**-8, 2.0**-9):
        partial = sum(b * h**k for k, b in enumerate(answers.expansion.values))
        rest.append(answers.stationary_bias(fixed_step(h)).value - partial)
    assert rest[0] / rest[1] == pytest.approx(32, rel=0.1)
    h, length = 2.0**-10, 10**9
    exact = length * (
        answers.bias(fixed_step(h), length).value - answers.stationary_bias(fixed_step(h)).value
    )
    series = sum(t * h ** (k - 1) for k, t in enumerate(answers.transient.values))
    assert exact == pytest.approx(series, rel=1e-6)


def test_order_two_returns_under_reshuffling() -> None:
    values = {
        name: answers_for(
            subject(name, draw(6, 1, seed=7), "reshuffle", 3, "theta**2").model
        ).expansion.values
        for name in ("sgld-euler", "sghmc-aboba")
    }
    assert values["sgld-euler"][1] != 0.0
    assert values["sghmc-aboba"][:2] == (0.0, 0.0) and values["sghmc-aboba"][2] != 0.0


def test_products_are_counted_and_too_many_are_refused() -> None:
    # 4 data in blocks of 2: six first blocks, each followed by the one that is left.
    assert count_products(4, 2) == 12
    why = unreached(subject("sgld-euler", draw(20, 1, seed=1), "reshuffle", 2, "theta**2").model)
    assert why is not None and "too many orders to enumerate" in why
    assert is_enumerable(10, 2) and not is_enumerable(12, 6) and not is_enumerable(10**6, 10)
    why = unreached(subject("fresh-heun", draw(4, 1, seed=1), "reshuffle", 1, "theta**2").model)
    assert why is not None and "2 minibatches" in why
