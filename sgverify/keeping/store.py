"""Answers on disk, in one SQLite file: what is kept survives the end of the process at any moment, and what is found is checked.

Rows are added and never changed; the newest row of a key is its answer. A row has the key's JSON, the circumstances' JSON and the
value's, with a checksum over all of it: one that does not fit, that was made for another key, or that is of another format is named
in `Store.problems` and not used. Whoever can write the file could write rows that fit; so a file that others can write is refused.
Whoever can write the folder could lay a log beside the file, which SQLite would take for a part of it; so nothing is kept there,
nor taken. What lies beside the file by SQLite's names, and is no file that this user alone can write, is set aside.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar

from sgverify.code_files import FileState
from sgverify.errors import SgverifyError, UserError
from sgverify.keeping.files import FULL, alone_in, opened, possible_name, remove, replacing
from sgverify.keeping.identity import ContentKey
from sgverify.keeping.places import OFF, cache_folder, of_this_user, others_can_write
from sgverify.keeping.rows import (
    APPLICATION,
    BESIDE,
    INSERT,
    INSERT_TEXT,
    MEND_TEXT,
    PATIENCE,
    SCHEMA,
    SELECT,
    TABLES,
    UNREADABLE,
    StoredRow,
    connected,
    readable_rows,
)

T = TypeVar("T")

VARIABLE = "SGVERIFY_STORE"
"""The environment variable with the file of the store; `off` keeps none. By default it lies in the cache folder."""

BUSY = f"another process has held it for {PATIENCE:g} s; wait for its end"
CANNOT_KEEP = {
    "SQLITE_FULL": "the disk is full; make room",
    "SQLITE_BUSY": BUSY,
    "SQLITE_READONLY": "it cannot be written; allow it",
}


class CannotKeepError(UserError):
    """An answer cannot be kept: the disk is full, others can write beside the file, or another process holds it for too long."""


class Store(contextlib.AbstractContextManager["Store"]):
    """Answers in the file `path`, which is made where there is none.

    `problems` has a sentence for everything that was passed over; `reused` the time at which each found answer had been kept.
    Raises `UserError` for a file that is no store, is of another version, or may be written by other users; a damaged one is set
    aside under another name, with all that can still be read taken over. Threads may share a store; a forked process opens its own.
    """

    patience = PATIENCE

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.problems: list[str] = []
        self.reused: list[str] = []
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._opened_as = (0, 0)
        with self._lock:
            self._make()
            self._asked(f"{SELECT} ORDER BY number DESC LIMIT 1")

    @classmethod
    def open(cls, place: str | Path | None = None, **how: Any) -> Self | None:
        """The store at a place, by default that of `SGVERIFY_STORE`, else in the cache folder; None for `off` and without one."""
        if place is not None:
            return None if str(place) == OFF else cls(place, **how)
        path = _default_place()
        if path is not None and not os.environ.get(VARIABLE):
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError:
                return None
        return None if path is None else cls(path, **how)

    def find(self, key: ContentKey, read: Callable[[Any], Any] = lambda value: value) -> Any:
        """What `read` makes of the value that is kept under the key; None where there is none, or none that can be trusted.

        One that `read` cannot read is named and not used.
        """
        query = f"{SELECT} WHERE a.digest = ? ORDER BY number DESC LIMIT 1"
        for row in () if key.refused else self._sound(query, key.digest):
            try:
                found = read(row.answer)
            except (ValueError, TypeError, LookupError, AttributeError, SgverifyError):
                self._tell(
                    f"store {str(self.path)!r}: an entry ({row.kind}) is not used: it has a form that is not read"
                )
                return None
            self.reused.append(row.written)
            return found
        return None

    def keep(self, key: ContentKey, value: Any, seconds: float) -> bool:
        """Keep a JSON value under a key, on disk when it returns; False where it may not be kept, with the reason in `problems`."""
        return self.keep_all([(key, value, seconds)]) == 1

    def keep_all(self, answers: Iterable[tuple[ContentKey, Any, float]]) -> int:
        """Keep several values at once, all that may be kept or none: their number. Raises `CannotKeepError` on failure."""
        changed: dict[str, str | None] = {}
        rows = []
        for key, value, seconds in answers:
            here = key.circumstances
            if not key.refused and here.digest not in changed:
                changed[here.digest] = here.changed()
            if key.refused:
                self._tell(f"not kept: {key.refused}")
            elif moved := changed[here.digest] or key.changed():
                self._tell(f"{moved} was changed while answers were computed: they are not kept")
            else:
                rows.append(StoredRow.of(key, value, seconds))
        if rows:
            self._write(rows)
        return len(rows)

    def answers(self) -> Iterator[StoredRow]:
        """The newest row of every key that is sound, in the order in which they were kept."""
        for newest in self._asked("SELECT max(number) FROM answers GROUP BY digest ORDER BY 1"):
            yield from self._sound(f"{SELECT} WHERE number = ?", newest[0])

    def has(self, key: ContentKey) -> bool:
        """Is there an entry under the key? Whether it can be trusted is seen when it is found."""
        return not key.refused and bool(self._asked("SELECT 1 FROM answers WHERE digest = ?", key.digest))

    def seconds(self, kind: str) -> Iterator[tuple[Any, float]]:
        """The question of every entry of a kind, and the seconds that its answer took, for a prediction of what others take."""
        for key, seconds in self._asked("SELECT key, seconds FROM answers WHERE kind = ?", kind):
            with contextlib.suppress(ValueError, KeyError):
                yield json.loads(key)["question"], float(seconds)

    def close(self) -> None:
        """Close the file; a store that is closed opens it again when it is asked."""
        with self._lock:
            # A forked process may not close the connection of its parent.
            if self._connection is not None and self._opened_as[0] == os.getpid():
                self._connection.close()
            self._connection = None

    def __exit__(self, *error: object) -> None:
        self.close()

    def _tell(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def _sound(self, query: str, given: Any) -> Iterator[StoredRow]:
        """The rows of a query that can be trusted; others are named."""
        for number, *fields in self._asked(query, given):
            row = StoredRow(*fields)
            if (wrong := row.wrong) is None:
                yield row
            else:
                self._tell(f"store {str(self.path)!r}: entry {number} ({row.kind}) is not used: {wrong}")

    def _asked(self, query: str, *given: Any) -> list[Any]:
        """The rows that a query finds; none where the file turns out to be damaged, which is then set aside."""
        with self._lock:
            try:
                return self._open().execute(query, given).fetchall()
            except UNREADABLE as error:
                self._mend(error)
                return []

    def _write(self, rows: Sequence[StoredRow]) -> None:
        """Add rows in one transaction, with their circumstances where those are missing; once more where the file is damaged."""
        with self._lock:
            for again in (False, True):
                try:
                    with self._open() as connection:
                        connection.execute("BEGIN IMMEDIATE")
                        for row in rows:
                            for statement in (INSERT_TEXT, MEND_TEXT):
                                connection.execute(statement, (row.circumstances, row.text))
                            connection.execute(INSERT, row[:-1])
                    return
                except UNREADABLE as error:
                    self._mend(error, again)

    def _open(self) -> sqlite3.Connection:
        """The connection of this process to the file that has the name now: another one may have set a damaged one aside."""
        if self._connection is None or self._opened_as != (os.getpid(), FileState.of(self.path).number):
            self.close()
            self._make()
            self._opened_as = os.getpid(), FileState.of(self.path).number
            self._connection = connected(self.path, self.patience)
        return self._connection

    def _make(self, damaged: int | None = None, why: str = "its first page cannot be read") -> None:
        """Make the file where there is none, see whose it is, and set it aside where its first page is damaged.

        So it is where it has the number `damaged`, in which SQLite met damage, and not the one that another process has made since.
        """
        aside = None
        try:
            with possible_name(self.path):
                self.path = Path(os.path.realpath(self.path))
            with alone_in(self.path.parent, wait=self.patience):
                if others_can_write(self.path.parent):
                    self._refuse(
                        f"other users can write in {str(self.path.parent)!r}, and lay a log there from which it would answer; "
                        "chmod go-w that"
                    )
                for part in self._not_its_own():
                    name = _moved_aside(part).name
                    self._tell(
                        f"{str(part)!r} is no file that you alone can write: it is not used, and now has the name {name}"
                    )
                made = self.path.exists() and not (self.path.is_file() and not self.path.stat().st_size)
                if made and (not _is_whole(self.path) or FileState.of(self.path).number == damaged):
                    aside = _moved_aside(self.path, "damaged", BESIDE)
                if not made or aside:
                    _make(self.path)
        except (OSError, sqlite3.OperationalError) as error:
            self._cannot(error)
        if aside:
            rows = readable_rows(aside)
            self._write(rows)
            self._tell(
                f"store {str(self.path)!r}: it was damaged ({why}), and now has the name {aside.name}; {len(rows)} of its entries "
                "could be read and are used, what is missing is computed again"
            )

    def _not_its_own(self) -> Iterator[Path]:
        """What lies beside the file by SQLite's names, and is no regular file that this user alone can write."""
        for part in (Path(f"{self.path}{ending}") for ending in BESIDE[1:]):
            with contextlib.suppress(FileNotFoundError):
                status = os.lstat(part)
                if not (stat.S_ISREG(status.st_mode) and of_this_user(part)):
                    yield part

    def _mend(self, error: Exception, again: bool = False) -> None:
        """Set the file aside where the error says that it is damaged, and was not just mended; else raise `CannotKeepError`."""
        self.close()
        name = getattr(error, "sqlite_errorname", "") or ""
        damaged = isinstance(error, UnicodeDecodeError) or "no such" in str(error)
        if not again and (damaged or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))):
            self._make(self._opened_as[1], str(error))
            return
        self._cannot(error, f"{error}; mend that")

    def _cannot(self, error: Exception, otherwise: str = "") -> NoReturn:
        """Raise `CannotKeepError` for a store that can be used at another time, or in any case with the reason `otherwise`."""
        name = getattr(error, "sqlite_errorname", "") or ""
        why = next((CANNOT_KEEP[start] for start in CANNOT_KEEP if name.startswith(start)), otherwise)
        if isinstance(error, BlockingIOError):
            why = BUSY
        elif (isinstance(error, OSError) and error.errno in FULL - {errno.EACCES}) or name.startswith(
            "SQLITE_IOERR"
        ):
            why = f"{getattr(error, 'strerror', None) or error}; make room, or mend the disk"
        if why:
            self._refuse(f"an answer cannot be kept: {why}")
        raise UserError(
            f"store {str(self.path)!r}: {getattr(error, 'strerror', None) or error}; expected a file in a folder that exists "
            "and can be written; name another one by --store, or --store off"
        ) from None

    def _refuse(self, why: str) -> NoReturn:
        raise CannotKeepError(
            f"store {str(self.path)!r}: {why}, name another file by --store, or go on without one by --store off"
        ) from None


