"""How does a killed run go on? What is done lies in a folder, under the settings of the run, in plain arrays.

A run consists of parts with names. Of each part the file `NAME.npz` holds a header in JSON and arrays: what the part has found, or
the state from which it goes on. Files are replaced in one step, so that a process killed at any moment leaves a whole one.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import sgverify
from sgverify.errors import ConfigurationError
from sgverify.evidence.storage import write_atomically

FOLDER = "unfinished"
"""The folder, inside that of the result, of a run that is not finished."""

OFTEN = 5.0
"""Seconds between two states of a part that are stored."""

SHARE = 20
"""A state is stored at most so rarely that storing takes one part in `SHARE` of the time."""

Arrays = Mapping[str, np.ndarray]


class KeptParts:
    """The parts of a run that are stored in a folder, for one identity: settings, seed, version of sgverify and of the libraries.

    Without a folder nothing is stored. Raises `ConfigurationError` where the folder holds an unfinished run of another identity,
    with the first difference; `again` discards that run.
    """

    def __init__(
        self, folder: Path | None = None, identity: Mapping[str, Any] | None = None, *, again: bool = False
    ) -> None:
        self._folder = None if folder is None else folder / FOLDER
        told = {"version": sgverify.__version__, "numpy": np.__version__, **(identity or {})}
        self.identity: dict[str, Any] = json.loads(json.dumps(told, sort_keys=True))
        self.key = hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()[:16]
        self._last, self._cost = time.monotonic(), 0.0
        if self._folder is None:
            return
        if again:
            self.clear()
        self._folder.mkdir(exist_ok=True)
        self._claim(self._folder / "run.json")

    def _claim(self, place: Path) -> None:
        """Say whose the folder is, or refuse to go on with another run."""
        if not place.exists():
            write_atomically(place, json.dumps(self.identity, sort_keys=True))
            return
        try:
            held = json.loads(place.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            held = {}
        for name in sorted({*held, *self.identity}):
            if held.get(name) != self.identity.get(name):
                raise ConfigurationError(
                    f"{str(place.parent)!r} holds an unfinished run with {name}={held.get(name)!r:.80}, and this run has "
                    f"{name}={self.identity.get(name)!r:.80}; expected the same; give the same settings to go on, another folder "
                    "by --out, or --again to discard it"
                )

    def load(self, part: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """The header and the arrays that were stored of a part; None where there are none.

        Raises `ConfigurationError` for a file that is damaged.
        """
        if self._folder is None or not (place := self._place(part)).exists():
            return None
        try:
            with np.load(io.BytesIO(place.read_bytes()), allow_pickle=False) as archive:
                held = {name: archive[name] for name in archive.files}
            header = json.loads(str(held.pop("header")))
            if header.pop("key") != self.key:
                raise ValueError("it belongs to another run")
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ConfigurationError(
                f"{str(place)!r} cannot be gone on from ({error}); expected a file that this run has written; give --again to "
                "start anew"
            ) from None
        return header, held

    def store(self, part: str, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Replace what is stored of a part. The header is JSON and has no key `key`, no array is named `header`."""
        if self._folder is None:
            return
        started = time.monotonic()
        stream = io.BytesIO()
        told = json.dumps({**header, "key": self.key}, allow_nan=False)
        np.savez(stream, header=np.array(told), **dict(arrays))  # type: ignore[arg-type]
        write_atomically(self._place(part), stream.getvalue())
        self._last = time.monotonic()
        self._cost = self._last - started

    @property
    def due(self) -> bool:
        """Is it time to store a state?"""
        waited = time.monotonic() - self._last
        return self._folder is not None and waited > max(OFTEN, SHARE * self._cost)

    def clear(self) -> None:
        """Remove what is stored: the run is finished."""
        if self._folder is not None and self._folder.is_dir():
            shutil.rmtree(self._folder)

    def _place(self, part: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{re.sub(r'[^A-Za-z0-9.-]+', '-', part)}.npz"
