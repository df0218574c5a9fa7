"""The file of a store: how is it made, whose is it, and what is done with a damaged one?"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from sgverify.errors import UserError
from sgverify.store.places import default_place, of_this_user
from sgverify.store.rows import SCHEMA, SELECT, StoreRow

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

UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What SQLite, and Python's reading of its texts, raise for a damaged file."""

BESIDE = ("", "-wal", "-shm")
"""The endings of the file's name and of those that SQLite lays beside it."""


def as_text(content: bytes) -> str:
    """The text of a column, sound or damaged: bytes that are no UTF-8 become characters that no encoding has."""
    return content.decode("utf-8", "surrogateescape")


def make(path: Path) -> None:
    """Put an empty store in place in one step: a process that ends meanwhile leaves none, or a whole one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        os.close(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
        with contextlib.closing(sqlite3.connect(beside, isolation_level=None)) as connection:
            connection.executescript(TABLES)
            # With a log beside it, which some network drives refuse, readers and the writer do not wait for one another.
            connection.execute("PRAGMA journal_mode = WAL")
        for ending in BESIDE[1:]:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{path}{ending}")
        os.replace(beside, path)
    finally:
        for ending in BESIDE:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{beside}{ending}")


def damaged(path: Path) -> bool:
    """Does SQLite find the file's structure broken?"""
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
            return connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok"
    except UNREADABLE:
        return True


def is_whole(path: Path) -> bool:
    """Does the header say that the file is a store? False where it is one whose header is damaged.

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
    # In the cache folder the file has its name from this package, whatever became of its first page.
    place = default_place()
    if not sound and place is not None and path == Path(os.path.realpath(place)):
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
            os.replace(f"{path}{ending}", f"{aside}{ending}")
    return aside


def sound_rows(path: Path) -> list[StoreRow]:
    """The sound rows that can be read of a damaged file: up to the damage, from the file's end, and each one between by itself."""
    found: dict[int, StoreRow] = {}
    with contextlib.suppress(*UNREADABLE), contextlib.closing(sqlite3.connect(path)) as connection:
        connection.row_factory, connection.text_factory = sqlite3.Row, as_text
        # Not by the index, which may be what is damaged.
        query = SELECT.replace("FROM answers a", "FROM answers a NOT INDEXED")
        for order in ("ASC", "DESC"):
            with contextlib.suppress(*UNREADABLE):
                for row in connection.execute(f"{query} ORDER BY number {order}"):
                    if row["number"] not in found:
                        found[row["number"]] = StoreRow.read(row)
        for number in set(range(1, max(found, default=0))) - found.keys():
            with contextlib.suppress(*UNREADABLE):
                for row in connection.execute(f"{query} WHERE number = ?", (number,)):
                    found[number] = StoreRow.read(row)
    return [found[number] for number in sorted(found) if found[number].wrong is None]