class OptionalStore(Store):
    """A store that keeps nobody from an answer: where it cannot be read or written, `say` is told so once."""

    def __init__(self, path: str | Path, say: Callable[[str], object]) -> None:
        self._say, self._told = say, False
        super().__init__(path)

    def keep_all(self, answers: Iterable[tuple[ContentKey, Any, float]]) -> int:
        """Keep several values at once; 0 where none can be kept now."""
        return self._or_said(lambda: super(OptionalStore, self).keep_all(answers), 0)

    def _asked(self, query: str, *given: Any) -> list[Any]:
        return self._or_said(lambda: super(OptionalStore, self)._asked(query, *given), [])

    def _or_said(self, act: Callable[[], T], otherwise: T) -> T:
        try:
            return act()
        except UserError as error:
            # Nobody waits for it a second time.
            self.patience = 0.0
            if not self._told:
                self._told = True
                self._say(str(error))
            return otherwise


def _default_place() -> Path | None:
    """The file of the store where no place is given; None where none is wanted."""
    if given := os.environ.get(VARIABLE):
        return None if given == OFF else Path(given)
    folder = cache_folder()
    return None if folder is None else folder / "store.sqlite"


def _make(path: Path) -> None:
    """Put an empty store in place in one step: a process that ends meanwhile leaves none, or a whole one."""
    with replacing(path) as beside:
        try:
            beside.touch(0o600)
            with contextlib.closing(sqlite3.connect(beside, isolation_level=None)) as connection:
                # With a log beside it, which some network drives refuse, readers and the writer do not wait for one another.
                connection.executescript(f"{TABLES} PRAGMA journal_mode = WAL;")
        finally:
            for left in (f"{file}{ending}" for file in (path, beside) for ending in BESIDE[1:]):
                remove(Path(left))


