"""Answers on disk, in one SQLite file: what is kept survives the end of the process at any moment, and what is found is checked.

Rows are added and never changed; the newest row of a key is its answer. A row has the key's JSON, the circumstances' JSON and the
value's, with a checksum over all of it: one that does not fit, that was made for another key, or that is of another format is named
in `Store.problems` and not used. Whoever can write the file could write rows that fit; so a file that others can write is refused.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from sgverify.code_files import FileState
from sgverify.errors import UserError
from sgverify.keeping.files import OFF, alone_in, cache_folder, of_this_user, possible_name, replacing
from sgverify.keeping.identity import ContentKey

VARIABLE = "SGVERIFY_STORE"
"""The environment variable with the file of the store; `off` keeps none. By default it lies in the cache folder."""

SCHEMA, APPLICATION = 1, 0x53475653
"""`user_version`, the version of the tables, and `application_id`, by which its header says whose it is: the letters SGVS."""

PATIENCE = 60.0
"""Seconds that one process waits for another one to finish its writing."""

TABLES = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {SCHEMA};
CREATE TABLE circumstances (digest TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE answers (number INTEGER PRIMARY KEY, digest TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
    circumstances TEXT NOT NULL, value BLOB NOT NULL, seconds REAL NOT NULL, written TEXT NOT NULL, checksum TEXT NOT NULL);
CREATE INDEX answers_by_digest ON answers (digest, number);
CREATE TRIGGER answers_stay BEFORE UPDATE ON answers BEGIN SELECT RAISE(ABORT, 'answers are added, never changed'); END;
CREATE TRIGGER answers_remain BEFORE DELETE ON answers BEGIN SELECT RAISE(ABORT, 'answers are added, never removed'); END;
"""

COLUMNS = "number, a.digest, kind, key, circumstances, value, seconds, written, checksum"
SELECT = f"SELECT {COLUMNS}, text FROM answers a LEFT JOIN circumstances c ON c.digest = a.circumstances"
"""The rows with their circumstances: a number, and the fields of `StoredRow`."""

INSERT = "INSERT INTO answers VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_TEXT = "INSERT OR IGNORE INTO circumstances VALUES (?, ?)"
MEND_TEXT = "UPDATE circumstances SET text = ?2 WHERE digest = ?1 AND text IS NOT ?2"

UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""The exceptions of SQLite, and of Python's reading of the description of the tables, for a damaged file."""

BESIDE = ("", "-wal", "-shm")
"""The endings of the file's name and of those that SQLite lays beside it."""

CANNOT_KEEP = {
    "SQLITE_FULL": "the disk is full; make room",
    "SQLITE_BUSY": f"another process has held it for {PATIENCE:.0f} s; wait for its end",
    "SQLITE_READONLY": "it cannot be written; allow it",
}


class CannotKeepError(UserError):
    """An answer cannot be kept: the disk is full, the file cannot be written, or another process holds it for too long."""


class StoredRow(NamedTuple):
    """An answer as it lies in the file: texts and hashes, the value as compressed JSON, when it was kept, and a checksum.

    `circumstances` is the hash of `text`, the JSON of the circumstances, which many rows share; None where it is missing.
    """

    digest: str
    kind: str
    key: str
    circumstances: str
    value: bytes
    seconds: float
    written: str
    checksum: str
    text: str | None

    @classmethod
    def of(cls, key: ContentKey, value: Any, seconds: float) -> StoredRow:
        """The row that keeps a JSON value under a key, now."""
        # Tables keep their order: a document that is written from the value has that order too.
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        # The default level takes several times as long and spares a tenth of the bytes.
        packed = zlib.compress(text.encode(), 1)
        written = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        told = (key.digest, key.kind, key.text, key.circumstances.digest, packed, float(seconds), written)
        row = cls(*told, checksum="", text=key.circumstances.text)
        return row._replace(checksum=row.seal)

    @property
    def seal(self) -> str:
        """The sha256 over all of the row, which `checksum` should be."""
        whole = hashlib.sha256()
        for part in (str(SCHEMA), *self[:4], float(self.seconds).hex(), self.written):
            whole.update(f"{len(part)}:{part}".encode())
        whole.update(self.value)
        return whole.hexdigest()

    @property
    def wrong(self) -> str | None:
        """Why the row cannot be trusted; None for a sound one."""
        try:
            if self.seal != self.checksum:
                return "its checksum does not fit, so that it was damaged or changed"
            if hashlib.sha256(self.key.encode()).hexdigest() != self.digest:
                return "it lies under the key of another question"
            if self.text is None or hashlib.sha256(self.text.encode()).hexdigest() != self.circumstances:
                return "its circumstances are missing or were changed"
            told = json.loads(self.key)
            if (told["kind"], told["circumstances"]) != (self.kind, self.circumstances):
                return "its columns contradict its key"
            json.loads(zlib.decompress(self.value))
        except (TypeError, ValueError, AttributeError, KeyError, zlib.error, RecursionError):
            return "it has a form that this version does not write"
        return None

    @property
    def question(self) -> Any:
        """The question of a sound row."""
        return json.loads(self.key)["question"]

    @property
    def answer(self) -> Any:
        """The value of a sound row."""
        return json.loads(zlib.decompress(self.value))


