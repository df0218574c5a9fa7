"""Digits are split by a seed; IDX files are read, plain or packed, and anything else is refused with its reason."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from reports.applications.sbn import data
from reports.applications.sbn.data import digits, from_idx, read_idx
from sgverify.errors import ConfigurationError

LEVELS = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4) * 10


def idx(levels: np.ndarray = LEVELS, *, kind: int = 8, shape: tuple[int, ...] | None = None) -> bytes:
    lengths = levels.shape if shape is None else shape
    return struct.pack(f">BBBB{len(lengths)}I", 0, 0, kind, len(lengths), *lengths) + levels.tobytes()


def test_digits_are_binary_and_split_by_the_seed() -> None:
    found, other = digits(), digits(1)
    assert found.train.shape == (1438, 64) and found.test.shape == (359, 64)
    assert set(found.train.unique().tolist()) == {0, 1} == set(found.test.unique().tolist())
    assert found.told == digits().told != other.told
    # Both splits hold the same images.
    assert float(found.train.sum() + found.test.sum()) == float(other.train.sum() + other.test.sum())


def test_idx_files_are_read_plain_and_packed(tmp_path: Path) -> None:
    plain, packed = tmp_path / "train-images-idx3-ubyte", tmp_path / "t10k-images-idx3-ubyte.gz"
    plain.write_bytes(idx())
    packed.write_bytes(gzip.compress(idx(LEVELS[:1])))
    assert np.array_equal(read_idx(plain), LEVELS) and np.array_equal(read_idx(packed), LEVELS[:1])
    found = from_idx(plain, packed)
    assert found.train.tolist() == [[float(level >= 128) for level in image.ravel()] for image in LEVELS]
    assert (found.height, found.width) == (3, 4) and found.told["test images"] == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "begins with the bytes (none)"),
        (b"P5 28 28", "begins with the bytes 50 35 20 32"),
        (idx()[:9], "ends within its header"),
        (idx()[:-1], "states 24 bytes of pixels, and 23 follow"),
        (idx() + b"x", "states 24 bytes of pixels, and more follow"),
        (idx(kind=0x0D), "type 0x0d"),
        (idx(shape=(24,)), "1 axes and holds labels"),
        (idx(shape=(0, 28, 28)), "0 images of 28 x 28"),
        (idx(shape=(2**31, 2**31, 2**31)), "are read at most"),
        (gzip.compress(idx(), mtime=0)[:20], "end-of-stream"),
        (gzip.compress(idx(), mtime=0)[:-8] + b"12345678", "CRC"),
    ],
)
def test_what_is_no_file_of_images_is_refused(content: bytes, told: str, tmp_path: Path) -> None:
    place = tmp_path / "images"
    place.write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        read_idx(place)
    assert told in str(caught.value) and "'" + str(place) + "'" in str(caught.value)
    assert "expected an IDX file of images" in str(caught.value)


def test_a_small_file_that_unpacks_to_a_large_one_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "images.gz"
    place.write_bytes(gzip.compress(idx() + bytes(10**6)))
    monkeypatch.setattr(data, "MOST_BYTES", 2000)
    with pytest.raises(ConfigurationError, match="more follow"):
        read_idx(place)


def test_missing_files_folders_and_unlike_images_are_refused(tmp_path: Path) -> None:
    for place in (tmp_path / "none", tmp_path):
        with pytest.raises(ConfigurationError, match="cannot be read as images"):
            read_idx(place)
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(idx())
    two.write_bytes(idx(np.ones((1, 4, 4), dtype=np.uint8)))
    with pytest.raises(ConfigurationError, match=r"3 x 4 pixels and .* of 4 x 4"):
        from_idx(one, two)
