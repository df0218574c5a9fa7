"""Built kernels on disk: found again by another process, rebuilt where anything differs, and never trusted unseen."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgverify.keeping import identity, places
from sgverify.samplers.fused import compiler

pytestmark = pytest.mark.skipif(compiler.compiler() is None, reason="there is no C compiler")
TEXT = "int answer(void) { return 42; }"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """The calls of the compiler, with a cache folder of their own."""
    monkeypatch.setenv(places.CACHE, str(tmp_path / "cache"))
    found: list[Any] = []
    honest = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: found.append(a) or honest(*a, **k))
    return found


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The answer of a library that a process builds which has loaded none."""

    def asked(text: str = TEXT) -> int:
        monkeypatch.setattr(compiler, "_BUILT", {})
        return int(compiler.build(text).answer())

    return asked


def stored(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "kernels").iterdir())


def test_a_kernel_is_compiled_once_for_all_processes(
    calls: list[Any], answer: Callable[..., int], tmp_path: Path
) -> None:
    assert not compiler.is_built(TEXT)
    assert [answer(), answer()] == [42, 42]
    assert len(calls) == len(stored(tmp_path)) == 1
    assert compiler.is_built(TEXT)
    assert answer(TEXT.replace("42", "43")) == 43
    assert len(calls) == len(stored(tmp_path)) == 2


def test_a_damaged_or_foreign_library_is_compiled_again(
    calls: list[Any], answer: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer()
    (library,) = stored(tmp_path)
    honest = library.read_bytes()
    library.unlink()
    library.write_bytes(honest[:-1] + bytes([honest[-1] ^ 1]))
    library.chmod(0o700)
    assert answer() == 42
    assert len(calls) == 2
    # Where others can write it, even right bytes are not trusted: they could be exchanged after they are read.
    (library,) = stored(tmp_path)
    library.chmod(0o777)
    assert answer() == 42
    assert len(calls) == 3
    (library,) = stored(tmp_path)
    library.parent.chmod(0o777)
    assert answer() == 42
    assert len(calls) == 4


def test_a_library_that_cannot_be_loaded_is_compiled_again(
    calls: list[Any], answer: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer()
    honest = ctypes.CDLL

    def refused(name: str) -> ctypes.CDLL:
        if "cache" in name:
            raise OSError("failed to map segment from shared object")
        return honest(name)

    monkeypatch.setattr(ctypes, "CDLL", refused)
    assert answer() == 42
    assert len(calls) == 2


def test_the_key_names_all_that_determines_a_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "cc"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o700)
    keys = {
        compiler.key(TEXT, ["cc", "-O2"]),
        compiler.key(TEXT + " ", ["cc", "-O2"]),
        compiler.key(TEXT, ["cc", "-O1"]),
    }
    keys |= {compiler.key(TEXT, [str(other), "-O2"])}
    monkeypatch.setattr(identity, "processor", lambda: "another processor")
    keys |= {compiler.key(TEXT, ["cc", "-O2"])}
    assert len(keys) == 5
    assert compiler.key(TEXT, ["cc", "-O2"]) in keys


@pytest.mark.parametrize("value", ["off", "file"])
def test_without_a_folder_kernels_are_built_all_the_same(
    value: str, calls: list[Any], answer: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(places.CACHE, value if value == "off" else str(tmp_path / "file"))
    assert [answer(), answer()] == [42, 42]
    assert len(calls) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_cannot_be_written_is_not_used(
    calls: list[Any], answer: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root may write everywhere: what the system is asked is answered for it.
    honest = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "kernels" not in str(path) and honest(path, mode))
    assert [answer(), answer()] == [42, 42]
    assert len(calls) == 2


def test_a_full_disk_leaves_no_half_library(
    calls: list[Any], answer: Callable[..., int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert answer() == 42
    assert stored(tmp_path) == []


def test_the_folder_keeps_what_was_used_last(
    calls: list[Any], answer: Callable[..., int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    texts = [TEXT.replace("42", str(number)) for number in range(3)]
    for age, text in enumerate(texts[:2]):
        answer(text)
        newest = max(stored(tmp_path), key=lambda path: path.stat().st_mtime)
        os.utime(newest, (1000 + age, 1000 + age))
    answer(texts[0])
    size = max(path.stat().st_size for path in stored(tmp_path))
    monkeypatch.setattr(compiler, "MOST_BYTES", 2 * size)
    answer(texts[2])
    monkeypatch.setattr(compiler, "_BUILT", {})
    assert [compiler.is_built(text) for text in texts] == [True, False, True]


def test_the_default_folder_is_the_user_s_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(places.CACHE)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "own"))
    place = compiler.folder()
    assert place is not None
    assert place.is_relative_to(tmp_path)
    assert place.stat().st_mode & 0o777 == 0o700
