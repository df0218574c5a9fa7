"""A module with an error planted in its source, for tests that have to find it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType


def planted(module: ModuleType, was: str, now: str) -> ModuleType:
    """A copy of the module whose text `was`, which occurs exactly once, is `now`."""
    assert module.__file__ is not None
    text = Path(module.__file__).read_text(encoding="utf-8")
    assert text.count(was) == 1, f"{was!r} occurs {text.count(was)} times in {module.__file__}"
    copy = ModuleType(module.__name__)
    copy.__file__ = module.__file__
    # A dataclass looks its module up by name.
    held = sys.modules[module.__name__]
    sys.modules[module.__name__] = copy
    try:
        exec(compile(text.replace(was, now), module.__file__, "exec"), copy.__dict__)
    finally:
        sys.modules[module.__name__] = held
    return copy
