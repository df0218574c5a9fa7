"""Digits are split without overlap; CIFAR's binary files are read, and nothing else is; the command runs on a stand-in for them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from reports.applications.__main__ import main
from reports.applications.classifier import result
from reports.applications.classifier.cifar import LAYOUTS, from_cifar
from reports.applications.classifier.data import digits
from reports.applications.result import decode_application
from sgverify.errors import ConfigurationError

TEN, HUNDRED = LAYOUTS


def write(folder: Path, name: str, layout, count: int, *, seed: int = 0) -> np.ndarray:
    """A file of random records whose classes are 0, 1, ... in turn; returns the levels."""
    folder.mkdir(exist_ok=True)
    levels = np.random.default_rng(seed).integers(0, 256, (count, 3072), dtype=np.uint8)
    classes = (np.arange(count) % layout.classes).astype(np.uint8)[:, None]
    coarse = np.full((count, layout.before - 1), 7, dtype=np.uint8)
    (folder / name).write_bytes(np.concatenate([coarse, classes, levels], axis=1).tobytes())
    return levels


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    ten, hundred = tmp_path / "ten", tmp_path / "hundred"
    for part in (1, 2):
        write(ten, f"data_batch_{part}.bin", TEN, 6, seed=part)
    write(ten, "test_batch.bin", TEN, 4, seed=9)
    write(hundred, "train.bin", HUNDRED, 5)
    write(hundred, "test.bin", HUNDRED, 3)
    return ten, hundred


def test_digits_are_split_without_overlap() -> None:
    found = digits(seed=1, learnt=512)
    assert len(found.train) == 512 and found.classes == 8 and found.train.max() == 1
    assert len(found.train) + len(found.test) + len(found.unseen) == 1797
    assert set(found.train_labels.tolist()) == set(found.test_labels.tolist()) == set(range(8))
    learnt, tested = ({row.tobytes() for row in part.numpy()} for part in (found.train, found.test))
    assert not learnt & tested
    assert not torch.equal(digits(seed=2).train, found.train)
    with pytest.raises(ConfigurationError, match="train-images=1797"):
        digits(learnt=1797)


def test_cifar_is_read(folders: tuple[Path, Path]) -> None:
    ten, hundred = (str(folder) for folder in folders)
    found = from_cifar(ten, hundred)
    assert (found.channels, found.height, found.width, found.classes) == (3, 32, 32, 10)
    assert found.train_labels.tolist() == [0, 1, 2, 3, 4, 5] * 2 and found.test_labels.tolist() == [
        0,
        1,
        2,
        3,
    ]
    levels = write(Path(ten), "again.bin", TEN, 6, seed=1)
    assert np.array_equal(found.train[:6].numpy(), (levels / 255 - 0.5) / 0.25)
    assert len(found.unseen) == 3 and from_cifar(ten).unseen.shape == (0, 3072)
    assert from_cifar(hundred).classes == 100 and from_cifar(hundred).train_labels.tolist() == [0, 1, 2, 3, 4]
    assert len(from_cifar(ten, learnt=7).train) == 7


def test_what_is_no_binary_file_is_refused(folders: tuple[Path, Path], tmp_path: Path) -> None:
    ten, hundred = folders
    with pytest.raises(ConfigurationError, match="holds CIFAR-10, as --data does"):
        from_cifar(str(ten), str(ten))
    with pytest.raises(ConfigurationError, match="train-images=13"):
        from_cifar(str(ten), learnt=13)
    with pytest.raises(ConfigurationError, match="no binary files"):
        from_cifar(str(tmp_path / "nowhere"))
    # The Python version is a pickle: it is not loaded, whatever it is called.
    (ten / "test_batch.bin").write_bytes(pickle.dumps({"data": np.zeros((4, 3072))}))
    with pytest.raises(ConfigurationError, match="not a Python pickle"):
        from_cifar(str(ten))
    wrong = write(hundred, "test.bin", TEN, HUNDRED.before + 3072)
    assert wrong.size
    with pytest.raises(ConfigurationError, match="beyond the 100"):
        from_cifar(str(hundred))


def call(folder: Path, *arguments: str) -> int:
    return main(["classifier", "--out", str(folder), *arguments])


def test_the_command_runs_a_convolutional_network_on_a_stand_in_for_cifar(
    folders: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # The checks are asked in their own tests, and by the runs whose results are committed.
    monkeypatch.setattr(result, "checked", lambda *_: ())
    monkeypatch.setattr(result, "ask", lambda *_: _no_advice())
    ten, hundred = (str(folder) for folder in folders)
    sizes = ["--depth", "8", "--width", "1", "--train-images", "6", "--batch", "2", "--epochs", "5"]
    given = ("--data", ten, "--unseen", hundred, *sizes)
    assert call(tmp_path / "out", *given, "--seeds", "1") == 0
    assert "undecided" in capsys.readouterr().out
    found = decode_application(json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8")))
    assert found.found.data["name"] == "CIFAR-10, CIFAR-100 unseen"
    # One seed has no standard error; the first statement is an identity in n and N.
    assert {item.verdict for item in found.found.findings[1:]} == {"undecided"}
    assert {row["method"] for row in found.found.rows} >= {"M-SGD", "cVR-reSGHMC", "cycSGHMC"}
    assert (tmp_path / "out" / "figures").is_dir()


def _no_advice():
    from reports.applications.result import AdviceBeside

    return AdviceBeside(sampler="none", applies=False, approximation="none", answer="not asked", grid="none")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--epochs", "1"), "epochs=1: expected a run in which a control variate"),
        (("--batch", "256"), "batch=256: expected 2 to 255"),
        (("--depth", "9"), "depth=9: expected 0"),
        (("--train-images", "5000"), "train-images=5000"),
        (("--depth", "60000000002"), "depth=60000000002: expected 0"),
        (("--blocks", "1001"), "at most 1000 blocks"),
        (("--width", "100000000000"), "100000000 parameters"),
        (("--epochs", "1000000000"), "expected at most 10000000"),
        (("--data", "/nowhere"), "no binary files of CIFAR"),
        (("--data", "a" * 5000), "no binary files of CIFAR"),
        (("--data", "/dev"), "no binary files of CIFAR"),
        (("--unseen", "/nowhere"), "without --data"),
        (("--epochs", "0"), "--epochs 0: expected a number of at least 1"),
    ],
)
def test_a_wrong_call_is_one_message(
    arguments: tuple[str, ...], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tmp_path, *arguments) == 2
    error = capsys.readouterr().err
    assert told in error and "Traceback" not in error
