"""Which files are read, and how much of them; whatever stands in the place of one is an OSError with its reason."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from sgverify.keeping.files import MOST_TEXT, check_new, each_once, opened, read_bytes, read_text, size_of

PLACES = ("folder", "fifo", "socket", "loop", "device", "missing", "nul\0", "half\ud800", "x" * 300)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one of each kind."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    os.mkfifo("fifo")
    os.symlink("loop", "loop")
    os.symlink("/dev/zero", "device")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind("socket")
    return tmp_path


@pytest.mark.parametrize("name", PLACES)
def test_what_is_no_regular_file_is_an_os_error(place: Path, name: str) -> None:
    for read in (read_bytes, read_text, size_of):
        with pytest.raises(OSError) as met:
            read(name)
        assert met.value.strerror
    with pytest.raises(OSError), opened(name):
        pass


def test_no_more_is_read_than_asked_for(place: Path) -> None:
    with open("large", "wb") as file:
        file.truncate(MOST_TEXT + 1)
    with pytest.raises(OSError, match="67.1 MB are read at most"):
        read_bytes("large")
    assert size_of("large", None) == MOST_TEXT + 1
    (place / "four").write_bytes(b"1234")
    assert read_bytes("four", 4) == b"1234"
    with pytest.raises(OSError, match="3 bytes are read at most"):
        read_bytes("four", 3)
    # A file of /proc states the size 0.
    with pytest.raises(OSError, match="more than 5 bytes"):
        read_bytes("/proc/self/status", 5)


def test_the_mark_that_editors_put_first_is_not_text(place: Path) -> None:
    (place / "marked").write_bytes("\ufefffriction = 3\n".encode())
    assert read_text("marked") == "friction = 3\n"


@pytest.mark.parametrize("name", ["folder", "loop", "missing/x", "fifo/x", "nul\0", "x" * 300, "x" * 250])
def test_places_where_nothing_can_be_written(place: Path, name: str) -> None:
    with pytest.raises(OSError) as met:
        check_new(name)
    assert met.value.strerror


def test_places_where_a_file_can_be_written(place: Path) -> None:
    (place / "there").touch()
    for name in ("there", "new", "a\nb", "x" * 200, "/dev/null", "half\udcff"):
        check_new(name)


def test_a_key_twice_in_one_table() -> None:
    assert each_once([("a", 1), ("b", 2)]) == {"a": 1, "b": 2}
    with pytest.raises(ValueError, match="'a' is given 2 times"):
        each_once([("a", 1), ("a", 1)])
