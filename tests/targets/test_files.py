"""Data from CSV, npy and npz files: what is read, where a path counts from, and one clear message for what is wrong."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sgverify.configuration import load_configuration
from sgverify.configuration.loading import settings_of
from sgverify.errors import ConfigurationError
from sgverify.targets import Target, build_target, data_files
from sgverify.targets.data_files import content_hash, read_file

TABLE = "id,x,weight,y\na,1.0,2.5,0\nb,-2,0.5,1\nc,3e-1,7,1\n"
WANTED = [[1.0, 0.0], [-2.0, 1.0], [0.3, 1.0]]


def build(**keys: Any) -> Target:
    return build_target(load_configuration(target=keys).target)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def test_columns_of_a_csv_file_by_name_and_by_number(table: Path) -> None:
    for columns in (["x", "y"], [1, 3]):
        target = build(name="logistic-regression", file=str(table), columns=columns)
        assert target.data is not None
        assert target.data.tolist() == WANTED
        assert (target.dim, target.size) == (1, 3)


def test_a_csv_file_without_a_header_is_all_data(tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text("1.5\n2\n\n-3\n", encoding="utf-8")
    target = build(name="gaussian-mean", file=str(tmp_path / "plain.csv"))
    assert target.data is not None
    assert target.data.tolist() == [[1.5], [2.0], [-3.0]]


@pytest.mark.parametrize("kind", ["npy", "npz", "one array"])
def test_arrays_are_read(tmp_path: Path, kind: str) -> None:
    keys: dict[str, Any] = {}
    path = tmp_path / ("d.npy" if kind == "npy" else "d.npz")
    if kind == "npy":
        np.save(path, np.array(WANTED, dtype=np.float32))
    elif kind == "npz":
        np.savez(path, other=np.zeros(2), table=np.array(WANTED))
        keys["key"] = "table"
    else:
        np.savez(path, table=np.array(WANTED))
    target = build(name="linear-regression", file=str(path), **keys)
    assert target.data is not None
    np.testing.assert_allclose(target.data, WANTED, rtol=1e-7)


def test_an_array_in_python_is_data() -> None:
    target = build(name="gaussian-mean", data=np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert target.dim == 2


def test_a_file_gives_what_the_same_data_give(table: Path) -> None:
    one = build(name="linear-regression", file=str(table), columns=["x", "weight"])
    other = build(name="linear-regression", data=[[1.0, 2.5], [-2.0, 0.5], [0.3, 7.0]])
    assert one.mean == other.mean


def test_a_path_counts_from_the_configuration_file_and_a_setting_from_where_one_is(
    table: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = table.parent / "run.toml"
    config.write_text(
        '[target]\nname = "logistic-regression"\nfile = "data.csv"\ncolumns = ["x", "y"]\n', encoding="utf-8"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    loaded = load_configuration(config)
    assert loaded.target.file == str(table)
    assert build_target(loaded.target).size == 3
    monkeypatch.chdir(table.parent)
    assert load_configuration(settings=["target.file=data.csv"]).target.file == str(table)


def test_a_replay_notices_a_changed_file_and_the_evidence_holds_no_data(table: Path) -> None:
    settings = settings_of(load_configuration(target={"file": str(table), "columns": ["x"]}))
    assert any(setting.startswith("target.sha256=") for setting in settings)
    assert sum(map(len, settings)) < 500
    assert build_target(load_configuration(settings=settings).target).size == 3
    table.write_text(TABLE.replace("3e-1", "3e-2"), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="has changed"):
        build_target(load_configuration(settings=settings).target)


@pytest.mark.parametrize(
    ("content", "keys", "message"),
    [
        (None, {}, "cannot be read"),
        ("", {}, "holds no data"),
        ("x,y\n", {}, "holds no data"),
        ("1,2\n3\n", {}, r"datum 1 \(from 0\) has 1 entries"),
        ("x\n1\nnan\n", {}, "line 3 holds 'nan' in column 'x'"),
        ("x\n1\n\n", {"columns": ["z"]}, "'z' is no column of .*; it has x"),
        ("1\n2\n", {"columns": [1]}, "1 is no column of .*; it has 0 to 0, as it has no header"),
        ("x\n1\n", {"columns": []}, "is empty"),
        ("x\n1\n", {"key": "a"}, "names an array of an npz"),
        ("x\n1\n", {"data": [1.0]}, "are both given"),
        ("x\n1\n", {"size": 3}, "target.size=3, but"),
        ("x\n1\n", {"data_seed": 3}, "has no effect"),
    ],
)
def test_wrong_files_are_refused_with_one_message(
    tmp_path: Path, content: str | None, keys: dict[str, Any], message: str
) -> None:
    path = tmp_path / "data.csv"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=message) as caught:
        build(name="gaussian-mean", file=str(path), **keys)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "key", "message"),
    [
        ({"a": np.zeros(2), "b": np.zeros(2)}, None, "holds 'a', 'b'"),
        ({"a": np.zeros(2)}, "c", "target.key='c'"),
        ({"a": np.array(["x"])}, "a", "expected numbers of shape"),
        ({"a": np.zeros((0, 2))}, "a", "expected numbers of shape"),
        ({"a": np.zeros((2, 2, 2))}, "a", "expected numbers of shape"),
        ({"a": np.array([1.0, np.inf])}, "a", "holds inf"),
        ({"a": np.array([None])}, "a", "numpy cannot read it"),
    ],
)
def test_wrong_arrays_are_refused(tmp_path: Path, arrays: Any, key: str | None, message: str) -> None:
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(ConfigurationError, match=message):
        build(name="gaussian-mean", file=str(tmp_path / "d.npz"), **({} if key is None else {"key": key}))


def test_what_is_no_archive_or_has_another_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.npz").write_bytes(b"nothing")
    (tmp_path / "d.xlsx").write_bytes(b"nothing")
    (tmp_path / "d.csv").write_bytes(b"\xff\xfe1")
    for name, message in (
        ("d.npz", "numpy cannot read it"),
        ("d.xlsx", "expected a file named"),
        ("d.csv", "not a text file"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            build(name="gaussian-mean", file=str(tmp_path / name))


def test_keys_of_a_file_without_one_and_targets_without_data_are_refused(table: Path) -> None:
    with pytest.raises(ConfigurationError, match="speaks of a file"):
        build(name="gaussian-mean", columns=["x"])
    with pytest.raises(ConfigurationError, match="does not belong to target.name='gaussian'"):
        build(name="gaussian", file=str(table))


def test_the_command_line_says_it_once_and_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    from sgverify.cli import main

    assert main(["verify", "sgld-euler", "--set", "target.file=no-such-file.csv"]) == 2
    assert capsys.readouterr().err.count("cannot be read") == 1


def test_a_large_npy_file_is_mapped_and_read_as_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The posterior is the same; a wrong number is found in its piece, and the file is not copied."""
    file = tmp_path / "data.npy"
    values = np.random.default_rng(0).standard_normal(1000)
    np.save(file, values)
    small = build(name="gaussian-mean", file=str(file))
    monkeypatch.setattr(data_files, "MAPPED", 0)
    monkeypatch.setattr(data_files, "_ROWS", 64)
    mapped = build(name="gaussian-mean", file=str(file))
    assert isinstance(mapped.data, np.memmap)
    assert mapped.mean == small.mean
    assert content_hash(str(file)) == hashlib.sha256(file.read_bytes()).hexdigest()
    values[700] = np.nan
    np.save(file, values)
    with pytest.raises(ConfigurationError, match="datum 700"):
        build(name="gaussian-mean", file=str(file))


def test_a_parquet_file_holds_named_columns(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed (sgverify[parquet])")
    arrow = pytest.importorskip("pyarrow")
    file, x = tmp_path / "data.parquet", np.random.default_rng(0).standard_normal((500, 2))
    parquet.write_table(
        arrow.table({"a": x[:, 0], "b": x[:, 1], "name": ["n"] * 500}), file, row_group_size=64
    )
    found = read_file({"file": str(file), "columns": ["b", "a"]})
    assert np.array_equal(found, x[:, ::-1])
    with pytest.raises(ConfigurationError, match="columns of numbers"):
        read_file({"file": str(file)})


def test_a_parquet_file_without_pyarrow_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "data.parquet"
    file.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match=r"sgverify\[parquet\]"):
        read_file({"file": str(file)})
