"""Data files that are cut off, lie about what they hold, or hold more than memory: one message, before anything is allocated."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sgverify.errors import ConfigurationError
from sgverify.targets import data_files
from sgverify.targets.data_files import MOST_HELD, read_file


def header(shape: str, kind: str = "<f8", version: bytes = b"\x01\x00") -> bytes:
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY" + version + len(text).to_bytes(2 if version == b"\x01\x00" else 4, "little") + text


def packed(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def saved(save: Callable[..., None]) -> bytes:
    file = io.BytesIO()
    save(file, np.arange(10.0))
    return file.getvalue()


NPY, NPZ = saved(np.save), saved(np.savez)
EIGHTY = bytes(80)

FILES: dict[str, tuple[str, bytes, str]] = {
    "npz cut in the middle": ("npz", NPZ[: len(NPZ) // 2], "numpy cannot read it"),
    "npz cut at its end": ("npz", NPZ[:-10], "numpy cannot read it"),
    "npz with a changed byte": ("npz", NPZ.replace(bytes(8), b"\1" * 8, 1), "numpy cannot read it"),
    "npz of a text": ("npz", packed(a=b"hello"), "numpy cannot read it"),
    "npz that is none": ("npz", NPY, "numpy cannot read it"),
    "npz of a claim": (
        "npz",
        packed(a=header("(1000000000000,)") + EIGHTY),
        "claims 8e\\+03 GB",
    ),
    "npy cut in its header": ("npy", NPY[:40], "numpy cannot read it"),
    "npy of nothing": ("npy", b"", "numpy cannot read it"),
    "npy of a claim": ("npy", header("(1000000000000,)") + EIGHTY, "its header claims 8e\\+03 GB"),
    "npy of a negative length": ("npy", header("(-5,)") + EIGHTY, r"shape \(-5,\)"),
    "npy of no length": ("npy", header("()") + EIGHTY, r"shape \(\)"),
    "npy of objects": ("npy", header("(5,)", "|O") + EIGHTY, "or objects"),
    "npy of text": ("npy", header("(5,)", "<U4") + EIGHTY, "expected numbers"),
    "npy of another format": ("npy", header("(5,)", version=b"\x07\x00") + EIGHTY, "numpy cannot read it"),
    "npy with nested brackets": ("npy", header("(" * 60) + EIGHTY, "numpy cannot read it"),
    "pickle": ("npy", b"cos\nsystem\n(S'echo'\ntR.", "numpy cannot read it"),
    "parquet of nothing": ("parquet", b"PAR1xxxxPAR1", "pyarrow"),
    "csv with a long field": ("csv", b"a,b\n1," + b"2" * 200_000 + b"\n", "line 2 is no line of CSV"),
    "csv with a long text": ("csv", b"a\n1\n" + b"z" * 30_000 + b"\n", r"30002 characters\) in column 'a'"),
    "csv with NUL": ("csv", b"1\n1\x002\n", "line 2 holds"),
    "csv with an open quote": ("csv", b'1,"2\n3,4\n', "holds no data|entries"),
    "csv with infinity": ("csv", b"1\ninf\n", "line 2 holds 'inf'"),
    "csv with what would be read as 0": ("csv", b"1\n1e-400\n", "line 2 holds '1e-400'"),
    "csv with what Python reads as 10": ("csv", b"1\n1_0\n", "line 2 holds '1_0'"),
    "csv with digits of other scripts": ("csv", "1\n\uff12\n".encode(), "line 2 holds '\uff12'"),
}


@pytest.mark.parametrize(("suffix", "content", "says"), FILES.values(), ids=FILES)
def test_broken_files(tmp_path: Path, suffix: str, content: bytes, says: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"data.{suffix}"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=says) as met:
        read_file({"file": str(path)})
    assert "target.file=" in str(met.value) and len(str(met.value)) < 1000 + len(str(path))


@pytest.mark.parametrize("suffix", ["npy", "npz", "csv"])
def test_more_numbers_than_memory_is_to_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """With the bound at 10^4 bytes; the compressed zeros are 100 times as many as the file has bytes."""
    path, zeros = tmp_path / f"data.{suffix}", np.zeros(200_000)
    if suffix == "csv":
        path.write_text("0\n" * 10_000)
    else:
        {
            "npy": lambda: np.save(path, zeros.astype(np.float32)),
            "npz": lambda: np.savez_compressed(path, zeros),
        }[suffix]()
    assert read_file({"file": str(path)}).size
    monkeypatch.setattr(data_files, "MOST_HELD", 10_000)
    with pytest.raises(ConfigurationError, match=r"at most 10 kB in memory|and 10 kB are read at most"):
        read_file({"file": str(path)})


def test_the_bound_is_a_gigabyte() -> None:
    assert MOST_HELD == 2**30