class Store(contextlib.AbstractContextManager["Store"]):
    """Answers in the file `path`, which is made where there is none.

    `problems` has a sentence for everything that was passed over; `reused` the time at which each found answer had been kept.
    Raises `UserError` for a file that is no store, is of another version, or may be written by other users; a damaged one is set
    aside under another name, with all that can still be read taken over. Threads may share a store; a forked process opens its own.
    """

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
    def open(cls, place: str | Path | None = None) -> Store | None:
        """The store at a place, by default that of `SGVERIFY_STORE`, else in the cache folder; None for `off` and without one."""
        if place is not None:
            return None if str(place) == OFF else cls(place)
        path = _default_place()
        if path is not None and not os.environ.get(VARIABLE):
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError:
                return None
        return None if path is None else cls(path)

    def find(self, key: ContentKey) -> Any:
        """The value that is kept under the key; None where there is none, or none that can be trusted."""
        query = f"{SELECT} WHERE a.digest = ? ORDER BY number DESC LIMIT 1"
        for row in () if key.refused else self._sound(query, key.digest):
            self.reused.append(row.written)
            return row.answer
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
            self._connection = _connected(self.path)
        return self._connection

    def _make(self, damaged: int | None = None, why: str = "its first page cannot be read") -> None:
        """Make the file where there is none, see whose it is, and set it aside where its first page is damaged.

        So it is where it has the number `damaged`, in which SQLite met damage, and not the one that another process has made since.
        """
        aside = None
        try:
            with possible_name(self.path):
                self.path = Path(os.path.realpath(self.path))
            with alone_in(self.path.parent):
                made = self.path.exists() and not (self.path.is_file() and not self.path.stat().st_size)
                if made and (not _is_whole(self.path) or FileState.of(self.path).number == damaged):
                    aside = _moved_aside(self.path)
                if not made or aside:
                    _make(self.path)
        except (OSError, sqlite3.OperationalError) as error:
            raise UserError(
                f"store {str(self.path)!r}: {getattr(error, 'strerror', None) or error}; expected a file in a folder that exists "
                "and can be written; name another one by --store, or --store off"
            ) from None
        if aside:
            rows = _readable_rows(aside)
            self._write(rows)
            self._tell(
                f"store {str(self.path)!r}: it was damaged ({why}), and now has the name {aside.name}; {len(rows)} of its entries "
                "could be read and are used, what is missing is computed again"
            )

    def _mend(self, error: Exception, again: bool = False) -> None:
        """Set the file aside where the error says that it is damaged, and was not just mended; else raise `CannotKeepError`."""
        self.close()
        name = getattr(error, "sqlite_errorname", "") or ""
        damaged = isinstance(error, UnicodeDecodeError) or "no such" in str(error)
        if not again and (damaged or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))):
            self._make(self._opened_as[1], str(error))
            return
        why = next(
            (CANNOT_KEEP[start] for start in CANNOT_KEEP if name.startswith(start)), f"{error}; mend that"
        )
        raise CannotKeepError(
            f"store {str(self.path)!r}: an answer cannot be kept: {why}, name another file by --store, or go on without one by "
            "--store off"
        ) from None


def _default_place() -> Path | None:
    """The file of the store where no place is given; None where none is wanted."""
    if given := os.environ.get(VARIABLE):
        return None if given == OFF else Path(given)
    folder = cache_folder()
    return None if folder is None else folder / "store.sqlite"


def _connected(path: Path) -> sqlite3.Connection:
    """A connection in which a commit is on disk when it returns, whatever happens to the process or the machine."""
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    # A damaged text fails its checksum then, and the entry is named; it would be an error of the whole query.
    connection.text_factory = lambda content: content.decode("utf-8", "surrogateescape")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _make(path: Path) -> None:
    """Put an empty store in place in one step: a process that ends meanwhile leaves none, or a whole one."""
    with replacing(path) as beside:
        beside.touch(0o600)
        with contextlib.closing(sqlite3.connect(beside, isolation_level=None)) as connection:
            # With a log beside it, which some network drives refuse, readers and the writer do not wait for one another.
            connection.executescript(f"{TABLES} PRAGMA journal_mode = WAL;")
        for left in (f"{file}{ending}" for file in (path, beside) for ending in BESIDE[1:]):
            Path(left).unlink(missing_ok=True)


def _is_whole(path: Path) -> bool:
    """Does the header say that the file is a store? False where it is damaged, of one that has its name from this package.

    Raises `UserError` where it is another file, of another version, or where other users can write it.
    """
    with path.open("rb") as file:
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


def _moved_aside(path: Path) -> Path:
    """Give a damaged file, and what SQLite laid beside it, a name that is free, and return it."""
    names = (path.with_name(f"{path.name}.damaged-{number}") for number in count(1))
    aside = next(name for name in names if not name.exists())
    for ending in BESIDE:
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{ending}").rename(f"{aside}{ending}")
    return aside


def _readable_rows(path: Path) -> list[StoredRow]:
    """The sound rows that can be read of a damaged file, each one by itself and not by the index, which may be what is damaged."""
    rows = []
    files = [Path(f"{path}{ending}") for ending in BESIDE]
    size = sum(file.stat().st_size for file in files if file.exists())
    with contextlib.suppress(*UNREADABLE), contextlib.closing(_connected(path)) as connection:
        # No row is smaller: it has three hashes, and one in its key.
        for number in range(1, size // 300 + 1):
            with contextlib.suppress(*UNREADABLE):
                query = connection.execute(f"{SELECT} WHERE number = ?", (number,))
                rows += [StoredRow(*fields[1:]) for fields in query]
    return [row for row in rows if row.wrong is None]
