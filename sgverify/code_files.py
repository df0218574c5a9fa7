"""The code behind a reference: the user's files by their sha256, and distributions by their versions. Files are read, never run.

The file of a definition and every module of the user's that it imports, transitively, count by their bytes; installed distributions
by their versions and those of what they require. A module is the user's unless it lies in a folder `site-packages` or
`dist-packages`, or belongs to the standard library or to this package: what is installed in editable mode is the user's.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import NamedTuple

from sgverify.code_text import Imported, ModuleText

PACKAGE = Path(__file__).resolve().parent
INSTALLED = frozenset({"site-packages", "dist-packages"})
"""The folders that distributions are installed in: of this environment, a user's own, and those that another environment lends."""

REFERENCE = re.compile(r"(?P<place>.+\.py|[^\W\d]\w*(?:\.[^\W\d]\w*)*):[^\W\d][\w.]*")
"""`path/to/file.py:attribute` or `module:attribute`."""


def place_in(reference: str) -> str | None:
    """The file or module of `path/to/file.py:attribute` or `module:attribute`; None for a name of a catalogue.

    >>> place_in("sub/mine.py:heun"), place_in("shop.schemes:heun"), place_in("sghmc-aboba")
    ('sub/mine.py', 'shop.schemes', None)
    """
    place, _, attribute = reference.rpartition(":")
    return place if place and attribute else None


def package_of(path: Path) -> tuple[Path, str]:
    """The folder that a file's imports begin from, and the package that it is run in: "" where no import of its is relative."""
    root, parts = path.resolve().parent, []
    try:
        relative = any(item.level for item in ModuleText.of(path.read_bytes()).imports)
    except (SyntaxError, ValueError, RecursionError, OSError):
        relative = False
    while relative and (root / "__init__.py").is_file():
        parts.append(root.name)
        root = root.parent
    return root, ".".join(reversed(parts))


def files_of(reference: str, folder: str | Path = ".") -> tuple[Path, ...]:
    """The file that a reference names, seen from a folder, and every file of the user's that it imports, directly or not.

    An import whose name is computed while the code runs (`importlib.import_module(name)`) is not seen. Empty for a name of a
    catalogue and for a file that is missing.
    """
    sources = Sources(os.path.abspath(folder), versions=False)
    sources.add_reference(reference)
    return tuple(path for path in sources.paths if is_own(path))


def hashes_of(references: Iterable[str], folder: str | Path = ".") -> dict[str, str]:
    """The sha256 of every file of the references' code, by its path from the folder; that of an absolute reference is absolute.

    Of a file that ran in this process it is that of the text that ran.
    """
    found: dict[str, str] = {}
    for reference in references:
        absolute = os.path.isabs(place_in(reference) or "")
        for file in files_of(reference, folder):
            place = os.path.abspath(file)
            name = place if absolute else os.path.relpath(place, os.path.abspath(folder))
            found[Path(name).as_posix()] = RAN.get(os.path.realpath(place)) or hash_of(file)
    return dict(sorted(found.items()))


def hash_of(file: str | Path) -> str:
    """The sha256 of a file's content, in hexadecimal digits."""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def remember(file: str | Path, content: bytes) -> None:
    """Keep the sha256 of the text of a file that is about to run."""
    RAN[os.path.realpath(file)] = hashlib.sha256(content).hexdigest()


RAN: dict[str, str] = {}
"""The sha256 of each file that ran because somebody named it, by its real path."""


class FileState(NamedTuple):
    """What changes when a file is written: its path, size, time of change and number."""

    path: str
    size: int
    changed: int
    number: int

    @classmethod
    def of(cls, path: str | Path) -> FileState:
        """The state as it is now; of a file that is missing, one that no file has."""
        try:
            found = os.stat(path)
        except OSError:
            return cls(str(path), -1, -1, -1)
        return cls(str(path), found.st_size, found.st_mtime_ns, found.st_ino)


