"""What is kept of an exception: one line, the place, and one file for one crash."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest

from sgverify.evidence.crash import Crash, out_of_memory
from sgverify.schemes import find_scheme
from tests.tables import each_row


def crash(error: BaseException) -> Crash:
    try:
        raise error
    except BaseException as met:
        return Crash.of(met)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_one_crash_leaves_one_file(tmp_path: Path) -> None:
    found = [crash(ValueError("so")) for _ in range(2)]
    assert found[0] == found[1]
    assert found[0].exception == "ValueError: so" and found[0].file is not None
    assert [path.name for path in tmp_path.iterdir()] == [Path(found[0].file).name]
    assert "raise error" in Path(found[0].file).read_text()
    assert crash(ValueError("other")).file != found[0].file


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    first = crash(ValueError("so"))
    assert first.file is not None
    os.unlink(first.file)
    (tmp_path / "theirs").write_text("theirs")
    os.symlink(tmp_path / "theirs", first.file)
    second = crash(ValueError("so"))
    assert second.file != first.file and "Traceback" in Path(str(second.file)).read_text()
    assert (tmp_path / "theirs").read_text() == "theirs"


def test_no_place_for_the_file_is_no_second_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere at all")
    found = crash(ValueError("so"))
    assert found.file is None and "no file could be written" in found.reason


def test_whose_line_it_was() -> None:
    def of_ours() -> None:
        find_scheme(3)  # type: ignore[arg-type]

    with pytest.raises(Exception) as met:
        of_ours()
    found = Crash.of(met.value)
    assert found.ours and found.place.startswith("sgverify/") and "please report it" in found.reason
    theirs = crash(ValueError("so"))
    assert not theirs.ours and theirs.place.startswith("test_crash.py:") and "report" not in theirs.reason


def test_words_of_an_exception() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise ValueError("not even this")

    assert crash(Silent()).exception == "Silent"
    assert crash(MemoryError()).exception == "MemoryError"
    assert crash(ValueError("two\nlines")).exception == "ValueError: two lines"
    assert len(crash(ValueError("x" * 10_000)).exception) < 400


@each_row(
    ("error", "starved"),
    [
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), True),
        (RuntimeError("shapes differ"), False),
        (ValueError("cannot allocate memory"), False),
    ],
)
def test_memory_that_ran_out(error: BaseException, starved: bool) -> None:
    assert out_of_memory(error) is starved
    caused = ValueError("a step raised")
    caused.__cause__ = error
    assert out_of_memory(caused) is starved