def _is_whole(path: Path) -> bool:
    """Does the header say that the file is a store? False where it is damaged, of one that has its name from this package.

    Raises `UserError` where it is another file, of another version, or where other users can write it.
    """
    with opened(path, None) as file:
        header = file.read(100)
    sound = len(header) == 100 and header.startswith(b"SQLite format 3\0")
    version, place = int.from_bytes(header[60:64]), _default_place()
    if not of_this_user(path):
        wrong = (
            "other users can write it, and could answer for the computation; expected a file of yours that you alone can write; "
            f"take its ownership, or chmod go-w {path}"
        )
    elif sound and int.from_bytes(header[68:72]) == APPLICATION:
        if version == SCHEMA:
            return True
        wrong = (
            f"it is of version {version}; expected version {SCHEMA}, which this sgverify writes; name another file, or install the "
            "sgverify that wrote this one"
        )
    elif not sound and place is not None and path == Path(os.path.realpath(place)):
        return False
    else:
        wrong = (
            "it is no store of sgverify; expected one, or a file that is not there yet; name another place"
        )
    raise UserError(f"store {str(path)!r}: {wrong}")


def _moved_aside(path: Path, why: str = "foreign", endings: Sequence[str] = ("",)) -> Path:
    """Give a file, and what SQLite laid beside it, a name that is free, and return it."""
    names = (path.with_name(f"{path.name}.{why}-{number}") for number in count(1))
    aside = next(name for name in names if not os.path.lexists(name))
    for ending in endings:
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{ending}").rename(f"{aside}{ending}")
    return aside
