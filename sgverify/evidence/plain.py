"""Plain JSON values: what a certificate or a configuration is turned into when evidence is made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any


def plain(value: Any, path: str = "") -> tuple[Any, dict[str, str]]:
    """A JSON-ready copy of `value`, and the place and name of every number that is not finite.

    Fractions become strings ("1/2"; a whole one "2"), tuples lists, array scalars and arrays (anything with
    `tolist`) their Python values. NaN and infinities become None and are listed as `{"/path": "nan"}`, because
    JSON has no word for them and a reader must not mistake them for something that was not computed.

    Raises TypeError for a value that has no JSON form, naming its place.
    """
    missing: dict[str, str] = {}
    return _copy(value, path, missing), missing


def name_of(value: float) -> str | None:
    """'nan', 'inf' or '-inf' for a float that is not finite, None for one that is."""
    return None if math.isfinite(value) else str(float(value))


def _copy(value: Any, path: str, missing: dict[str, str]) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        name = name_of(value)
        if name is None:
            return float(value)
        missing[path or "/"] = name
        return None
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Mapping):
        return {_key(key, path): _copy(item, f"{path}/{key}", missing) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(item, f"{path}/{place}", missing) for place, item in enumerate(value)]
    if hasattr(value, "tolist"):
        return _copy(value.tolist(), path, missing)
    raise TypeError(f"no JSON form for {type(value).__name__} at {path or '/'}: {value!r}")


def _key(key: Any, path: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"keys are strings, not {key!r} at {path or '/'}")
    return key
