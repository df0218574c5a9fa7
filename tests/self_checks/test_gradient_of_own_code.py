"""Estimators on a user's own torch code, by enumeration of their minibatches."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.mutants.planting import planted
from tests.mutants.registry import find_mutant
from tests.self_checks.finding import Finding
from tests.self_checks.registry import self_check

TEXT = """
    import numpy as np
    import torch
    import sgverify

    X = np.array([[0.5, -1.0], [2.0, 0.25], [-1.5, 3.0], [0.75, 1.25], [-0.5, -0.25], [1.0, 1.0]])
    Y = np.array([0, 1, 1, 0, 1, 1])
    posterior = sgverify.log_density(dim=2, data=(X, Y), log_prior=lambda theta: -theta @ theta/2)

    @posterior
    def logistic(theta, x, y):
        return torch.nn.functional.logsigmoid((2*y - 1) * (x @ theta))

    @posterior
    def network(theta, x, y):
        return -(y - torch.relu(x @ theta) - torch.relu(x[0]*theta[1] + 0.1))**2

    @sgverify.log_density()
    def quartic(theta):
        return -(theta**4).sum(-1)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("user") / "mine.py"
    path.write_text(textwrap.dedent(TEXT))
    return path


def finding_of(file: Path, name: str, kind: str) -> Finding:
    target, gradient = {"name": f"{file}:{name}"}, {"kind": kind, **({"batch": 2} if kind != "full" else {})}
    return self_check("gradient-mean", "sgld-euler", target=target, gradient=gradient)


@pytest.mark.by_default(
    "logistic-iid", "logistic-svrg", "logistic-control-variate", "network-iid", "quartic-full"
)
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("logistic", "iid"),
        ("logistic", "reshuffle"),
        ("logistic", "svrg"),
        ("logistic", "saga"),
        ("logistic", "control-variate"),
        ("network", "iid"),
        ("quartic", "full"),
    ],
)
def test_estimators_of_own_code_conform(file: Path, name: str, kind: str) -> None:
    found = finding_of(file, name, kind)
    assert (found.verdict, found.method) == ("conforms", "exact"), found.reason


@pytest.mark.parametrize(
    ("bug", "kind"),
    [
        ("n-over-n-minus-one", "without-replacement"),
        ("minibatch-likelihood-sign", "iid"),
        ("full-likelihood-sign", "full"),
        ("snapshot-of-a-minibatch", "svrg"),
        ("without-replacement-with-it", "without-replacement"),
    ],
)
def test_bugs_of_the_estimators_are_seen_on_own_code(file: Path, bug: str, kind: str) -> None:
    with planted(find_mutant(bug)):
        found = finding_of(file, "logistic", kind)
    assert found.verdict == "violates"
