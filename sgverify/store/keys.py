"""Under which key is the answer to a question kept? Under the hash of all that determines it."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgverify.store.installation import Circumstances, canonical_text
from sgverify.store.sources import FileState, Sources, changed_of, files_in, references_in

FORMAT = 1
"""The form of keys; another one finds no answers of this one."""

_FRESH = 1.0
_KEPT: dict[tuple[str, ...], tuple[float, Sources]] = {}


@dataclass(frozen=True)
class ContentKey:
    """What an answer is kept under. `kind` says what is asked, `question` is the JSON of all that is asked, seeds among it.

    `content` are the hashes of the user's code and data that answer it, `circumstances` this package, libraries and platform.
    `refused` is empty, or says why no hash covers all of it: nothing is kept under such a key, and nothing found.
    """

    kind: str
    question: Any
    content: dict[str, Any]
    circumstances: Circumstances
    read: tuple[FileState, ...] = ()
    refused: str = ""

    @property
    def text(self) -> str:
        """The canonical JSON of the key."""
        return canonical_text(
            {
                "format": FORMAT,
                "kind": self.kind,
                "question": self.question,
                "content": self.content,
                "circumstances": self.circumstances.digest,
            }
        )

    @property
    def digest(self) -> str:
        """The sha256 of `text`, in hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def changed(self) -> str | None:
        """A file of the question's own that is not as it was when the key was made; None if there is none."""
        return changed_of(self.read)


def key_of(
    kind: str,
    question: Any,
    *,
    references: Sequence[str] = (),
    files: Iterable[str | Path] = (),
) -> ContentKey:
    """The key of a question, `kind` and a JSON value.

    `references` are schemes (or targets, suites) as a command line names them: the file of `path/to/file.py:attribute` or
    `module:attribute` and every module of the user's that it imports are hashed, a name of the catalogue is part of this package.
    `files` are hashed by their bytes. References and paths of files that stand within the question are found by themselves.

    Raises `TypeError` or `ValueError` for a question that is no JSON. What cannot be hashed makes a key with `refused`.

    >>> one, other = (key_of("example", {"scheme": "sgld-euler", "seed": seed}) for seed in (0, 1))
    >>> one.digest == other.digest, len(one.digest), one.refused
    (False, 64, '')
    """
    plain = json.loads(canonical_text(question))
    given = tuple(dict.fromkeys(references))
    within = tuple(text for text in dict.fromkeys(references_in(plain)) if text not in given)
    sources = _sources(given, within)
    data = Sources()
    for path in dict.fromkeys([*map(str, files), *files_in(plain)]):
        data.add_file(path)
    circumstances = Circumstances.here()
    refused = [circumstances.refused, *sources.refused, *data.refused]
    content = {
        "sources": sources.files,
        "distributions": sources.distributions,
        "absent": sorted(sources.absent),
        "files": data.files,
    }
    return ContentKey(
        kind=kind,
        question=plain,
        content={name: found for name, found in content.items() if found},
        circumstances=circumstances,
        read=(*sources.read.values(), *data.read.values()),
        refused="; ".join(dict.fromkeys(filter(None, refused))),
    )


def _sources(given: tuple[str, ...], within: tuple[str, ...]) -> Sources:
    """The code behind references; where no file of it has changed, its imports are followed at most once in `_FRESH` seconds."""
    asked = (*given, "", *within)
    now = time.monotonic()
    known = _KEPT.get(asked)
    if known is not None and now - known[0] < _FRESH and not known[1].changed():
        return known[1]
    found = Sources()
    for reference in given:
        found.add_reference(reference)
    for reference in within:
        found.add_reference(reference, likely=True)
    if len(_KEPT) > 1000:
        _KEPT.clear()
    _KEPT[asked] = (now, found)
    return found
