"""The state of a run in a file: what it needs to go on to the same bits, as plain arrays with a header in JSON.

The first line of a file is a hash of whose it is (`owner`) and of all that follows, an npz archive without objects: a file that was
cut off or changed, or that belongs to another run, is refused before anything in it is unpacked. Nothing in it is code. A file is
put in place in one step.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sgverify.keeping.files import put, read_bytes

MOST = 1 << 34
"""The most bytes of a file of state."""


def save_state(
    path: Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], owner: str = ""
) -> None:
    """Write a state; no array is named `header`. Raises `OSError` where the file cannot be written."""
    stream = io.BytesIO()
    told = json.dumps(dict(header), allow_nan=False).encode()
    np.savez(stream, header=np.array(told), **dict(arrays))  # type: ignore[arg-type]
    content = stream.getvalue()
    put(path, _digest(owner, content).encode() + b"\n" + content)


def load_state(path: Path, owner: str = "") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a state. Raises `OSError` or `ValueError` for every other file."""
    head, _, content = read_bytes(path, MOST).partition(b"\n")
    if head.decode(errors="replace") != _digest(owner, content):
        raise ValueError("it is damaged, or belongs to another run")
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header: dict[str, Any] = json.loads(bytes(arrays.pop("header")))
    return header, arrays


def _digest(owner: str, content: bytes) -> str:
    return hashlib.sha256(owner.encode() + content).hexdigest()
