"""`sample` sees data and functions as they are at each call, whatever an earlier call saw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import sgverify
from sgverify.configuration import load_configuration
from sgverify.draws import Sampling
from sgverify.errors import InstabilityError
from sgverify.schemes import dot
from sgverify.targets import Target

CENTRE = 1.0


def test_a_file_is_read_anew(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    for number in range(2):
        data.write_text(f"1.0\n2.0\n{number}.5\n")
        found = Sampling.of("sghmc-aboba", load_configuration(None, target={"file": str(data)}))
        assert found.subject.target.data is not None
        assert found.subject.target.data[-1, 0] == number + 0.5


def test_draws_are_those_of_the_data_and_the_functions_as_they_are_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def likelihood(theta: Any, datum: Any) -> Any:
        return dot(theta - datum, theta - datum) / 2

    data = np.zeros((20, 1))
    target = Target("own", 1, lambda theta: int(CENTRE) * dot(theta, theta) / 2, likelihood, data)

    def limit() -> float:
        with pytest.raises(InstabilityError, match="take a step below") as refused:
            Sampling.of("sgld-euler", load_configuration(None, schedule__step=1.0), target=target)
        return float(str(refused.value).split("take a step below ")[1].split()[0])

    def mean() -> float:
        settings: Any = {"schedule": {"step": 0.01}, "steps": 400, "burn_in": 200, "chains": 20, "seed": 1}
        draws = sgverify.sample("sgld-euler", settings, target=target)
        return float(draws["posterior"].to_array().mean())

    assert abs(mean()) < 0.2
    assert limit() == pytest.approx(2 / 21, rel=1e-5)
    data[:] = 10.0
    assert abs(mean() - 10 * 20 / 21) < 0.2
    monkeypatch.setitem(globals(), "CENTRE", 80.0)
    assert limit() == pytest.approx(2 / 100, rel=1e-5)
    assert abs(mean() - 2.0) < 0.2


@pytest.mark.power  # 0.7 s
def test_draws_of_a_module_are_those_of_its_loss_as_it_is_now() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(400, 2), torch.zeros(400, dtype=torch.long)
    # None of the data whose energies are compared.
    y[8:10] = 1
    module, weights = torch.nn.Linear(2, 2), [1.0]

    def loss(outputs: Any, labels: Any) -> Any:
        return (torch.nn.functional.cross_entropy(outputs, labels, reduction="none") * factors(labels)).sum()

    def factors(labels: Any) -> Any:
        return 1 + (weights[0] - 1) * (labels == 1)

    def last(target: Any) -> np.ndarray:
        settings: Any = {"schedule": {"step": 0.002}, "steps": 50, "chains": 2, "gradient": {"kind": "iid"}}
        draws = sgverify.sample("sgld-euler", settings, target=target)["posterior"]
        return np.concatenate([draws[name].values[:, -1].ravel() for name in draws.data_vars])

    def made() -> Any:
        return sgverify.module_target(module, loss, data=(x, y), reduction="sum")

    target = made()
    before = last(target)
    weights[0] = 100.0
    after = last(target)
    assert not np.array_equal(before, after)
    assert np.array_equal(after, last(made()))
