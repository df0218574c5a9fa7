"""The cases of a seed: the same ones every time, from each source in turn."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

from tests.fuzz import commands, documents, keys
from tests.fuzz.case import Case

SOURCES = (keys, keys, documents, commands)


def cases_of(seed: int, count: int) -> list[tuple[int, Case]]:
    """The first `count` cases of a seed, numbered."""
    return list(enumerate(islice(_endless(seed), count)))


def _endless(seed: int) -> Iterator[Case]:
    running = [source.cases(random.Random(f"{seed}/{place}")) for place, source in enumerate(SOURCES)]
    while True:
        for source in running:
            yield next(source)
