"""Where things are kept between processes, and whether other users could change them there."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path

from sgverify.errors import UserError

CACHE = "SGVERIFY_CACHE"
"""The environment variable with the cache folder, of kernels and of the store; `off` keeps none of either."""

OFF = "off"


def check_working_folder() -> None:
    """Raise `UserError` in a folder that was deleted: no path can be named from there, and numerical libraries end the process."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise UserError(
            "the working folder was deleted; expected one that is there; cd to another one"
        ) from None


def cache_folder() -> Path | None:
    """The folder of what is kept between processes; None where none is wanted, or the user has no home."""
    given = os.environ.get(CACHE) or ""
    if given:
        return None if given == OFF else Path(given)
    with contextlib.suppress(RuntimeError):
        return _of_the_user()
    return None


def of_this_user(path: Path) -> bool:
    """Does the file or folder belong to this user, who alone can write it? On Windows the user's folder is the user's."""
    if not hasattr(os, "getuid"):
        return True
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def others_can_write(folder: Path) -> bool:
    """Can other users than the system's own make or rename files in a folder? A group without others in it is this user's."""
    if not hasattr(os, "getuid"):
        return False
    status = folder.stat()
    shared = status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid)
    return status.st_uid not in (0, os.getuid()) or bool(status.st_mode & stat.S_IWOTH or shared)


def _is_private(group: int) -> bool:
    """Is it the group of this user alone, which many systems make for each, by the user's name?"""
    import grp
    import pwd

    try:
        found, user = grp.getgrgid(group), pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return False
    return found.gr_name == user and set(found.gr_mem) <= {user}


def _of_the_user() -> Path:
    """The cache folder of this user, by the custom of the system."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "sgverify" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sgverify"
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named and Path(named).is_absolute() else Path.home() / ".cache") / "sgverify"
