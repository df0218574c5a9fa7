"""How does code of the user's reach a worker on another machine, so that just the text runs there whose hash was recorded here?"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sgverify.code_files import files_of
from sgverify.errors import UserError


@dataclass(frozen=True)
class SentCode:
    """The text of the user's files, by the path from the folder of the run; and the sha256 of files elsewhere, by the whole path.

    What is in or below the folder travels; what is not has to be at the same place on the worker, with the same hash.
    """

    texts: tuple[tuple[str, bytes], ...] = ()
    elsewhere: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, references: Iterable[str], data: Iterable[str] = ()) -> SentCode:
        """The code behind references of schemes and targets; files of data are not sent, and have to be on the worker."""
        base = os.path.realpath(".")
        texts: dict[str, bytes] = {}
        elsewhere: dict[str, str] = {}
        for reference in dict.fromkeys(references):
            for file in files_of(reference):
                path = os.path.realpath(file)
                absolute = os.path.isabs(reference)
                if not absolute and path.startswith(base + os.sep):
                    texts[os.path.relpath(path, base)] = Path(path).read_bytes()
                else:
                    elsewhere[path] = _hash(Path(path).read_bytes())
        for path in dict.fromkeys(data):
            # A file that is missing is told by its questions.
            with contextlib.suppress(OSError):
                elsewhere[os.path.realpath(path)] = _hash(Path(path).read_bytes())
        return cls(tuple(sorted(texts.items())), tuple(sorted(elsewhere.items())))

    @cached_property
    def digest(self) -> str:
        """One hash of all."""
        whole = hashlib.sha256()
        for name, text in self.texts:
            whole.update(f"{name}\0{_hash(text)}\n".encode())
        for name, digest in self.elsewhere:
            whole.update(f"{name}\0{digest}\n".encode())
        return whole.hexdigest()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """A context of this process in whose working folder lie the texts that were sent, and no others are imported from there.

        Raises `UserError` for a file elsewhere that is missing here, or is another one.
        """
        for name, digest in self.elsewhere:
            try:
                found = _hash(Path(name).read_bytes())
            except OSError as error:
                raise UserError(f"{name}: {error.strerror} on this worker; expected {_WANTED}") from None
            if found != digest:
                raise UserError(
                    f"{name}: sha256 {found[:12]} on this worker and {digest[:12]} where the campaign began; expected {_WANTED}"
                )
        if not self.texts:
            yield
            return
        folder = self._laid_out()
        _forget_others(folder)
        sys.path.insert(0, folder)
        try:
            with contextlib.chdir(folder):
                yield
        finally:
            sys.path.remove(folder)

    def _laid_out(self) -> str:
        """The folder of this process with the texts, as they were sent."""
        if self.digest not in _FOLDERS:
            folder = tempfile.mkdtemp(prefix="sgverify-sent-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            _FOLDERS[self.digest] = os.path.realpath(folder)
        folder = _FOLDERS[self.digest]
        for name, text in self.texts:
            path = Path(folder, name)
            if not path.is_file() or path.read_bytes() != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text)
        return folder


_FOLDERS: dict[str, str] = {}

_WANTED = "the file at the same place with the same content on every worker, as on a shared disk"


def _forget_others(folder: str) -> None:
    """Take modules out of this process that were sent with another campaign: one of the same name would be theirs."""
    others = [path + os.sep for path in _FOLDERS.values() if path != folder]
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(tuple(others)):
            del sys.modules[name]


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


__all__ = ["SentCode"]
