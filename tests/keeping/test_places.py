"""Whose files and folders are trusted, and what is said of a folder that is gone or full."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sgverify.cli import main
from sgverify.errors import UserError
from sgverify.keeping import places
from sgverify.keeping.files import alone_at, move, put, unfinished
from sgverify.samplers.fused import compiler


@pytest.mark.parametrize(
    ("owner", "mode", "others"),
    [(0, 0o755, False), (0, 0o1777, True), (1, 0o755, True), (0, 0o775, True), (0, 0o700, False)],
)
def test_who_can_write_in_a_folder(
    owner: int, mode: int, others: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = SimpleNamespace(st_uid=os.getuid() + owner, st_gid=5, st_mode=0o40000 | mode)
    monkeypatch.setattr(Path, "stat", lambda path, **_: status)
    monkeypatch.setattr(places, "_is_private", lambda group: False)
    assert places.others_can_write(tmp_path) == others
    monkeypatch.setattr(places, "_is_private", lambda group: True)
    assert places.others_can_write(tmp_path) == (others and mode != 0o775)


def test_a_group_is_private_by_its_name_and_members(monkeypatch: pytest.MonkeyPatch) -> None:
    import grp
    import pwd

    monkeypatch.setattr(pwd, "getpwuid", lambda uid: SimpleNamespace(pw_name="ada"))
    for name, members, private in (
        ("ada", [], True),
        ("ada", ["ada"], True),
        ("ada", ["eve"], False),
        ("users", [], False),
    ):
        monkeypatch.setattr(
            grp,
            "getgrgid",
            lambda gid, name=name, members=members: SimpleNamespace(gr_name=name, gr_mem=members),
        )
        assert places._is_private(5) == private


def test_a_folder_that_was_deleted_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def gone() -> str:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(os, "getcwd", gone)
    assert main(["verify", "sgld-euler"]) == 2
    said = "the working folder was deleted; expected one that is there; cd to another one"
    assert capsys.readouterr().err == f"error: {said}\n"
    with pytest.raises(UserError, match="the working folder was deleted"):
        places.check_working_folder()


def test_a_temporary_folder_that_is_full_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setenv("SGVERIFY_CACHE", "off")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    with pytest.raises(
        compiler.CannotBuild, match=rf"temporary folder \({tmp_path}\).*No space left.*by TMPDIR"
    ):
        compiler._load("int a_text_that_nothing_has_built;")


def test_what_cannot_be_written_leaves_what_was_there_and_nothing_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, folder = tmp_path / "file", tmp_path / "folder"
    put(place, "old", mode=0o600)
    assert place.stat().st_mode & 0o777 == 0o600
    folder.mkdir()
    (folder / "old").touch()
    with unfinished(folder) as beside:
        beside.mkdir()
        honest = os.replace

        def refused(source: Any, target: Any) -> None:
            if Path(source) == beside or Path(target) == place:
                raise OSError(errno.EIO, "Input/output error")
            honest(source, target)

        monkeypatch.setattr(os, "replace", refused)
        for write in (lambda: put(place, "new"), lambda: move(beside, folder)):
            with pytest.raises(OSError, match="Input/output"):
                write()
    assert place.read_text() == "old" and [path.name for path in folder.iterdir()] == ["old"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_lock_of_a_process_that_was_killed_is_taken_and_removed(tmp_path: Path) -> None:
    place = tmp_path / "draws.zarr"
    (tmp_path / ".draws.zarr.lock").touch()
    with alone_at(place), pytest.raises(BlockingIOError), alone_at(place):
        pass
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".draws.zarr.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError), alone_at(place):
        pass
    assert not (tmp_path / "elsewhere").exists()
