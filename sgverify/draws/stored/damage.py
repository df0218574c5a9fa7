"""What is damaged in a folder of draws, and how is it told? Libraries raise what they like for files that are not theirs."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sgverify.errors import ConfigurationError, UserError
from sgverify.named_files import read_text

FULL = frozenset(
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EIO", "EACCES")
    if hasattr(errno, name)
)
"""The errors of a place that takes no more."""


@contextmanager
def legible(place: Path) -> Iterator[None]:
    """A context in which whatever libraries raise for a file or folder of draws is one message, a `ConfigurationError`."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        why = " ".join(str(getattr(error, "strerror", None) or error).split()) or type(error).__name__
        raise ConfigurationError(
            f"--resume {str(place)!r}: cannot be read ({why}); expected draws that `sgverify sample` wrote; start anew with --force"
        ) from None


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def stands_for(own: Path, wanted: Path) -> bool:
    """Does a file or folder of the run hold what one without draws holds? Arrays may have room for any number of draws."""
    if wanted.is_dir():
        return own.is_dir()
    if not own.is_file():
        return False
    if wanted.name == ".zattrs" and not wanted.with_name(".zarray").exists():
        # Attributes of a group tell how far the run is.
        return _table(own) is not None
    if wanted.name != ".zarray" or "draw" not in (_table(wanted.with_name(".zattrs")) or {}).get(
        "_ARRAY_DIMENSIONS", ()
    ):
        return own.read_bytes() == wanted.read_bytes()
    held, expected = ({**(_table(path) or {}), "shape": None} for path in (own, wanted))
    return held == expected


def _table(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


__all__ = ["FULL", "legible", "remove", "stands_for"]
