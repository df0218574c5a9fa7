"""An answer as it lies in a store, and whether it is what was kept there: each row says by hashes what it belongs to."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import sqlite3
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from sgverify.keeping.identity import ContentKey

SCHEMA = 1
"""`user_version`, the version of the tables."""

APPLICATION = 0x53475653
"""`application_id`, by which its header says whose it is: the letters SGVS."""

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


PATIENCE = 1.5
"""Seconds that one process waits for another one to finish its writing: nobody is kept from an answer by a store."""

UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""The exceptions of SQLite, and of Python's reading of the description of the tables, for a damaged file."""

BESIDE = ("", "-wal", "-shm", "-journal")
"""The endings of the file's name and of those that SQLite lays beside it, and reads as parts of it."""


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


def connected(path: Path, patience: float = PATIENCE) -> sqlite3.Connection:
    """A connection in which a commit is on disk when it returns, whatever happens to the process or the machine."""
    connection = sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)
    # A damaged text fails its checksum then, and the entry is named; it would be an error of the whole query.
    connection.text_factory = lambda content: content.decode("utf-8", "surrogateescape")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def readable_rows(path: Path) -> list[StoredRow]:
    """The sound rows that can be read of a damaged file, each one by itself and not by the index, which may be what is damaged."""
    rows = []
    files = [Path(f"{path}{ending}") for ending in BESIDE]
    size = sum(file.stat().st_size for file in files if file.exists())
    with contextlib.suppress(*UNREADABLE), contextlib.closing(connected(path)) as connection:
        # No row is smaller: it has three hashes, and one in its key.
        for number in range(1, size // 300 + 1):
            with contextlib.suppress(*UNREADABLE):
                query = connection.execute(f"{SELECT} WHERE number = ?", (number,))
                rows += [StoredRow(*fields[1:]) for fields in query]
    return [row for row in rows if row.wrong is None]
