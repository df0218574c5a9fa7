"""Answers on disk, in one SQLite file: what is kept survives the end of the process at any moment, and what is found is checked.

SQLite and not DuckDB, which lets no second process open a file that one has open for writing, and takes longer to keep one answer:
docs/store.md has the numbers, also those of one file for each answer.

Rows are added and never changed; the newest row of a key is its answer. A row has the key's JSON, the circumstances' JSON and the
value's, with a checksum over all of it: one that does not fit, that was made for another key, or that is of another format is named
in `Store.problems` and not used. Whoever can write the file could write rows that fit; so a file that others can write is refused.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgverify.code_files import FileState
from sgverify.errors import UserError
from sgverify.keeping import store_file
from sgverify.keeping.files import OFF, alone_in, cache_folder, possible_name
from sgverify.keeping.identity import ContentKey
from sgverify.keeping.store_file import SELECT, UNREADABLE, StoredAnswer, StoreRow

VARIABLE = "SGVERIFY_STORE"
"""The environment variable with the file of the store; `off` keeps none. By default it lies in the cache folder."""

FILE = "store.sqlite"


def default_place() -> Path | None:
    """The file of the store where no place is given; None where none is wanted or the user has no home."""
    given = os.environ.get(VARIABLE) or ""
    if given:
        return None if given == OFF else Path(given)
    try:
        folder = cache_folder()
    except RuntimeError:
        return None
    return None if folder is None else folder / FILE


class CannotKeepError(UserError):
    """An answer cannot be kept: the disk is full, the file cannot be written, or another process holds it for too long."""


@dataclass
class Store:
    """Answers in the file `path`, which is made where there is none.

    `problems` has a sentence for everything that was passed over; `reused` the time at which each found answer had been kept.
    Raises `UserError` for a file that is no store, is of another version, or may be written by other users; a damaged one is set
    aside under another name, with all that can still be read taken over. Threads may share a store; a forked process opens its own.
    """

    path: Path
    problems: list[str] = field(default_factory=list)
    reused: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        try:
            with possible_name(self.path):
                self.path = Path(os.path.realpath(self.path))
        except OSError as error:
            raise UserError(
                f"store {str(self.path)!r}: {error.strerror}; expected the name of a file; name another by --store, or --store off"
            ) from None
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._file = 0
        self._process = os.getpid()
        with self._lock:
            self._made()
            self._asked(f"{SELECT} ORDER BY number DESC LIMIT 1")

    @classmethod
    def open(cls, place: str | Path | None = None) -> Store | None:
        """The store at a place, by default that of `SGVERIFY_STORE`, else in the cache folder; None where it is `off`.

        The cache folder is made where it is missing; where it cannot be, there is no store.
        """
        if place is not None:
            return None if str(place) == OFF else cls(Path(place))
        path = default_place()
        if path is None:
            return None
        if not os.environ.get(VARIABLE):
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError:
                return None
        return cls(path)

    def find(self, key: ContentKey) -> Any:
        """The value that is kept under the key; None where there is none, or none that can be trusted."""
        if key.refused:
            return None
        for row in self._sound(f"{SELECT} WHERE a.digest = ? ORDER BY number DESC LIMIT 1", key.digest, key):
            self.reused.append(row.written)
            return row.answer.value
        return None

    def keep(self, key: ContentKey, value: Any, seconds: float) -> bool:
        """Keep a JSON value under a key; on disk when it returns. False where it may not be kept, with the reason in `problems`.

        Raises `CannotKeepError` where the file cannot be written.
        """
        return self.keep_all([(key, value, seconds)]) == 1

    def keep_all(self, answers: Iterable[tuple[ContentKey, Any, float]]) -> int:
        """Keep several values at once, all that may be kept or none, and return their number; raises as `keep` does."""
        changed: dict[str, str | None] = {}
        rows = []
        for key, value, seconds in answers:
            circumstances = key.circumstances
            if key.refused:
                self._tell(f"not kept: {key.refused}")
                continue
            if circumstances.digest not in changed:
                changed[circumstances.digest] = circumstances.changed()
            moved = changed[circumstances.digest] or key.changed()
            if moved:
                self._tell(f"{moved} was changed while answers were computed: they are not kept")
                continue
            rows.append(StoreRow.of(key, value, seconds))
        if rows:
            self._write(rows)
        return len(rows)

    def answers(self) -> Iterator[StoredAnswer]:
        """The newest answer of every key whose row is sound, in the order in which they were kept."""
        for newest in self._asked("SELECT max(number) FROM answers GROUP BY digest ORDER BY 1"):
            for row in self._sound(f"{SELECT} WHERE number = ?", newest[0]):
                yield row.answer

    def has(self, key: ContentKey) -> bool:
        """Is there an entry under the key? Whether it can be trusted is seen when it is found."""
        return not key.refused and bool(
            self._asked("SELECT 1 FROM answers WHERE digest = ? LIMIT 1", key.digest)
        )

    def seconds(self, kind: str) -> Iterator[tuple[Any, float]]:
        """The question of every entry of a kind, and the seconds that its answer took, for a prediction of what others take."""
        for row in self._asked("SELECT key, seconds FROM answers WHERE kind = ?", kind):
            with contextlib.suppress(ValueError, KeyError):
                yield json.loads(row["key"])["question"], float(row["seconds"])

    def close(self) -> None:
        """Close the file; a store that is closed opens it again when it is asked."""
        with self._lock:
            # A forked process may not close the connection of its parent.
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _tell(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def _sound(self, query: str, given: Any, key: ContentKey | None = None) -> Iterator[StoreRow]:
        """The rows of a query that can be trusted, and that were kept for this very key, if one is given; others are named."""
        for found in self._asked(query, given):
            row = StoreRow.read(found)
            wrong = row.wrong
            if wrong is None and key is not None and row.key != key.text:
                wrong = "it was kept for another question"
            if wrong is None and key is not None and row.text != key.circumstances.text:
                wrong = "its circumstances are others"
            if wrong is None:
                yield row
            else:
                self._tell(
                    f"store {str(self.path)!r}: entry {found['number']} ({row.kind}) is not used: {wrong}"
                )

    def _asked(self, query: str, *given: Any) -> list[sqlite3.Row]:
        """What a query finds; nothing where the file turns out to be damaged, which is then set aside."""
        with self._lock:
            try:
                return self._opened().execute(query, given).fetchall()
            except UNREADABLE as error:
                self._after(error)
                return []

    def _write(self, rows: Sequence[StoreRow]) -> None:
        """Add rows in one transaction, once more where the file is found to be damaged."""
        with self._lock:
            try:
                self._add(rows)
            except UNREADABLE as error:
                self._after(error)
                try:
                    self._add(rows)
                except UNREADABLE as again:
                    raise self._cannot_keep(again) from None

    def _add(self, rows: Sequence[StoreRow]) -> None:
        connection = self._opened()
        connection.execute("BEGIN IMMEDIATE")
        try:
            for row in rows:
                row.add(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _opened(self) -> sqlite3.Connection:
        """The connection of this process to the file that has the name now: another one may have set a damaged one aside."""
        now = FileState.of(self.path).number
        if self._connection is None or self._process != os.getpid() or now != self._file:
            self.close()
            self._made()
            self._process, self._file = os.getpid(), FileState.of(self.path).number
            self._connection = store_file.connected(self.path)
        return self._connection

    def _made(self) -> None:
        """Make the file where there is none, see whose it is, and set it aside where its first page is damaged."""
        try:
            with alone_in(self.path.parent):
                if not self.path.exists() or (self.path.is_file() and not self.path.stat().st_size):
                    store_file.make(self.path)
                whole = self._whole()
        except (OSError, sqlite3.OperationalError) as error:
            raise UserError(
                f"store {str(self.path)!r}: {getattr(error, 'strerror', None) or error}; expected a file in a folder that exists "
                "and can be written; name another one by --store, or --store off"
            ) from None
        if not whole:
            self._set_aside("its first page cannot be read")

    def _whole(self) -> bool:
        # In the cache folder the file has its name from this package, whatever became of its first page.
        place = default_place()
        return store_file.is_whole(
            self.path, place is not None and self.path == Path(os.path.realpath(place))
        )

    def _after(self, error: sqlite3.DatabaseError | UnicodeDecodeError) -> None:
        """Set a damaged file aside and begin a new one. Raises `CannotKeepError` for any other error of SQLite.

        Where the damage is in the description of the tables, Python cannot decode it as text.
        """
        name = "SQLITE_CORRUPT" if isinstance(error, UnicodeDecodeError) else ""
        name = getattr(error, "sqlite_errorname", "") or name
        if not name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) and "no such" not in str(error):
            raise self._cannot_keep(error) from None
        self._set_aside(str(error))

    def _cannot_keep(self, error: Exception) -> CannotKeepError:
        name = getattr(error, "sqlite_errorname", "") or ""
        told = {
            "SQLITE_FULL": "the disk is full; make room",
            "SQLITE_BUSY": f"another process has held it for {store_file.PATIENCE:.0f} s; wait for its end",
            "SQLITE_READONLY": "it cannot be written; allow it",
        }
        why = next((said for start, said in told.items() if name.startswith(start)), f"{error}; mend that")
        return CannotKeepError(
            f"store {str(self.path)!r}: an answer cannot be kept: {why}, name another file by --store, or go on without one by "
            "--store off"
        )

    def _set_aside(self, why: str) -> None:
        """Move the damaged file to another name, begin a new one, and take over what can be read of the damaged one."""
        self.close()
        with alone_in(self.path.parent):
            # Another process may have been here first.
            if not self.path.exists() or (self._whole() and not store_file.damaged(self.path)):
                return
            aside = store_file.moved_aside(self.path)
            store_file.make(self.path)
        rows = store_file.sound_rows(aside)
        if rows:
            self._write(rows)
        self._tell(
            f"store {str(self.path)!r}: it was damaged ({why}), and now has the name {aside.name}; {len(rows)} of its entries "
            "could be read and are used, what is missing is computed again"
        )


__all__ = ["VARIABLE", "CannotKeepError", "Store", "StoredAnswer", "default_place"]
