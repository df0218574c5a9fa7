"""What a dear test computes first is kept between runs where a developer asks for it: `SGVERIFY_STORE=FILE pytest ...`.

Without the variable, as in continuous integration, nothing is kept and everything is computed. The key has the source of sgverify,
of the file that defines `compute`, and of all modules of the repository that this one imports: an edit anywhere computes again.
What a file reads at run time cannot be hashed, and nothing is kept of it: `compute` then has a file of its own. Nothing may be
patched while `kept` is called, since no hash sees a patch.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from sgverify.keeping.identity import key_of
from sgverify.keeping.store import Store

Value = TypeVar("Value")

PLACE: list[str] = []
"""The file that the developer names; `tests/conftest.py` puts it here, before the variable is set to `off` for all tests."""


def kept(
    name: str,
    question: Any,
    compute: Callable[[], Value],
    *,
    encode: Callable[[Value], Any] = lambda value: value,
    decode: Callable[[Any], Value] = lambda value: value,
) -> Value:
    """What `compute`, a function or a partial one, gives: JSON, or with a codec. The developer's store may have it.

    `question` is JSON of all that the result depends on beside code: parameters, seeds.
    """
    store = _store()
    if store is None:
        return compute()
    file = inspect.getsourcefile(getattr(compute, "func", compute))
    key = key_of(f"test {name}", question, references=[f"{file}:{name}".replace("-", "_")])
    value = store.find(key)
    if value is None:
        began = time.perf_counter()
        found = compute()
        store.keep(key, encode(found), time.perf_counter() - began)
        return found
    return decode(value)


@cache
def _store() -> Store | None:
    return Store(PLACE[0]) if PLACE else None  # type: ignore[arg-type]
