"""Where do kept answers and compiled kernels lie, and may their folder be trusted?"""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "SGVERIFY_STORE"
"""The environment variable with the file of the store; `off` keeps none. By default it lies in the cache folder."""

CACHE = "SGVERIFY_CACHE"
"""The environment variable with the cache folder, of kernels and of the store; `off` keeps none of either."""

OFF = "off"
FILE = "store.sqlite"


def cache_folder() -> Path | None:
    """The folder of what is kept between processes; None where none is wanted. Raises `RuntimeError` for a user without a home."""
    given = os.environ.get(CACHE) or ""
    if given == OFF:
        return None
    return Path(given) if given else _of_the_user()


def default_place() -> Path | None:
    """The file of the store where no place is given; None where none is wanted or the user has no home."""
    given = os.environ.get(VARIABLE) or ""
    if given == OFF:
        return None
    if given:
        return Path(given)
    try:
        folder = cache_folder()
    except RuntimeError:
        return None
    return None if folder is None else folder / FILE


def of_this_user(path: Path) -> bool:
    """Does the file or folder belong to this user, who alone can write it? On Windows the user's folder is the user's."""
    if not hasattr(os, "getuid"):
        return True
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _of_the_user() -> Path:
    """The cache folder of this user, by the custom of the system."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "sgverify" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sgverify"
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named and Path(named).is_absolute() else Path.home() / ".cache") / "sgverify"