@dataclass
class Sources:
    """The code behind references; paths and modules are seen from `folder`, where one is given.

    `files`: {name of the file or module: sha256}; `distributions`: {name: version}; `absent`: modules that are imported where they
    are there, and that are not; `read`: the state of every file that was read; `refused`: a clause for each thing that no hash
    covers. `paths` are those of the files of code, in the order in which they were reached. Distributions are left out without
    `versions`.
    """

    folder: str = ""
    versions: bool = True
    paths: list[Path] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    distributions: dict[str, str] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    read: dict[str, FileState] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    _places: dict[str, str] = field(default_factory=dict)

    def changed(self) -> str | None:
        """A file that is not as it was when it was read; None if there is none."""
        return changed_of(self.read.values())

    def add_reference(self, reference: str, *, likely: bool = False) -> None:
        """Add the code behind `module:attribute` or `path/to/file.py:attribute`; names of the catalogue have none of their own.

        `likely`: the text merely has the form of a reference, and is none where there is no such file or module.
        """
        found = REFERENCE.fullmatch(reference)
        if found is None:
            return
        place = found["place"]
        if place.endswith(".py"):
            path = Path(self.folder, place)
            if path.is_file():
                root, package = package_of(path)
                self._add_module(path.name, path, package, [str(root)])
            elif not likely:
                self.refused.append(f"{reference}: there is no file {place}")
        elif place.partition(".")[0] == "__main__":
            self.refused.append(f"{reference}: it is defined in this session, and in no file")
        elif not self.add_module(place) and not likely:
            self.refused.append(f"{reference}: no module {place} is found without running code")

    def add_module(self, module: str) -> bool:
        """Add the code of a module by its name; False where there is none."""
        return self._add_named(module, [self.folder] if self.folder else [])

    def add_file(self, path: str | Path, name: str | None = None) -> None:
        """Add a file by its bytes."""
        state = FileState.of(path)
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            self.refused.append(f"{path}: cannot be read ({error.strerror})")
            return
        self.read[str(path)] = state
        self.files[str(path) if name is None else name] = hashlib.sha256(content).hexdigest()

    def _add_module(self, name: str, path: Path, package: str, folders: Sequence[str]) -> None:
        """Add a module's text and what it imports; `package` is where its relative imports begin, `folders` are searched first."""
        name = self._told_apart(name, path)
        if name in self.files:
            return
        self.add_file(path, name)
        if name not in self.files:
            return
        self.paths.append(path)
        try:
            told = ModuleText.of(path.read_bytes())
        except (SyntaxError, ValueError, RecursionError, OSError) as error:
            self.refused.append(f"{path.name}: cannot be parsed ({error})")
            return
        self.refused += [f"{path.name}:{line} {clause}" for line, clause in told.reads]
        for item in told.imports:
            self._add_import(item, path, package, folders)

    def _told_apart(self, name: str, path: Path) -> str:
        """The name of a file or module here, with a number where another file has it: a scheme's `mine.py` beside a target's."""
        place, told, number = os.path.realpath(path), name, 1
        while self._places.setdefault(told, place) != place:
            number += 1
            told = f"{name} ({number})"
        return told

    def _add_import(self, item: Imported, path: Path, package: str, folders: Sequence[str]) -> None:
        module = item.module
        if item.level:
            parts = package.split(".") if package else []
            if len(parts) < item.level:
                self.refused.append(
                    f"{path.name}:{item.line} imports relative to a package, and the file is in none"
                )
                return
            module = ".".join([*parts[: len(parts) - item.level + 1], *([module] if module else [])])
        if not self._add_named(module, folders):
            self.absent.add(module)
            return
        # What is taken from a package may be a module of it.
        for taken in item.names:
            if taken != "*":
                self._add_named(f"{module}.{taken}", folders)

    def _add_named(self, module: str, folders: Sequence[str]) -> bool:
        """Add a module by its name, with the packages that it is in; False where it is not found."""
        if module.partition(".")[0] == PACKAGE.name:
            return True
        for name, spec in _specs(module, folders):
            if spec is None:
                return False
            if spec.origin is None and spec.submodule_search_locations is not None:
                continue  # a folder of modules without a text of its own
            if spec.origin in {None, "built-in", "frozen"} or _in_standard_library(spec.origin or ""):
                return True
            assert spec.origin is not None
            origin = Path(spec.origin)
            if INSTALLED.intersection(origin.parts) and self._add_distribution(name):
                return True
            if not isinstance(spec.loader, SourceFileLoader):
                self.refused.append(f"{name}: {origin.name} is no Python text")
                return True
            self._compare_loaded(name, origin)
            package = name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
            self._add_module(name, origin, package, folders)
        return True

    def _compare_loaded(self, name: str, origin: Path) -> None:
        """Add a reason where this process has loaded the module from another text."""
        loaded = getattr(sys.modules.get(name), "__file__", None)
        if loaded is None:
            return
        if Path(loaded).resolve() != origin.resolve():
            self.refused.append(f"{name}: this process has loaded it from {loaded}, and not from {origin}")
        elif changed_since_start(FileState.of(origin)):
            self.refused.append(f"{name}: {origin.name} was changed after this process had started")

    def _add_distribution(self, module: str) -> bool:
        """Add the version of the distribution of a module, and of all that it requires; False where none has the module."""
        if not self.versions:
            return True
        versions = _versions_behind(module.partition(".")[0])
        self.distributions.update(versions)
        return bool(versions)


