"""The identity of what is computed: the question, the code and the data behind it, this package, libraries and platform.

Whatever is kept, answers in a store and the state of a run that goes on later, is kept under one: `ContentKey` is the identity of a
question, whose hash finds its answer; `run_identity` is that of a run, part by part, so that what differs can be named.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import sgverify
from sgverify.code_files import (
    FileState,
    Sources,
    changed_of,
    changed_since_start,
    files_in,
    installed_version,
    references_in,
)
from sgverify.plugins import GROUPS, plugins

PACKAGE = Path(__file__).parents[1]

LIBRARIES = (
    *("numpy", "scipy", "sympy", "mpmath", "torch", "python-flint", "statsmodels", "hypothesis", "pydantic"),
    *("jax", "jaxlib", "matplotlib"),
)
"""The libraries that compute, draw cases or read settings for this package; what a user's file imports is in the question's key."""

ENVIRONMENT = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS"),
    *("OPENBLAS_CORETYPE", "ATEN_CPU_CAPABILITY", "NPY_DISABLE_CPU_FEATURES", "XLA_FLAGS", "JAX_ENABLE_X64"),
    *("CUDA_VISIBLE_DEVICES", "CUBLAS_WORKSPACE_CONFIG"),
)
"""Variables by which libraries choose another order of sums or other instructions.

`SGVERIFY_CACHE`, `SGVERIFY_WORKERS` and `CC` are not among them: a kernel is used only where its bits are those of the steps
without it, whichever compiler built it."""

_FRESH = 1.0
"""Seconds for which what was hashed is not looked at again; `ContentKey.changed` looks before anything is kept."""


@dataclass(frozen=True)
class Circumstances:
    """What is the same for all questions of a process: `value` is JSON, `text` its canonical form and `digest` the hash of that.

    `read` are the files that were hashed, as they were; `refused` says why nothing may be kept, and is empty otherwise.
    """

    value: dict[str, Any]
    text: str
    digest: str
    read: tuple[FileState, ...]
    refused: str = ""

    @classmethod
    def here(cls) -> Circumstances:
        """Those of this process, hashed anew where a file has changed."""
        with _LOCK:
            now = time.monotonic()
            if _KEPT and now - _KEPT[0][0] < _FRESH and _KEPT[0][1] == _EDITS:
                return _KEPT[0][2]
            found = cls._gathered()
            _KEPT[:] = [(now, list(_EDITS), found)]
            return found

    @classmethod
    def told(cls, text: str, here: Circumstances) -> Circumstances:
        """Those that a process elsewhere tells as canonical JSON; the files that are looked at are those of `here`."""
        return cls(json.loads(text), text, hashlib.sha256(text.encode()).hexdigest(), here.read, here.refused)

    def changed(self) -> str | None:
        """A file of this package, or of what is added to it, that is not as it was, or is new; None if there is none."""
        now = {state.path: state for state in own_files()}
        for state in self.read:
            if now.pop(state.path, None) != state and FileState.of(state.path) != state:
                return state.path
        return next(iter(now), None)

    @classmethod
    def _gathered(cls) -> Circumstances:
        source, read, refused = _own_source()
        added, more, others = _added()
        value = {
            "sgverify": {"version": sgverify.__version__, "source": source},
            "edits": [list(edit) for edit in _EDITS],
            "plugins": added,
            "libraries": {name: installed_version(name) for name in (*LIBRARIES, *_of_extras())},
            "platform": platform_value(),
        }
        text = canonical_text(value)
        return cls(
            value,
            text,
            hashlib.sha256(text.encode()).hexdigest(),
            (*read, *more),
            "; ".join(refused + others),
        )


def platform_value() -> dict[str, Any]:
    """What of machine and system may change bits: Python, system, C library, processor, threads and `ENVIRONMENT`."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{sys.platform} {platform.machine()}",
        "c library": _c_library(),
        "processor": hashlib.sha256(processor().encode()).hexdigest(),
        "threads": os.environ.get("OMP_NUM_THREADS") or str(os.cpu_count()),
        "environment": {name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
    }


