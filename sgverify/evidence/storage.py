"""Evidence files: written whole or not at all, and read with a clear refusal of everything else."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from sgverify.errors import UnknownNameError, UserError
from sgverify.evidence.codec import Document, decode, documented, encode, validate
from sgverify.evidence.model import Evidence
from sgverify.evidence.provenance import Provenance
from sgverify.evidence.whole_answer import WholeAnswer
from sgverify.named_files import each_once, read_text

try:
    import fcntl
except ImportError:  # Windows: rows are still written whole, but two writers at once may lose one
    fcntl = None  # type: ignore[assignment]

STDOUT = "-"
NEW_FILE_MODE = 0o666
NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # Windows has no such pipes


def write_evidence(
    target: str | Path | TextIO,
    evidence: Iterable[Evidence],
    provenance: Provenance,
    answer: WholeAnswer | None = None,
) -> dict[str, Any]:
    """Write a document to a file, to stdout (`-`) or to an open text stream, and return it.

    What is written has been validated against the schema; a file is replaced in one step, so that an interrupted
    run leaves either the old document or the new one. Raises UserError when the place cannot be written.
    """
    document = encode(documented(evidence, provenance, answer))
    validate(document, where="the evidence to be written")
    text = json_text(document)
    if isinstance(target, str) and target == STDOUT:
        target = sys.stdout
    if isinstance(target, str | Path):
        write_atomically(target, text)
    else:
        target.write(text)
    return document


def read_evidence(path: str | Path) -> Document:
    """Read and validate an evidence file.

    Raises UserError for a file that is missing, unreadable, not JSON, not evidence or of another schema version.
    """
    where = f"evidence file {str(path)!r}"
    document = read_json(path, where, "a file written by `sgverify ... --json FILE`")
    validate(document, where=where)
    return decode(document)


def read_json(path: str | Path, where: str, written: str) -> Any:
    """The JSON of a file; raises UserError, in one line, for a file that is missing, unreadable or not JSON.

    `where` names the file in the message, `written` says which file is expected.
    """
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise UserError(f"{where} does not exist; expected {written}.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserError(f"{where} cannot be read: {reason}; expected a readable JSON file.") from None
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=each_once)
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{where} is not JSON ({' '.join(str(error).split())}); expected {written}."
        ) from None


def find_evidence(document: Document, id: str) -> Evidence:
    """The piece of evidence named `id`; raises UnknownNameError with the nearest id of the document."""
    for item in document.evidence:
        if item.id == id:
            return item
    raise UnknownNameError("evidence id", id, (item.id for item in document.evidence))


def json_text(value: Any) -> str:
    """JSON for a file that is kept: a table or list without nested ones is one line; of any other, each entry begins a line.

    A point, a row of numbers or a setting is read and compared as one line, and no line is spent on a single number.
    Raises ValueError for NaN and infinities.

    >>> print(json_text({"found": {"low": 1, "high": 2}, "points": [{"step": 0.5}, {"step": 0.25}], "notes": []}), end="")
    {
     "found": {"low": 1, "high": 2},
     "points": [
      {"step": 0.5},
      {"step": 0.25}
     ],
     "notes": []
    }
    """
    return _laid_out(value, "\n") + "\n"


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Write to a temporary file beside `path` and put it in place in one step; a link is followed.

    A device or a pipe (`/dev/stdout`) is written to and never replaced.
    Raises UserError when the place cannot be written; the old file, if any, then is untouched.
    """
    path = Path(os.path.realpath(path))
    # A name of bytes that are no UTF-8 has halves of characters, which are written as JSON writes them.
    raw = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    temporary: str | None = None
    try:
        if path.exists() and not path.is_file():
            # A pipe that nobody reads is an error, and no wait without an end.
            with open(path, "wb", opener=lambda name, flags: os.open(name, flags | NONBLOCK)) as place:
                os.set_blocking(place.fileno(), True)
                place.write(raw)
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".part", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, NEW_FILE_MODE & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise UserError(
            f"cannot write {str(path)!r}: {error.strerror}; expected a file in a folder that exists and can be "
            "written. Choose another place."
        ) from None
    finally:
        if temporary is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)


@contextlib.contextmanager
def written_in_parts(path: str | Path) -> Iterator[TextIO]:
    """A context with a text stream to a temporary file, which takes the place of `path` when the context is left without an error.

    For documents that are too large to be held in memory. Raises `UserError` when the place cannot be written.
    """
    path = Path(os.path.realpath(path))
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, NEW_FILE_MODE & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise UserError(
            f"cannot write {str(path)!r}: {error.strerror}; expected a file in a folder that exists and can be "
            "written. Choose another place."
        ) from None
    finally:
        if temporary is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """A context for one writer at a time: a lock on the folder, which leaves no file behind and ends with the process."""
    if fcntl is None:
        yield
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise UserError(
            f"cannot write in {str(folder)!r}: {error.strerror}; expected a folder that exists"
        ) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _laid_out(value: Any, start: str) -> str:
    """`start`: the line break and the indentation of the line that the value begins on."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    if not any(isinstance(entry, dict | list | tuple) and entry for entry in inside):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    deeper = start + " "
    if isinstance(value, dict):
        entries = [
            f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(entry, deeper)}"
            for key, entry in value.items()
        ]
        return f"{{{deeper}{f',{deeper}'.join(entries)}{start}}}"
    entries = [_laid_out(entry, deeper) for entry in value]
    return f"[{deeper}{f',{deeper}'.join(entries)}{start}]"


def _umask() -> int:
    # The only way to read the mask is to set it; a temporary file is private, the result need not be.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
