"""Gradients of a user's own torch code: estimators by enumeration, autograd by differences of the values."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from sgverify.checks.code.gradient_mean import check_gradient_mean
from sgverify.checks.question import Question
from sgverify.checks.subject.subject import Subject
from sgverify.checks.verify_and_rate import make_subject
from sgverify.claims import find_claim
from sgverify.configuration import load_configuration
from sgverify.evidence import Evidence
from tests.mutants.planting import planted
from tests.mutants.registry import find_mutant

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


def subject_of(file: Path, name: str, *settings: str) -> Subject:
    return make_subject("sgld-euler", load_configuration(None, [f"target.name={file}:{name}", *settings]))


def evidence_of(subject: Subject) -> Evidence:
    return check_gradient_mean(Question(subject, find_claim("sgverify/gradient-mean"), "gradient-mean"))


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
    found = evidence_of(subject_of(file, name, f"gradient.kind={kind}", "gradient.batch=2"))
    assert (found.verdict, found.method) == ("conforms", "exact"), found.reason
    assert "whether the code is the posterior that was meant is not asked" in found.reason


@pytest.mark.parametrize(
    ("name", "part"),
    [("half_detached", "likelihood"), ("wrong_backward", "prior"), ("lost", "density")],
)
def test_a_gradient_that_is_not_the_slope_of_the_values_is_seen(file: Path, name: str, part: str) -> None:
    found = evidence_of(subject_of(file, name))
    assert found.verdict == "violates"
    assert f"the values of the log {part} have the slope" in found.reason


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
        found = evidence_of(subject_of(file, "logistic", f"gradient.kind={kind}", "gradient.batch=2"))
    assert found.verdict == "violates"
