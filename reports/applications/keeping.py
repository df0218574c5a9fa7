"""A killed run goes on: what is done lies in a folder, under the settings of the run, in plain arrays.

A run has parts with names. Of each part the file `NAME.state` (`sgverify.keeping.states`) holds a header in JSON and arrays:
what the part has found, or the state from which it goes on.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError
from sgverify.keeping.files import PART, alone_in, read_text, writable, write_atomically
from sgverify.keeping.identity import differing, run_identity
from sgverify.keeping.states import load_state, save_state

FOLDER = "unfinished"
"""The folder, inside that of the result, of a run that is not finished."""

RUN, SUFFIX = "run.json", ".state"
"""The file that says whose the run is, and the suffix of the file of a part."""

LIBRARIES = ("numpy", "scipy", "torch", "scikit-learn")
"""The libraries that draw, compute and hold data."""

OFTEN = 5.0
"""Seconds between two states of a part that are stored."""

SHARE = 20
"""A state is stored at most so rarely that storing takes one part in `SHARE` of the time."""

Arrays = Mapping[str, np.ndarray]


class KeptParts:
    """The parts of a run that are stored in a folder, for one identity: settings, seed, sgverify's own source, the libraries.

    Without a folder nothing is stored. Raises `ConfigurationError` where the folder holds an unfinished run of another identity,
    with the first difference, where another process is at it, and where files of somebody else lie there; `again` discards an
    unfinished run. The folder is held until `close` or `clear`, or the end of the process.
    """

    def __init__(
        self, folder: Path | None = None, identity: Mapping[str, Any] | None = None, *, again: bool = False
    ) -> None:
        self._held = contextlib.ExitStack()
        self._mine = False
        self._folder = None if folder is None else folder / FOLDER
        told = {} if folder is None else {"applications": _own_source(), **(identity or {})}
        told = run_identity(told, LIBRARIES) if told else {}
        self.identity: dict[str, Any] = json.loads(json.dumps(told, sort_keys=True))
        self.key = hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()
        self._last, self._cost = time.monotonic(), 0.0
        if self._folder is None:
            return
        try:
            self._folder.mkdir(exist_ok=True)
            self._alone(self._folder)
            if again:
                self._remove(self._folder)
            self._claim(self._folder)
            self._mine = True
        except ConfigurationError:
            self._let_go()
            raise
        except OSError as error:
            self._let_go()
            raise ConfigurationError(
                f"{str(self._folder)!r}: {error.strerror}; expected a folder for what is not finished, which can be written; name "
                "another place by --out"
            ) from None

    def _alone(self, folder: Path) -> None:
        """Take the folder for this process, or refuse to write where another one does."""
        try:
            self._held.enter_context(alone_in(folder, wait=False))
        except BlockingIOError:
            raise ConfigurationError(
                f"{str(folder)!r}: another process is at this run; expected one at a time; wait for it or end it, or name another "
                "place by --out"
            ) from None

    def _claim(self, folder: Path) -> None:
        """Say whose the folder is, or refuse to go on with another run."""
        place = folder / RUN
        others = [path.name for path in sorted(folder.iterdir()) if not _is_unfinished(path)]
        if others and RUN not in others:
            raise ConfigurationError(
                f"{str(folder)!r} holds {others[0]!r} and no unfinished run; expected no folder of this name, for what is not "
                "finished lies there; name another place by --out"
            )
        if not place.exists() or not any(folder.glob(f"*{SUFFIX}")):
            write_atomically(place, json.dumps(self.identity, sort_keys=True))
            return
        for name, held, wanted in differing(_identity_in(place), self.identity):
            raise ConfigurationError(
                f"{str(folder)!r} holds an unfinished run with {name}={held!r:.80}, and this run has {name}={wanted!r:.80}; "
                "expected the same; give the same settings to go on, another folder by --out, or --again to discard it"
            )

    def load(self, part: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """The header and the arrays that were stored of a part; None where there are none.

        Raises `ConfigurationError` for a file that is damaged, and for one of another run.
        """
        if self._folder is None or not (place := self._place(part)).exists():
            return None
        try:
            return load_state(place, self.key)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigurationError(
                f"{str(place)!r} cannot be gone on from ({reason}); expected a file that this run has written; give --again to "
                "start anew"
            ) from None

    def store(self, part: str, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Replace what is stored of a part. The header is JSON, and no array is named `header`."""
        if self._folder is None:
            return
        started = time.monotonic()
        with writable(self._place(part)):
            save_state(self._place(part), header, arrays, self.key)
        self._last = time.monotonic()
        self._cost = self._last - started

    @property
    def due(self) -> bool:
        """Is it time to store a state?"""
        waited = time.monotonic() - self._last
        return self._folder is not None and waited > max(OFTEN, SHARE * self._cost)

    def clear(self) -> None:
        """Remove what is stored, and nothing else that may lie there: the run is finished."""
        if self._folder is not None and self._folder.is_dir():
            self._remove(self._folder)
            with contextlib.suppress(OSError):
                self._folder.rmdir()
        self._let_go()

    def close(self) -> None:
        """Let other processes have the folder; what is stored stays. Of a run that has stored nothing, nothing stays."""
        if self._mine and self._folder is not None and not any(self._folder.glob(f"*{SUFFIX}")):
            with contextlib.suppress(OSError):
                self.clear()
        self._let_go()

    def _let_go(self) -> None:
        self._mine = False
        self._held.close()

    def __del__(self) -> None:
        self.close()

    def _remove(self, folder: Path) -> None:
        if (folder / RUN).exists():
            # The name of the run goes last: a process that is killed here leaves a run that can be discarded.
            for path in sorted(folder.iterdir(), key=lambda path: path.name == RUN):
                if path.suffix == SUFFIX or path.name == RUN or _is_unfinished(path):
                    path.unlink(missing_ok=True)

    def _place(self, part: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{re.sub(r'[^A-Za-z0-9.-]+', '-', part)}{SUFFIX}"


def _own_source() -> str:
    """One hash of the files of the applications: code, C, and settings that papers print."""
    home, whole = Path(__file__).parent, hashlib.sha256()
    for path in sorted(path for path in home.rglob("*") if path.suffix in (".py", ".c", ".toml")):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        whole.update(f"{path.relative_to(home).as_posix()}\0{content}\n".encode())
    return whole.hexdigest()


def _identity_in(place: Path) -> dict[str, Any]:
    try:
        held = json.loads(read_text(place))
    except (OSError, ValueError, RecursionError):
        held = None
    if not isinstance(held, dict):
        raise ConfigurationError(
            f"{str(place)!r} does not say whose run it is: it cannot be read; expected what `python -m reports.applications` wrote "
            "there; give --again to start anew"
        )
    return held


def _is_unfinished(path: Path) -> bool:
    """Was it being written by a process that was killed?"""
    return path.name.startswith(".") and path.suffix == PART
