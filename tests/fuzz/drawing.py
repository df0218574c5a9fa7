"""The cases of a seed: the same ones every time, from each source in turn."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

from tests.fuzz import commands, documents, draws, keys, numbers
from tests.fuzz.case import Case

SOURCES = (keys, keys, documents, commands)

STORED_EVERY = 9
"""Of so many cases one is of draws that are stored, where these are asked for: each of them computes."""


def cases_of(seed: int, count: int, *, stored: bool = False) -> list[tuple[int, Case]]:
    """The first `count` cases of a seed, numbered; with those of stored draws among them, if they are asked for."""
    found = _endless(seed)
    return list(enumerate(islice(_with_stored(seed, found) if stored else found, count)))


def numbers_of(seed: int, count: int) -> list[tuple[int, Case]]:
    """The first `count` cases of numbers as they come, which compute."""
    return list(enumerate(islice(numbers.cases(random.Random(f"{seed}/numbers")), count)))


def _endless(seed: int) -> Iterator[Case]:
    running = [source.cases(random.Random(f"{seed}/{place}")) for place, source in enumerate(SOURCES)]
    while True:
        for source in running:
            yield next(source)


def _with_stored(seed: int, others: Iterator[Case]) -> Iterator[Case]:
    own = draws.cases(random.Random(f"{seed}/stored"))
    while True:
        yield from islice(others, STORED_EVERY - 1)
        yield next(own)
