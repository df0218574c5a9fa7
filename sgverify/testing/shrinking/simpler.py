"""Simpler configurations than a given one, as trees of the keys that are set: keys left out, values made plain."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

Tree = dict[str, Any]
Path = tuple[str, ...]

PLAIN = (1.0, 2.0, 0.0)
"""The numbers that a reader takes in at a glance; 2 is the first at which no power and no product hides."""

_FACTOR = re.compile(r"(?:theta|p)(?:\[\d+\])?(?:\*\*\d+)?")

PLAIN_FUNCTIONS = ("theta**2", "theta", "p**2", "theta[0]**2", "theta[0]", "p[0]**2")


def jumps(tree: Tree) -> Iterator[Tree]:
    """The defaults alone, with one key or one table of `tree`, in its order, with its dimension, and with that and the
    square of each coordinate but the first.

    >>> list(jumps({"temperature": 2.0, "gradient": {"kind": "iid"}}))
    [{}, {'temperature': 2.0}, {'gradient': {'kind': 'iid'}}]
    """
    yield {}
    yield from ({key: value} for key, value in tree.items())
    dim = _dimension(tree)
    if dim > 1:
        yield {"target": {"dim": dim}}
        # A bug in another coordinate than the first shows in that coordinate's own square.
        yield from ({"target": {"dim": dim}, "test_function": f"theta[{k}]**2"} for k in range(1, dim))


def halves(tree: Tree) -> Iterator[Tree]:
    """The second and the first half of the keys and tables of `tree`; of one table or fewer, nothing.

    >>> list(halves({"temperature": 2.0, "friction": 3.0, "gradient": {"kind": "iid"}}))
    [{'friction': 3.0, 'gradient': {'kind': 'iid'}}, {'temperature': 2.0}]
    """
    items = list(tree.items())
    middle = len(items) // 2
    if middle:
        yield dict(items[middle:])
        yield dict(items[:middle])


def paths(tree: Tree) -> list[Path]:
    """The paths that can be removed from `tree`: tables first, then single keys.

    >>> paths({"friction": 3.0, "target": {"name": "gaussian", "dim": 2}})
    [('target',), ('friction',), ('target', 'name'), ('target', 'dim')]
    """
    found = list(_paths(tree))
    return sorted(found, key=lambda path: not isinstance(value_at(tree, path), Mapping))


def value_at(tree: Tree, path: Path) -> Any:
    """The value at `path`, None where there is none."""
    here: Any = tree
    for key in path:
        here = here.get(key) if isinstance(here, Mapping) else None
    return here


def without(tree: Tree, path: Path) -> Tree:
    """The tree less what stands at `path`; a table that gets empty goes too.

    >>> without({"friction": 3.0, "target": {"dim": 2}}, ("target", "dim"))
    {'friction': 3.0}
    """
    copied = copy.deepcopy(tree)
    tables = [copied]
    for key in path[:-1]:
        tables.append(tables[-1][key])
    del tables[-1][path[-1]]
    for place in range(len(path) - 1, 0, -1):
        if not tables[place]:
            del tables[place - 1][path[place - 1]]
    return copied


def with_value(tree: Tree, path: Path, value: Any) -> Tree:
    """The tree with another value at `path`, whose tables are there."""
    copied = copy.deepcopy(tree)
    table = copied
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value
    return copied


def simpler(value: Any) -> Iterator[Any]:
    """Values that are simpler to read than `value`, the simplest first: fewer digits, fewer entries, fewer terms.

    >>> list(simpler(3.75)), list(simpler(7)), list(simpler([1.0, 4.0]))
    ([1.0, 2.0, 0.0, 4.0, 3.8], [1, 2, 3], [1.0, 4.0, [1.0], [4.0], [1.0, 1.0], [1.0, 2.0], [1.0, 0.0]])
    >>> list(simpler("2*theta[0]*p[1] - 1/2*p[1]"))[-6:]
    ['2*theta[0]*p[1]', 'theta[0]*p[1]', 'theta[0]', 'p[1]', '1/2*p[1]', 'p[1]']
    """
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield from sorted({n for n in (1, 2, value // 2) if 0 < n < value})
    elif isinstance(value, float):
        yield from _rounder(value)
    elif isinstance(value, list):
        yield from _shorter(value)
    elif isinstance(value, str) and re.search(r"\b(theta|p)\b", value):
        yield from _fewer_terms(value)


def lower(tree: Tree) -> Iterator[Tree]:
    """The tree with the default target of its dimension, also under the square of each coordinate but the first; then
    with its target in one dimension, and in one less.

    >>> for found in lower({"target": {"dim": 2, "mean": [1.0, 3.0]}, "test_function": "theta[0]"}): print(found)
    {'target': {'dim': 2}, 'test_function': 'theta[0]'}
    {'target': {'dim': 2}, 'test_function': 'theta[1]**2'}
    {'target': {'dim': 1, 'mean': 1.0}, 'test_function': 'theta'}
    """
    target = tree.get("target", {})
    dim = _dimension(tree)
    if dim > 1:
        bare = {**tree, "target": {"dim": dim}}
        yield bare
        if set(target) - {"dim"}:
            yield from ({**bare, "test_function": f"theta[{k}]**2"} for k in range(1, dim))
    for smaller in sorted({1, dim - 1} - {0, dim}):
        table = {key: _cut(key, value, dim, smaller) for key, value in target.items()}
        table |= {"dim": smaller} if "dim" in target else {}
        cut = {key: _cut(key, value, dim, smaller) for key, value in tree.get("gradient", {}).items()}
        found = {**tree, "target": table, **({"gradient": cut} if cut else {})}
        if smaller == 1 and "test_function" in tree:
            found["test_function"] = tree["test_function"].replace("[0]", "")
        yield found


def _paths(tree: Mapping[str, Any], above: Path = ()) -> Iterator[Path]:
    for key, value in tree.items():
        yield (*above, key)
        if isinstance(value, Mapping):
            yield from _paths(value, (*above, key))


def _rounder(value: float) -> Iterator[float]:
    rounded = [float(round(value)), round(value, 1), float(f"{value:.1g}")]
    candidates = list(dict.fromkeys([*PLAIN, *rounded]))
    if value in PLAIN:
        candidates = candidates[: PLAIN.index(value)]
    yield from (other for other in candidates if other != value and len(repr(other)) <= len(repr(value)))


def _shorter(values: list[Any]) -> Iterator[Any]:
    if not values:
        return
    if isinstance(values[0], list):
        if all(len(row) == len(values) for row in values):
            diagonal = [row[place] for place, row in enumerate(values)]
            plain = [other for other in _plain_matrices(len(values)) if other != values]
            yield from (
                1.0,
                diagonal[0],
                [float(place + 1) for place in range(len(values))],
                *plain,
                diagonal,
            )
    else:
        yield from dict.fromkeys(values)
    half = len(values) // 2
    if half > 1:
        yield from (values[:half], values[half:])
    if len(values) > 1:
        yield from (values[:place] + values[place + 1 :] for place in reversed(range(len(values))))
    for place, entry in enumerate(values):
        if isinstance(entry, float):
            yield from ([*values[:place], other, *values[place + 1 :]] for other in _rounder(entry))


def _plain_matrices(size: int) -> list[list[list[float]]]:
    """Two on the diagonal and one beside it: the simplest positive definite matrix that couples coordinates."""
    if size == 1:
        return []
    entries = {0: 2.0, 1: 1.0}
    return [[[entries.get(abs(i - j), 0.0) for j in range(size)] for i in range(size)]]


def _fewer_terms(text: str) -> Iterator[str]:
    yield from (other for other in PLAIN_FUNCTIONS if len(other) < len(text))
    terms = re.split(r" [+-] ", text)
    for term in terms:
        bare = re.sub(r"^-?[0-9/.]+\*", "", term)
        yield from dict.fromkeys(other for other in (term, bare, *_FACTOR.findall(bare)) if other != text)


def _dimension(tree: Tree) -> int:
    target = tree.get("target", {})
    data = target.get("data")
    wide = isinstance(data, list) and data and isinstance(data[0], list)
    return target.get("dim") or (len(data[0]) if wide else 1)


def _cut(key: str, value: Any, dim: int, smaller: int) -> Any:
    """The part of a vector, a matrix or of data that belongs to the first coordinates."""
    if not isinstance(value, list):
        return value
    if key == "data":
        rows = [row[:smaller] for row in value]
        return [row[0] for row in rows] if smaller == 1 else rows
    if len(value) != dim:
        return value
    if isinstance(value[0], list):
        return value[0][0] if smaller == 1 else [row[:smaller] for row in value[:smaller]]
    return value[0] if smaller == 1 else value[:smaller]
