"""A network, loss and data of a training script are the target that `--loss` and `--loader` name, whatever the loss does."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sgverify.configuration import load_configuration
from sgverify.errors import UserError
from sgverify.targets.registry import build_target

SCRIPT = """
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
x, y = torch.randn(37, 2, dtype=torch.float64), torch.randint(3, (37,))
network = torch.nn.Sequential(torch.nn.Linear(2, 3, dtype=torch.float64), torch.nn.Tanh())
criterion = torch.nn.CrossEntropyLoss()
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True, drop_last=True)
batches = [(x[:20], y[:20]), (x[20:], y[20:])]
alone = [x]

def added(outputs, y):
    return torch.nn.functional.cross_entropy(outputs, y, reduction="sum")

def of_all(network, loader):
    return sum(criterion(network(x), y) for x, y in loader)
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


def target(loss: str, loader: str):
    table = {"name": f"train.py:{loss}", "loader": f"train.py:{loader}"}
    return build_target(load_configuration(None, target=table).target)


@pytest.mark.parametrize("loss", ["criterion", "added"])
@pytest.mark.parametrize("loader", ["loader", "batches"])
def test_all_data_are_added_once_whatever_the_loss_does(script: Path, loss: str, loader: str) -> None:
    found = target(loss, loader)
    space: dict = {}
    exec(SCRIPT, space)  # the independent reading: the script by itself
    whole = space["added"](space["network"](space["x"]), space["y"]).item()
    theta = torch.cat([item.detach().reshape(-1) for item in space["network"].parameters()]).numpy()
    assert found.size == 37 and found.dim == 9
    assert found.energy_float64(theta) == pytest.approx(whole + theta @ theta / 2, rel=1e-12)


@pytest.mark.parametrize(
    ("loss", "loader", "said"),
    [
        ("of_all", "loader", "of_all(network, loader) is called as loss(outputs, y)"),
        ("criterion", "alone", "a batch is a Tensor; expected a pair (x, y)"),
        ("x", "loader", "the loss is of type Tensor"),
        ("criterion", "loder", "did you mean 'loader'?"),
    ],
)
def test_what_is_no_loss_or_no_loader_is_refused(script: Path, loss: str, loader: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        target(loss, loader)
    assert said in str(refused.value)


def test_a_loader_needs_its_loss_and_nothing_else(script: Path) -> None:
    for table in (
        {"loader": "train.py:loader"},
        {"name": "train.py:criterion", "loader": "train.py:loader", "size": 3},
    ):
        with pytest.raises(UserError, match="target"):
            build_target(load_configuration(None, target=table).target)


def test_two_networks_are_named(script: Path) -> None:
    (script / "train.py").write_text(f"{SCRIPT}\nother = torch.nn.Linear(2, 3)\n")
    with pytest.raises(UserError, match=r"several networks \(network, other\)"):
        target("criterion", "loader")
