"""Minibatches in C: the data of every minibatch, row and chain are those of the definition's sources."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sgverify.samplers import GradientChoice, Settings, fixed, sample
from sgverify.samplers.fused import drawing
from sgverify.samplers.fused.compiler import compiler
from sgverify.samplers.fused.drawing import COMPARED, DrawnInC, drawn_in_c
from sgverify.samplers.gradients.minibatches import Iid, Reshuffle, Symmetric, WithoutReplacement
from sgverify.samplers.randomness.philox import Stream
from sgverify.schemes import find_scheme

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")

KINDS: list[type[Any]] = [WithoutReplacement, Reshuffle, Symmetric]


def stream(chains: range, rows: int) -> Stream:
    return Stream.of("batches", seed=5, runs=[bytes([row]) for row in range(rows)], chains=chains)


def defined(kind: type[Any], given: Stream, size: int, batch: int, first: int, count: int) -> np.ndarray:
    found: np.ndarray = kind(given, size, batch).block(first, count).flatten(0, 1).numpy()
    return found


# Data and minibatches: fewer data than a cell of the stream has numbers, more, and more than are compared in pairs.
SIZES = [(1, 1), (6, 2), (6, 6), (40, 8), (99, 33), (210, 70)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("size", "batch"), SIZES)
@pytest.mark.parametrize(("chains", "rows"), [(range(1), 1), (range(50, 120), 2)])
def test_minibatches_are_those_of_the_definition(
    kind: type[Any], size: int, batch: int, chains: range, rows: int
) -> None:
    given = stream(chains, rows)
    drawn = DrawnInC(kind, given, rows=rows, size=size, batch=batch)
    # Onwards from call to call, over the ends of epochs, then back, and far away.
    for first, count in ((0, 4), (4, 17), (2, 5), (1001, 4)):
        assert np.array_equal(drawn.block(first, count), defined(kind, given, size, batch, first, count))
    assert (batch > COMPARED) == ((size, batch) == SIZES[-1])


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_share_a_stream_share_their_minibatches(kind: type[Any]) -> None:
    given = stream(range(9), 1)
    found = DrawnInC(kind, given, rows=3, size=40, batch=8).block(2, 20)
    expected = defined(kind, given, 40, 8, 2, 20)
    assert np.array_equal(found, np.broadcast_to(expected, (160, 3, 9)))


BUGS = {
    "(u64)(size - k - i)": "(u64)(size - k - i - 1)",
    "2 * length - 1 - place": "place - length",
    "(first + q) / (sweeps * length)": "(first + q) / length",
    "own[k + i] = chosen": "own[k + i] = (uint32_t)(k + i)",
    "keys + s * stride": "keys",
    "(u64)last + 1": "(u64)size",
    "drawn[i][l] == chosen[l] ? last": "drawn[i][l] == chosen[l] ? last - 1",
    "taken[drawn[k][l] / 64] |=": "taken[drawn[k][l] / 64] =",
    "ROWS + row": "row",
}


@pytest.mark.parametrize(
    "was", [pytest.param(was, marks=[pytest.mark.power] if k % 3 else []) for k, was in enumerate(BUGS)]
)
def test_a_bug_in_the_c_text_is_seen(was: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = drawing.minibatch_text

    def wrong(shape: Any) -> str:
        text = honest(shape)
        start = text.index("struct halves")
        assert was in text[start:]
        return text[:start] + text[start:].replace(was, BUGS[was])

    monkeypatch.setattr(drawing, "minibatch_text", wrong)
    given, different = stream(range(7), 2), []
    for kind in KINDS:
        for size, batch in ((40, 8), (210, 70)):
            found = DrawnInC(kind, given, rows=2, size=size, batch=batch).block(0, 12)
            different.append(not np.array_equal(found, defined(kind, given, size, batch, 0, 12)))
    assert any(different)


def test_sources_of_other_kinds_are_left_to_themselves() -> None:
    class Own(Reshuffle):
        """A source with a rule of its own."""

    given = stream(range(4), 1)
    made = [drawn_in_c(kind(given, 6, 2), 1, 2, math.inf) for kind in (*KINDS, Iid, Own)]
    assert [each is not None for each in made] == [True] * 3 + [False] * 2


@pytest.mark.parametrize("kind", ["reshuffle", "additive"])
def test_rows_on_one_stream_move_in_the_kernel_as_the_definition_says(kind: str, make_target: Any) -> None:
    name = "gaussian-mean" if kind == "additive" else "logistic-regression"
    target = make_target(name, dim=2, size=12)
    choice = GradientChoice(kind) if kind == "additive" else GradientChoice(kind, batch=3)
    runs = []
    for compiled in ("kernel", False):
        settings = Settings(chains=5, gradient=choice, compiled=compiled, coupled=True)
        found = sample(
            find_scheme("sgld-euler"),
            target,
            fixed([0.01, 0.02, 0.03], [40]),
            observables=[lambda theta: theta[..., 0]],
            settings=settings,
        )
        runs.append(found.values)
    assert np.array_equal(*runs)
    assert not np.array_equal(runs[0][0, 0], runs[0][0, 1])
