"""What does a row of the store hold, and when is it trusted?"""

from __future__ import annotations

import datetime
import hashlib
import json
import sqlite3
import zlib
from dataclasses import dataclass, fields
from typing import Any

from sgverify.store.keys import ContentKey

SCHEMA = 1
"""The version of the tables, `user_version` of the file."""


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
        return cls(*told, checksum=_checksum(*told), text=key.circumstances.text)

    @classmethod
    def read(cls, row: sqlite3.Row) -> StoreRow:
        """The row of `SELECT` as it was found, sound or not."""
        return cls(**{field.name: row[field.name] for field in fields(cls)})

    @property
    def wrong(self) -> str | None:
        """Why the row cannot be trusted; None for a sound one."""
        told = (self.digest, self.kind, self.key, self.circumstances, self.value, self.seconds, self.written)
        try:
            if _checksum(*told) != self.checksum:
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
        assert self.text is not None
        key = json.loads(self.key)
        value = json.loads(zlib.decompress(self.value))
        return StoredAnswer(
            self.kind,
            key["question"],
            value,
            self.seconds,
            self.written,
            json.loads(self.text),
            key["content"],
        )

    def add(self, connection: sqlite3.Connection) -> None:
        """Insert the row, and its circumstances where they are new or were damaged: `circumstances` is the hash of their text."""
        connection.execute(
            "INSERT INTO circumstances VALUES (?, ?) ON CONFLICT (digest) DO UPDATE SET text = excluded.text "
            "WHERE text IS NOT excluded.text",
            (self.circumstances, self.text),
        )
        told = [getattr(self, name) for name in COLUMNS]
        connection.execute(
            f"INSERT INTO answers ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})", told
        )


COLUMNS = tuple(field.name for field in fields(StoreRow) if field.name != "text")

SELECT = "SELECT a.*, c.text AS text FROM answers a LEFT JOIN circumstances c ON c.digest = a.circumstances"
"""The rows with their circumstances; `number` counts them."""

PACKING = 1
"""The level of compression; the default one takes several times as long and spares a tenth of the bytes."""


def _checksum(
    digest: str, kind: str, key: str, circumstances: str, value: bytes, seconds: float, written: str
) -> str:
    whole = hashlib.sha256()
    for part in (str(SCHEMA), digest, kind, key, circumstances, float(seconds).hex(), written):
        whole.update(f"{len(part)}:{part}".encode())
    whole.update(value)
    return whole.hexdigest()
