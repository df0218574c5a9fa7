"""Where code can count its calls: every such place is watched, and what a pure step does there is let pass."""

from __future__ import annotations

import array
import contextvars
import functools
import io
import itertools
import json
import os
import sys

import pytest
import torch

from sgverify.samplers.intercepted.kept_state import changed, surroundings

COUNT, RANGE, ARRAY, TEXT = itertools.count(), iter(range(10**9)), array.array("l", [0]), io.StringIO()
CONTEXT = contextvars.ContextVar("calls", default=0)
LAYER, NORM = torch.nn.Linear(1, 1), torch.nn.BatchNorm1d(1)
OPTIMIZER = torch.optim.SGD(LAYER.parameters(), lr=0.1)
GENERATOR = torch.Generator().manual_seed(1)


def numbers():
    n = 0
    while True:
        n += 1
        yield n


NUMBERS = numbers()


@functools.lru_cache
def kept(key):
    return key


@functools.lru_cache
def store():
    return {"calls": 0}


@functools.cache
def held(key):
    return [key, torch.zeros(1)]


def stored():
    store()["calls"] += 1


def held_by_key():
    held(1)[1] += 1


MARKED = torch.zeros(1)


def marked():
    MARKED.calls = getattr(MARKED, "calls", 0) + 1


def counted():
    return next(COUNT)


def iterated():
    return next(RANGE)


def generated():
    return next(NUMBERS)


def arrayed():
    ARRAY[0] += 1


def written():
    TEXT.write("x")


def in_context():
    CONTEXT.set(CONTEXT.get() + 1)


def environment():
    os.environ["SGVERIFY_CALLS"] = os.environ.get("SGVERIFY_CALLS", "") + "x"


def module():
    json.calls = getattr(json, "calls", 0) + 1


def other_module():
    sys.modules["json"].calls = getattr(sys.modules["json"], "calls", 0) + 1


def library_class():
    torch.nn.Module.calls = getattr(torch.nn.Module, "calls", 0) + 1


def cached():
    kept(kept.cache_info().misses)


def weighed():
    LAYER.weight.data += 1


def buffered():
    NORM.num_batches_tracked += 1


def switched():
    NORM.training = not NORM.training


def optimised():
    state = OPTIMIZER.state[LAYER.weight]
    state["calls"] = state.get("calls", 0) + 1


def differentiated():
    LAYER(torch.ones(1)).sum().backward()


def drawn():
    torch.rand(1, generator=GENERATOR)


COUNTERS = [
    *(counted, iterated, generated, arrayed, written, in_context, environment, module, other_module),
    *(stored, held_by_key, marked),
    *(library_class, cached, weighed, buffered, switched, optimised, differentiated, drawn),
]


@pytest.fixture(autouse=True)
def as_it_was():
    yield
    os.environ.pop("SGVERIFY_CALLS", None)
    for holder in (json, torch.nn.Module):
        if "calls" in vars(holder):
            del holder.calls


@pytest.mark.parametrize("call", COUNTERS, ids=lambda call: call.__name__)
def test_a_place_where_calls_are_counted_is_watched(call):
    call()
    before = surroundings(call)
    assert changed(before, surroundings(call)) == []
    call()
    assert changed(before, surroundings(call))


def test_reading_from_a_cache_a_layer_and_the_environment_changes_nothing():
    def step(x):
        return kept(1) * LAYER(x * float(os.environ.get("SGVERIFY_SCALE", "1"))) + torch.nn.functional.relu(x)

    step(torch.ones(1))
    before = surroundings(step)
    step(torch.zeros(1))
    assert changed(before, surroundings(step)) == []
