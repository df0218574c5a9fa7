"""The SQLite file of a store: its tables and rows, whose it is, when a row is trusted, and what is read of a damaged file."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import sqlite3
import zlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sgverify.errors import UserError
from sgverify.keeping.files import of_this_user, replacing
from sgverify.keeping.identity import ContentKey

SCHEMA = 1
"""The version of the tables, `user_version` of the file."""

APPLICATION = 0x53475653
"""The number by which SQLite's header says whose file it is, `application_id`: the letters SGVS."""

PATIENCE = 60.0
"""Seconds that one process waits for another one to finish its writing."""

TABLES = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {SCHEMA};
CREATE TABLE circumstances (digest TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE answers (
    number INTEGER PRIMARY KEY,
    digest TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    circumstances TEXT NOT NULL,
    value BLOB NOT NULL,
    seconds REAL NOT NULL,
    written TEXT NOT NULL,
    checksum TEXT NOT NULL
);
CREATE INDEX answers_by_digest ON answers (digest, number);
CREATE TRIGGER answers_stay BEFORE UPDATE ON answers BEGIN SELECT RAISE(ABORT, 'answers are added, never changed'); END;
CREATE TRIGGER answers_remain BEFORE DELETE ON answers BEGIN SELECT RAISE(ABORT, 'answers are added, never removed'); END;
"""

SELECT = "SELECT a.*, c.text AS text FROM answers a LEFT JOIN circumstances c ON c.digest = a.circumstances"
"""The rows with their circumstances; `number` counts them."""

UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What SQLite, and Python's reading of its texts, raise for a damaged file."""

BESIDE = ("", "-wal", "-shm")
"""The endings of the file's name and of those that SQLite lays beside it."""

PACKING = 1
"""The level of compression; the default one takes several times as long and spares a tenth of the bytes."""


@dataclass(frozen=True)
class StoredAnswer:
    """What a sound row says: the parts of the key, the value, the seconds that it took, and when it was kept (ISO 8601)."""

    kind: str
    question: Any
    value: Any
    seconds: float
    written: str
    circumstances: Any
    content: Any


@dataclass(frozen=True)
class StoreRow:
    """An answer as it lies in the file: texts and hashes, the value as compressed JSON, and a checksum over all of it.

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
    def of(cls, key: ContentKey, value: Any, seconds: float) -> StoreRow:
        """The row of a value that is kept now. Raises `TypeError` or `ValueError` where the value is no JSON."""
        # In the order of its keys: a document that is written from it has that order too.
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        packed = zlib.compress(text.encode(), PACKING)
        written = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        told = (key.digest, key.kind, key.text, key.circumstances.digest, packed, float(seconds), written)
        return cls(*told, checksum=checksum(*told), text=key.circumstances.text)

    @classmethod
    def read(cls, row: sqlite3.Row) -> StoreRow:
        """The row of `SELECT` as it was found, sound or not."""
        return cls(**{field.name: row[field.name] for field in fields(cls)})

    @property
    def wrong(self) -> str | None:
        """Why the row cannot be trusted; None for a sound one."""
        told = (self.digest, self.kind, self.key, self.circumstances, self.value, self.seconds, self.written)
        try:
            if checksum(*told) != self.checksum:
                return "its checksum does not fit, so that it was damaged or changed"
            if hashlib.sha256(self.key.encode()).hexdigest() != self.digest:
                return "it lies under the key of another question"
            if self.text is None or hashlib.sha256(self.text.encode()).hexdigest() != self.circumstances:
                return "its circumstances are missing or were changed"
            key = json.loads(self.key)
            if key["kind"] != self.kind or key["circumstances"] != self.circumstances:
                return "its columns contradict its key"
            json.loads(zlib.decompress(self.value))
        except (TypeError, ValueError, AttributeError, KeyError, zlib.error, RecursionError):
            return "it has a form that this version does not write"
        return None

    @property
    def answer(self) -> StoredAnswer:
        """The contents of a sound row."""
        key, value = json.loads(self.key), json.loads(zlib.decompress(self.value))
        circumstances = json.loads(self.text or "")
        return StoredAnswer(
            self.kind, key["question"], value, self.seconds, self.written, circumstances, key["content"]
        )

    def add(self, connection: sqlite3.Connection) -> None:
        """Insert the row, and its circumstances where they are new or were damaged: `circumstances` is the hash of their text."""
        connection.execute(
            "INSERT INTO circumstances VALUES (?, ?) ON CONFLICT (digest) DO UPDATE SET text = excluded.text "
            "WHERE text IS NOT excluded.text",
            (self.circumstances, self.text),
        )
        columns = [field.name for field in fields(self) if field.name != "text"]
        connection.execute(
            f"INSERT INTO answers ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
            [getattr(self, name) for name in columns],
        )


def checksum(
    digest: str, kind: str, key: str, circumstances: str, value: bytes, seconds: float, written: str
) -> str:
    """The sha256 over all of a row."""
    whole = hashlib.sha256()
    for part in (str(SCHEMA), digest, kind, key, circumstances, float(seconds).hex(), written):
        whole.update(f"{len(part)}:{part}".encode())
    whole.update(value)
    return whole.hexdigest()


def connected(path: Path) -> sqlite3.Connection:
    """A connection to a store, in which a commit is on disk when it returns, whatever happens to the process or the machine."""
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    # A damaged text fails its checksum then, and the entry is named; it would be an error of the whole query.
    connection.text_factory = lambda content: content.decode("utf-8", "surrogateescape")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def make(path: Path) -> None:
    """Put an empty store in place in one step: a process that ends meanwhile leaves none, or a whole one."""
    with replacing(path) as beside:
        beside.touch(0o600)
        with contextlib.closing(sqlite3.connect(beside, isolation_level=None)) as connection:
            connection.executescript(TABLES)
            # With a log beside it, which some network drives refuse, readers and the writer do not wait for one another.
            connection.execute("PRAGMA journal_mode = WAL")
        for ending in BESIDE[1:]:
            for file in (path, beside):
                Path(f"{file}{ending}").unlink(missing_ok=True)


def damaged(path: Path) -> bool:
    """Does SQLite find the file's structure broken?"""
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
            return connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok"
    except UNREADABLE:
        return True


def is_whole(path: Path, ours: bool) -> bool:
    """Does the header say that the file is a store? False where the header is damaged of a file that can only be one (`ours`).

    Raises `UserError` where it is another file, of another version, or where other users can write it.
    """
    if not of_this_user(path):
        raise UserError(
            f"store {str(path)!r}: other users can write it, and could answer for the computation; expected a file of yours "
            f"that you alone can write; take its ownership, or chmod go-w {path}"
        )
    with path.open("rb") as file:
        header = file.read(100)
    sound = len(header) == 100 and header.startswith(b"SQLite format 3\0")
    if sound and int.from_bytes(header[68:72]) == APPLICATION:
        version = int.from_bytes(header[60:64])
        if version != SCHEMA:
            raise UserError(
                f"store {str(path)!r}: it is of version {version}; expected version {SCHEMA}, which this sgverify writes; name "
                "another file, or install the sgverify that wrote this one"
            )
        return True
    if not sound and ours:
        return False
    raise UserError(
        f"store {str(path)!r}: it is no store of sgverify; expected one, or a file that is not there yet; name another place"
    )


def moved_aside(path: Path) -> Path:
    """Give a damaged file, and what SQLite laid beside it, a name that is free, and return it."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    for ending in BESIDE:
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{ending}").rename(f"{aside}{ending}")
    return aside


def sound_rows(path: Path) -> list[StoreRow]:
    """The sound rows that can be read of a damaged file: up to the damage, from the file's end, and each one between by itself."""
    found: dict[int, StoreRow] = {}
    # Not by the index, which may be what is damaged.
    query = SELECT.replace("FROM answers a", "FROM answers a NOT INDEXED")
    with contextlib.suppress(*UNREADABLE), contextlib.closing(connected(path)) as connection:

        def read(order: str, *given: int) -> None:
            with contextlib.suppress(*UNREADABLE):
                for row in connection.execute(f"{query} {order}", given):
                    if row["number"] not in found:
                        found[row["number"]] = StoreRow.read(row)

        read("ORDER BY number ASC")
        read("ORDER BY number DESC")
        for number in set(range(1, max(found, default=0))) - found.keys():
            read("WHERE number = ?", number)
    return [found[number] for number in sorted(found) if found[number].wrong is None]