def changed_of(states: Iterable[FileState]) -> str | None:
    """The path of a file that is not in the given state any more; None if there is none."""
    return next((state.path for state in states if FileState.of(state.path) != state), None)


def changed_since_start(state: FileState) -> bool:
    """Was the file changed after this process had started, so that it may run other code than stands there?"""
    return state.changed > _started()


def references_in(value: object) -> Iterator[str]:
    """The texts within a JSON value that have the form of a reference to code."""
    for text in _texts(value):
        if REFERENCE.fullmatch(text):
            yield text


def files_in(value: object) -> Iterator[str]:
    """The texts within a JSON value that are the path of a file."""
    for text in _texts(value):
        if "\n" not in text and "\0" not in text and len(text) < 1024 and os.path.isfile(text):
            yield text


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _specs(module: str, folders: Sequence[str]) -> Iterator[tuple[str, ModuleSpec | None]]:
    """The specification of each package on the way to a module, and of itself; None, as the last one, where there is none."""
    parts = module.split(".")
    if parts[0] in sys.builtin_module_names:
        return
    spec = PathFinder.find_spec(parts[0], [*folders, *sys.path])
    if spec is None:
        spec = next(filter(None, (_asked(finder, parts[0]) for finder in sys.meta_path)), None)
    yield parts[0], spec
    for count in range(2, len(parts) + 1):
        if spec is None or spec.submodule_search_locations is None:
            # What is asked for is a name in a module, or nothing.
            return
        # The last part alone: with its whole name a folder without `__init__.py` would ask for its parent, which is not imported.
        spec = PathFinder.find_spec(parts[count - 1], list(spec.submodule_search_locations))
        if spec is None:
            return
        yield ".".join(parts[:count]), spec


def _asked(finder: object, name: str) -> ModuleSpec | None:
    """What another finder knows, such as that of distributions in editable mode."""
    find = getattr(finder, "find_spec", None)
    try:
        return None if finder is PathFinder or find is None else find(name, None)
    except (ImportError, AttributeError, ValueError, OSError):
        return None


@cache
def _standard_library() -> tuple[Path, ...]:
    return tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))


def _in_standard_library(origin: str) -> bool:
    path = Path(origin).resolve()
    if INSTALLED.intersection(path.parts):
        return False
    return any(path.is_relative_to(folder) for folder in _standard_library())


@cache
def _versions_behind(top: str) -> dict[str, str]:
    """{distribution: version} of those that have the module, and of all that they require, as far as it is installed."""
    from importlib import metadata

    waiting = [top] if installed_version(top) else list(_distributions_of().get(top, ()))
    found: dict[str, str] = {}
    while waiting:
        name = _canonical(waiting.pop())
        version = installed_version(name)
        if name in found or version is None:
            continue
        found[name] = version
        waiting += [
            re.split(r"[^\w.-]", need.strip(), maxsplit=1)[0] for need in metadata.requires(name) or ()
        ]
    return found


@cache
def _distributions_of() -> dict[str, list[str]]:
    from importlib import metadata

    return dict(metadata.packages_distributions())


def installed_version(distribution: str) -> str | None:
    """The version of a distribution; None where it is not installed."""
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except (metadata.PackageNotFoundError, ValueError):
        return None


def _canonical(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


@cache
def _started() -> int:
    """When this process started, in nanoseconds since the epoch; where the system does not tell, when this was first asked."""
    import time

    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        since = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - ticks * 10**9 // os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return time.time_ns()
    # Ticks, and the times of files, are of hundredths of a second.
    return time.time_ns() - since - 20_000_000


def is_own(file: Path) -> bool:
    """Is a file neither of the standard library, nor of an installed distribution, nor of this package?"""
    place = Path(os.path.realpath(file))
    return INSTALLED.isdisjoint(place.parts) and not any(place.is_relative_to(folder) for folder in _others())


@cache
def _others() -> tuple[Path, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return (PACKAGE, *(Path(os.path.realpath(sysconfig.get_path(name))) for name in names))