def canonical_text(value: Any) -> str:
    """JSON with sorted keys and no spaces. Raises `TypeError` for what is no JSON and `ValueError` for NaN and infinities."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@cache
def _of_extras() -> tuple[str, ...]:
    """The libraries of the optional extras, which adapters and suites import, but for those that only tests and documents need."""
    from importlib import metadata

    try:
        needs = metadata.requires("sgverify") or []
    except metadata.PackageNotFoundError:
        return ()
    found = (re.match(r"([\w.-]+).*extra == ['\"](\w+)['\"]", need) for need in needs)
    return tuple(
        sorted(
            {match[1] for match in found if match and match[2] not in {"test", "docs", "dev"}} - {"sgverify"}
        )
    )


@contextmanager
def running_edits(place: str, edits: Sequence[tuple[str, str]]) -> Iterator[None]:
    """A context in which this process runs edited code: what is kept under keys made within is found only under the same edits."""
    entry = (place, tuple(tuple(edit) for edit in edits))
    _EDITS.append(entry)
    try:
        yield
    finally:
        _EDITS.remove(entry)


_EDITS: list[tuple[str, tuple[tuple[str, ...], ...]]] = []
_LOCK = threading.RLock()
_KEPT: list[tuple[float, list[Any], Circumstances]] = []
_READ: dict[tuple[str, ...], tuple[float, Sources]] = {}
_HASHES: dict[FileState, str] = {}


@cache
def processor() -> str:
    """What a compiler's `-march=native`, and the choice of instructions in libraries, depend on."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        told = ("model name", "flags", "Features", "CPU part", "CPU implementer")
        first = {line.partition(":")[0].strip(): line for line in reversed(lines) if line.startswith(told)}
        if first:
            return "\n".join(sorted(first.values()))
    return f"{platform.processor()} {platform.machine()} {platform.node()}"


@cache
def _c_library() -> str:
    return " ".join(platform.libc_ver()).strip() or platform.release()


def own_files() -> Iterator[FileState]:
    """The state of every file of the installed package, but for compiled ones, in alphabetical order of their paths."""
    yield from _files(str(PACKAGE))


def _files(folder: str) -> Iterator[FileState]:
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _files(entry.path)
        elif not entry.name.endswith(".pyc"):
            status = entry.stat()
            yield FileState(entry.path, status.st_size, status.st_mtime_ns, status.st_ino)


def _own_source() -> tuple[str, tuple[FileState, ...], list[str]]:
    """One hash of all own files, with their states, and why it cannot be trusted, if so."""
    states = tuple(own_files())
    whole = hashlib.sha256()
    for state in states:
        if state not in _HASHES:
            _HASHES[state] = hashlib.sha256(Path(state.path).read_bytes()).hexdigest()
        whole.update(f"{Path(state.path).relative_to(PACKAGE).as_posix()}\0{_HASHES[state]}\n".encode())
    edited = [Path(state.path).name for state in states if changed_since_start(state)]
    refused = [
        f"{name} of sgverify was changed after this process had started, which may run either"
        for name in edited[:1]
    ]
    return whole.hexdigest(), states, refused


def _added() -> tuple[list[list[Any]], tuple[FileState, ...], list[str]]:
    """What other distributions add by entry points: their versions, and hashes of what is installed in editable mode."""
    rows: list[list[Any]] = []
    sources = Sources()
    for kind in GROUPS:
        for name, found in plugins(kind).items():
            for plugin in found:
                rows.append([kind, name, plugin.place, plugin.distribution])
                sources.add_module(plugin.module)
    if sources.files or sources.distributions:
        rows.append([sources.files, sources.distributions, sorted(sources.absent)])
    return rows, tuple(sources.read.values()), sources.refused


FORMAT = 1
"""The form of keys; another one finds no answers of this one."""


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
    known = _READ.get(asked)
    if known is not None and now - known[0] < _FRESH and not known[1].changed():
        return known[1]
    found = Sources()
    for reference in given:
        found.add_reference(reference)
    for reference in within:
        found.add_reference(reference, likely=True)
    if len(_READ) > 1000:
        _READ.clear()
    _READ[asked] = (now, found)
    return found


def run_identity(
    settings: Mapping[str, Any], libraries: Iterable[str], *, references: Sequence[str] = ()
) -> dict[str, Any]:
    """The identity of a run whose state is kept: its `settings`, the files of the user that they are read from, what computes."""
    here = Circumstances.here().value
    return {
        **settings,
        "sources": flat(key_of("run", {}, references=references).content),
        "sgverify": here["sgverify"],
        "edits": here["edits"],
        "libraries": {name: installed_version(name) for name in libraries},
        "system": {name: here["platform"][name] for name in ("python", "system")},
    }


def differing(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The parts in which two identities differ, by dotted names, each with both values.

    >>> list(differing({"seed": 0, "target": {"size": 3}}, {"seed": 0, "target": {"size": 4}}))
    [('target.size', 3, 4)]
    """
    before, now = flat(held), flat(wanted)
    for name in dict.fromkeys([*before, *now]):
        if before.get(name) != now.get(name):
            yield name, before.get(name), now.get(name)


def flat(value: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """The entries of nested tables by dotted names; tuples as the lists that JSON has."""
    found: dict[str, Any] = {}
    for name, entry in value.items():
        if isinstance(entry, Mapping):
            found |= flat(entry, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = list(entry) if isinstance(entry, tuple) else entry
    return found
