"""CIFAR-10 and CIFAR-100 from the binary files that a user has; Python pickles are never loaded.

Each file is a sequence of records: in CIFAR-10 a byte with the class and 3,072 bytes with the levels of 3 x 32 x 32 pixels, red,
green and blue planes, each row by row; in CIFAR-100 a byte with the coarse class goes before. The files are `data_batch_1.bin` to
`data_batch_5.bin` and `test_batch.bin`, or `train.bin` and `test.bin` (https://www.cs.toronto.edu/~kriz/cifar.html).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reports.applications.classifier.data import ClassImages, made
from sgverify.errors import ConfigurationError
from sgverify.keeping.files import read_bytes, size_of

SHAPE = (3, 32, 32)
_LEVELS = 3 * 32 * 32

MOST_BYTES = 2**28
"""Bytes of a file that are read: those of CIFAR-100 are 154 million."""


@dataclass(frozen=True)
class CifarLayout:
    """The files of a data set, the bytes before the levels of a record, of which the last is the class, and the classes."""

    name: str
    train: tuple[str, ...]
    test: str
    before: int
    classes: int


LAYOUTS = (
    CifarLayout("CIFAR-10", tuple(f"data_batch_{part}.bin" for part in range(1, 6)), "test_batch.bin", 1, 10),
    CifarLayout("CIFAR-100", ("train.bin",), "test.bin", 2, 100),
)


def from_cifar(folder: str, unseen: str = "", learnt: int | None = None) -> ClassImages:
    """The images of a folder, the first `learnt` of them for training; test images of another folder are the unseen classes.

    A folder of CIFAR-10 may have only some of the five files of training images. Levels are (byte/255 - 1/2)/(1/4). Raises
    `ConfigurationError` for a folder without the files, for a file of another form, and for more images than there are.
    """
    layout = _layout(folder)
    train = [
        read_records(Path(folder) / name, layout) for name in layout.train if _is_there(Path(folder) / name)
    ]
    levels, labels = (np.concatenate(part) for part in zip(*train, strict=True))
    count = len(levels) if learnt is None else learnt
    if not 4 <= count <= len(levels):
        raise ConfigurationError(
            f"train-images={count}: expected 4 to {len(levels)}, the training images of {folder!r}"
        )
    other = np.zeros((0, _LEVELS))
    name = f"{layout.name}"
    if unseen:
        second = _layout(unseen)
        if second.name == layout.name:
            raise ConfigurationError(
                f"--unseen {unseen!r}: it holds {second.name}, as --data does; expected the folder of the other data set, whose "
                "classes are unseen"
            )
        other = read_records(Path(unseen) / second.test, second)[0]
        name += f", {second.name} unseen"
    return made(
        name,
        (levels[:count], labels[:count]),
        read_records(Path(folder) / layout.test, layout),
        other,
        classes=layout.classes,
        shape=SHAPE,
    )


def read_records(file: Path, layout: CifarLayout) -> tuple[np.ndarray, np.ndarray]:
    """The levels, shape (N, 3072), and classes (N,) of a file. Raises `ConfigurationError` for a file of another form."""
    expected = f"expected a binary file of {layout.name}, not a Python pickle"
    try:
        content = read_bytes(file, MOST_BYTES)
    except OSError as error:
        raise ConfigurationError(
            f"{str(file)!r} cannot be read: {error.strerror or error}; {expected}"
        ) from None
    record = layout.before + _LEVELS
    if not content or len(content) % record:
        raise ConfigurationError(
            f"{str(file)!r} has {len(content)} bytes, which are no whole number of records of {record}; {expected}"
        )
    held = np.frombuffer(content, dtype=np.uint8).reshape(-1, record)
    labels = held[:, layout.before - 1].astype(np.int64)
    if labels.max() >= layout.classes:
        raise ConfigurationError(
            f"{str(file)!r} has the class {labels.max()}, beyond the {layout.classes} of {layout.name}; {expected}"
        )
    return (held[:, layout.before :] / 255 - 0.5) / 0.25, labels


def _is_there(file: Path) -> bool:
    """Is there a regular file of that name?"""
    try:
        size_of(file, None)
    except OSError:
        return False
    return True


def _layout(folder: str) -> CifarLayout:
    """Which data set a folder holds."""
    for layout in LAYOUTS:
        files = [Path(folder) / name for name in layout.train]
        if _is_there(Path(folder) / layout.test) and any(_is_there(file) for file in files):
            return layout
    names = " or ".join(f"{layout.train[0]} with {layout.test}" for layout in LAYOUTS)
    raise ConfigurationError(
        f"{folder!r} holds no binary files of CIFAR; expected {names}; unpack the binary version of the data set, not the Python "
        "one"
    )
