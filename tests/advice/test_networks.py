"""Steps and batches for a network: against closed forms where its U is quadratic, and as one command for a small network."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import sgverify
from sgverify.advice.networks.model import Direction
from sgverify.advice.networks.place import Lanczos
from sgverify.advice.networks.steps import Stepper
from sgverify.cli import main
from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError, DefinitionError, command_lines
from sgverify.subject.binding import make_subject

N, PRIOR = 40, 2.0

SMALL = """
import torch, sgverify
torch.manual_seed(0)
x = torch.linspace(-1, 1, 20)[:, None]
net = torch.nn.Sequential(torch.nn.Linear(1, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
posterior = sgverify.module_target(net, torch.nn.MSELoss(), data=(x, 3*x*x), prior=1.0)
"""


def regression(reduction: str, factor: float = 1.0) -> Any:
    """A linear network with the loss (output - y)^2/2, and its Hessian of U."""
    torch.manual_seed(1)
    x, y = torch.randn(N, 3).double(), torch.randn(N, 1).double()
    module = torch.nn.Linear(3, 1, bias=False).double()

    def loss(output: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
        each = factor * (output - given) ** 2 / 2
        return each.mean() if reduction == "mean" else each.sum()

    target = sgverify.module_target(module, loss, data=(x, y), reduction=reduction, prior=PRIOR)
    return target, (factor * x.T @ x + PRIOR * torch.eye(3)).numpy(), x.numpy(), y.numpy()[:, 0]


@pytest.mark.by_default("mean")
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_the_limit_is_that_of_the_largest_eigenvalue_whatever_the_loss_does_over_a_batch(
    reduction: str,
) -> None:
    target, hessian, x, y = regression(reduction)
    network = sgverify.advise(
        target, ["sgld-euler"], gradient__kind="without-replacement", gradient__batch=10
    ).network
    assert network is not None
    largest = np.linalg.eigvalsh(hessian)[-1]
    assert network.eigenvalues[0] == pytest.approx(largest, rel=1e-3)
    assert network.limits[0] == pytest.approx(2 / largest, rel=3e-3)
    # The stationary variance of Euler with gradients of these minibatches, along the stiffest direction.
    vector = np.linalg.eigh(hessian)[1][:, -1]
    along, residual = x @ vector, x @ np.linalg.solve(hessian, x.T @ y) - y
    share, h = N**2 / 10 * (N - 10) / (N - 1), network.best.step
    noise, growth = share * (along * residual).var(), share * (along**2).var()
    variance = (2 * h + h**2 * noise) / (1 - (1 - h * largest) ** 2 - h**2 * growth)
    assert network.factors[0] == pytest.approx(math.sqrt(variance * largest), rel=1e-3)
    assert 1.03 < max(network.factors) <= 1.0501


def test_a_scheme_with_a_momentum_has_the_limit_of_its_own_definition() -> None:
    subject = make_subject("sghmc-baoab", load_configuration(target={"name": "gaussian-mean"}))
    direction = Direction("stiffest", 100.0, 0.0, 0.0)
    # BAOAB on a harmonic oscillator: h < 2/omega; full gradients leave the width of theta as it is.
    assert Stepper(subject, 0.0).limit(direction) == pytest.approx(0.2, rel=2e-3)
    assert Stepper(subject, 0.0).factor(direction, 0.1) == pytest.approx(1, abs=1e-9)


def test_lanczos_finds_both_ends_of_a_spectrum() -> None:
    random = np.random.default_rng(3)
    axes = np.linalg.qr(random.standard_normal((30, 30)))[0]
    values = np.array([-5.0, *np.linspace(1, 3, 27), 40.0, 100.0])
    matrix = axes @ np.diag(values) @ axes.T
    found = Lanczos.of(lambda vector: matrix @ vector, random.choice([-1.0, 1.0], 30))
    assert found.values[-1] == pytest.approx(100, rel=1e-3)
    assert abs(found.stiffest @ axes[:, -1]) == pytest.approx(1, abs=1e-2)
    assert found.values[0] < -4


def test_one_command_advises_a_network_and_its_command_draws_from_the_mode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.py").write_text(SMALL)
    place = f"{tmp_path / 'net.py'}:posterior"
    assert main(["advise", place, "sgld-euler", "--json", str(tmp_path / "a.json")]) == 0
    said = capsys.readouterr().out
    network = json.loads((tmp_path / "a.json").read_text())["network"]
    assert command_lines(network["command"]) in said and "0.1/N" not in said
    assert network["mode"]["converged"]
    # A step beyond the limit is unstable in the table, and the advised one is stable.
    stable = {row["step"]: row["stable"] for row in network["rows"] if row["batch"] is None}
    assert not stable[max(stable)] and stable[network["best"]["step"]]
    words = shlex.split(network["command"])[1:]
    short = [word for word in words if not word.startswith(("steps=", "burn_in=", "thinning="))]
    settings = [word for word in short[2:] if word != "--set"]
    configuration = load_configuration(None, [*settings, "steps=1", "burn_in=0"])
    target = make_subject("sgld-euler", configuration).target
    # The same search as that of the advice, in a file that is loaded anew.
    assert target.mode.energy == network["mode"]["energy"]
    assert target.energy_float64(target.location_float64(1.0)) == pytest.approx(target.mode.energy)


def test_what_has_no_mode_or_no_derivative_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"target\.mode with target\.name='gaussian'"):
        _ = make_subject("sgld-euler", load_configuration(target={"name": "gaussian", "mode": True})).target
    x = torch.ones(4, 1)
    with pytest.raises(DefinitionError, match="is inf at the module's own parameters"):
        sgverify.module_target(
            torch.nn.Linear(1, 1), lambda o, y: (o - y) ** 2 / 0.0, data=(x, x), reduction="none"
        )
    made = sgverify.module_target(
        torch.nn.Linear(1, 1), lambda o, y: (o.detach() - y) ** 2, data=(x, x), reduction="none"
    )
    with pytest.raises(DefinitionError, match="derivative 0 for all data"):
        sgverify.advise(made, ["sgld-euler"])


def test_a_step_is_for_the_places_where_its_chains_come() -> None:
    """U = theta^2/2 + 100 sum_i (x_i theta)^4 has the curvature 1 at its mode, and some tens where a chain is."""
    x = torch.tensor([[1.0], [0.8], [1.2], [0.9]])
    module = torch.nn.Linear(1, 1, bias=False)
    target = sgverify.module_target(
        module, lambda o, y: 100 * (o**4).sum(), data=(x, x), reduction="sum", prior=1.0
    )
    advice = sgverify.advise(target, ["sgld-euler"], gradient__kind="full")
    assert advice.network is not None and advice.trusted
    assert advice.network.directions[0].curvature < 5 < 10 < advice.network.judged[0].curvature
    assert advice.network.best.step < 0.02
