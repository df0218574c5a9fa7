"""Gradients of a user's own torch code, by autograd, against differences of the values."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from sgverify.checks import verify
from sgverify.evidence import Evidence

TEXT = """
    import numpy as np
    import torch
    import sgverify

    X = np.array([[0.5, -1.0], [2.0, 0.25], [-1.5, 3.0], [0.75, 1.25], [-0.5, -0.25], [1.0, 1.0]])
    Y = np.array([0, 1, 1, 0, 1, 1])
    posterior = sgverify.log_density(dim=2, data=(X, Y), log_prior=lambda theta: -theta @ theta/2)

    class Square(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return g*ctx.saved_tensors[0]

    @posterior
    def logistic(theta, x, y):
        return torch.nn.functional.logsigmoid((2*y - 1) * (x @ theta))

    @posterior
    def network(theta, x, y):
        return -(y - torch.relu(x @ theta) - torch.relu(x[0]*theta[1] + 0.1))**2

    @posterior
    def half_detached(theta, x, y):
        return -(x @ theta)*(x @ theta.detach())/2

    @sgverify.log_density(dim=2, data=(X, Y), log_prior=lambda theta: -Square.apply(theta).sum(-1)/2)
    def wrong_backward(theta, x, y):
        return torch.nn.functional.logsigmoid((2*y - 1) * (x @ theta))

    @sgverify.log_density()
    def quartic(theta):
        return -(theta**4).sum(-1)

    @sgverify.log_density()
    def lost(theta):
        return -(theta**4).sum(-1) - (theta.detach()**2).sum(-1)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("user") / "mine.py"
    path.write_text(textwrap.dedent(TEXT))
    return path


def evidence_of(file: Path, name: str) -> Evidence:
    (found,) = verify("sgld-euler", checks=["own-gradient"], target={"name": f"{file}:{name}"})
    return found


@pytest.mark.parametrize("name", ["logistic", "network", "quartic"])
def test_a_gradient_that_is_the_slope_of_the_values_conforms(file: Path, name: str) -> None:
    found = evidence_of(file, name)
    assert (found.verdict, found.method) == ("conforms", "exact"), found.reason
    assert "whether the code is the posterior that was meant is not asked" in found.reason


def test_a_target_of_the_catalogue_is_not_asked() -> None:
    (found,) = verify("sgld-euler", checks=["own-gradient"])
    assert found.verdict == "not-applicable"


@pytest.mark.parametrize(
    ("name", "part"),
    [("half_detached", "likelihood"), ("wrong_backward", "prior"), ("lost", "density")],
)
def test_a_gradient_that_is_not_the_slope_of_the_values_is_seen(file: Path, name: str, part: str) -> None:
    found = evidence_of(file, name)
    assert found.verdict == "violates"
    assert f"the values of the log {part} have the slope" in found.reason
