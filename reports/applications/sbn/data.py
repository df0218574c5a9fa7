"""Binary images: scikit-learn's digits, which ship inside that package, or MNIST's IDX files that a user has.

Digits: 1,797 images of 8 x 8 pixels with 0, ..., 16 grey levels, binarised as 1 where the level is at least 8, and split at
random into training and test images by a seed. IDX: as distributed with MNIST, 28 x 28 pixels of a byte each, binarised as 1 where
the byte is at least 128 (chen2015 does not say how it binarises), with a training and a test file; a file that ends in .gz is
unpacked.

The IDX format: two zero bytes, a byte for the type of the numbers (0x08: unsigned bytes), a byte for the number of axes, the
length of each axis in four bytes, most significant first, then the numbers.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.keeping.files import opened

MOST_BYTES = 2**27
"""Bytes of an IDX file, and of its numbers once unpacked, that are read: MNIST has 47 million, and each takes eight in memory."""

TEST_SHARE = 0.2
"""The share of the digits that are test images."""

_LEVEL = {"digits": 8, "idx": 128}


@dataclass(frozen=True)
class BinaryImages:
    """Training and test images as float64 of shape (N, D) with the values 0 and 1; D = `height` x `width` pixels, row by row.

    `told` says where they come from, for a result: name, sizes and the SHA-256 of the binary images.
    """

    train: Tensor
    test: Tensor
    height: int
    width: int
    told: Mapping[str, str | int]


def digits(seed: int = 0) -> BinaryImages:
    """scikit-learn's digits, split by `seed`. Raises `ConfigurationError` where scikit-learn is not installed."""
    try:
        from sklearn.datasets import load_digits  # type: ignore[import-untyped]
    except ImportError:
        raise ConfigurationError(
            "the digits are part of scikit-learn, which is not installed; expected it, or IDX files of your own; "
            "pip install scikit-learn, or give --train and --test"
        ) from None
    levels = load_digits().images
    count = len(levels)
    order = np.random.Generator(np.random.Philox(seed)).permutation(count)
    held_out = round(TEST_SHARE * count)
    return _images(
        "digits of scikit-learn", levels[order[held_out:]], levels[order[:held_out]], _LEVEL["digits"]
    )


def from_idx(train: str | Path, test: str | Path) -> BinaryImages:
    """The images of two IDX files. Raises `ConfigurationError` for what is no such file, and for files of unlike images."""
    first, second = read_idx(train), read_idx(test)
    if first.shape[1:] != second.shape[1:]:
        raise ConfigurationError(
            f"{str(train)!r} has images of {first.shape[1]} x {first.shape[2]} pixels and {str(test)!r} of "
            f"{second.shape[1]} x {second.shape[2]}; expected two files of the same data set"
        )
    return _images(f"IDX files {Path(train).name} and {Path(test).name}", first, second, _LEVEL["idx"])


def read_idx(file: str | Path) -> np.ndarray:
    """The images of an IDX file, uint8 of shape (N, height, width).

    Raises `ConfigurationError` for a file that is missing, damaged, cut short or longer than it says, that holds anything but
    images of unsigned bytes, or that is larger than `MOST_BYTES`, unpacked or not.
    """
    try:
        with opened(file, MOST_BYTES) as held:
            packed = held.read(2) == b"\x1f\x8b"
            held.seek(0)
            if not packed:
                return _read(held, file)
            with gzip.GzipFile(fileobj=held) as unpacked:
                return _read(unpacked, file)
    except (OSError, EOFError, zlib.error) as error:
        _refuse(file, getattr(error, "strerror", None) or str(error))


def _read(held: IO[bytes] | gzip.GzipFile, file: str | Path) -> np.ndarray:
    """The images of an open file; a length that its header states is read only once it is known to be small enough."""
    head = held.read(4)
    if len(head) < 4 or head[:2] != b"\0\0":
        _refuse(file, f"it begins with the bytes {head.hex(' ') or '(none)'}, an IDX file with 00 00")
    if head[2] != 0x08:
        _refuse(file, f"its numbers are of the type 0x{head[2]:02x}, those of images 0x08, unsigned bytes")
    if head[3] != 3:
        kind = "labels, or other" if head[3] == 1 else "other"
        _refuse(file, f"it has {head[3]} axes and holds {kind} data; images have 3: number, height and width")
    lengths = held.read(12)
    if len(lengths) < 12:
        _refuse(file, "it ends within its header")
    shape = tuple(int(length) for length in np.frombuffer(lengths, dtype=">u4"))
    size = math.prod(shape)
    if not size:
        _refuse(file, f"its header states {shape[0]} images of {shape[1]} x {shape[2]} pixels: none at all")
    if size > MOST_BYTES:
        _refuse(file, f"its header states {size} bytes of pixels, and {MOST_BYTES} are read at most")
    content = held.read(size + 1)
    if len(content) != size:
        more = "more" if len(content) > size else f"{len(content)}"
        _refuse(file, f"its header states {size} bytes of pixels, and {more} follow")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _refuse(file: str | Path, reason: str) -> NoReturn:
    raise ConfigurationError(
        f"{str(file)!r} cannot be read as images: {reason}; expected an IDX file of images such as train-images-idx3-ubyte of "
        "MNIST, plain or with gzip"
    ) from None


def _images(name: str, train: np.ndarray, test: np.ndarray, level: int) -> BinaryImages:
    height, width = train.shape[1:]
    binary = [np.ascontiguousarray(part.reshape(len(part), -1) >= level) for part in (train, test)]
    told = {
        "name": name,
        "training images": len(train),
        "test images": len(test),
        "pixels": height * width,
        "binarised at": level,
        "sha256 of the binary images": hashlib.sha256(
            b"".join(part.tobytes() for part in binary)
        ).hexdigest()[:16],
    }
    held = [torch.from_numpy(part.astype(np.float64)) for part in binary]
    return BinaryImages(held[0], held[1], height, width, told)
