from __future__ import annotations

import io
import json
import os
import stat

import pytest

from sgverify.errors import UnknownNameError, UserError
from sgverify.evidence import (
    Provenance,
    documented,
    encode,
    find_evidence,
    read_evidence,
    write_evidence,
)
from sgverify.keeping.files import write_atomically


def test_what_is_written_is_read_back(tmp_path, evidence, provenance):
    path = tmp_path / "evidence.json"
    returned = write_evidence(path, [evidence], provenance)
    assert json.loads(path.read_text()) == returned
    assert read_evidence(path) == documented([evidence], provenance)


def test_a_dash_is_stdout_and_carries_json_alone(capsys, evidence, provenance):
    returned = write_evidence("-", [evidence], provenance)
    captured = capsys.readouterr()
    assert json.loads(captured.out) == returned and captured.err == ""


def test_an_open_stream_is_written_to(evidence, provenance):
    stream = io.StringIO()
    assert write_evidence(stream, [evidence], provenance) == json.loads(stream.getvalue())


def test_nothing_invalid_is_written(tmp_path, evidence, provenance):
    path = tmp_path / "evidence.json"
    object.__setattr__(evidence, "method", "guess")
    with pytest.raises(UserError, match="guess"):
        write_evidence(path, [evidence], provenance)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "evidence.json"
    write_atomically(path, "old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["evidence.json"]


def test_a_full_disk_leaves_the_old_file_and_a_clear_message(tmp_path, monkeypatch):
    path = tmp_path / "evidence.json"
    write_atomically(path, "old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["evidence.json"]


def test_a_new_file_has_the_mode_that_any_program_would_give_it(tmp_path):
    mask = os.umask(0o027)
    try:
        write_atomically(tmp_path / "new", "text")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_link_is_followed_and_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_to_and_never_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, "text")
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("place", ["missing/evidence.json", "."])
def test_a_place_that_cannot_be_written_is_named(tmp_path, place):
    with pytest.raises(UserError) as error:
        write_atomically(tmp_path / place, "text")
    assert str((tmp_path / place).resolve()) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text, says",
    [
        ("not json", "is not JSON"),
        ("", "is not JSON"),
        ('{"schema": NaN}', "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[1]", "holds no evidence"),
        ("{}", "holds no evidence"),
        ('{"schema": 1}', "holds no evidence"),
        ('{"schema": "sgverify/evidence/2"}', "evidence of another version: schema='sgverify/evidence/2'"),
        ('{"schema": "sgverify/bch/1"}', "is not evidence: schema='sgverify/bch/1'"),
        ('{"schema": "sgverify/evidence/1"}', "does not follow"),
    ],
)
def test_other_files_are_refused_by_name_in_one_line(tmp_path, text, says):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(UserError) as error:
        read_evidence(path)
    message = str(error.value)
    assert says in message and repr(str(path)) in message and "\n" not in message


def test_files_that_are_not_there_or_not_text_are_refused(tmp_path):
    with pytest.raises(UserError, match="does not exist"):
        read_evidence(tmp_path / "none.json")
    with pytest.raises(UserError, match="cannot be read"):
        read_evidence(tmp_path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="UTF-8"):
        read_evidence(tmp_path / "bytes")


def test_evidence_is_found_by_its_id_or_the_nearest_is_named(document, evidence):
    assert find_evidence(document, evidence.id) is evidence
    with pytest.raises(UnknownNameError, match=evidence.id):
        find_evidence(document, evidence.id[:-1])


def test_provenance_is_gathered_without_torch(evidence):
    gathered = Provenance.gather(command="sgverify report", seconds=2)
    assert gathered.command == "sgverify report" and gathered.seconds == 2.0
    assert encode(documented([evidence], gathered))["provenance"]["python"].count(".") == 2
