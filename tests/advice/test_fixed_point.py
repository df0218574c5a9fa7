"""Mixed iterates end at the fixed point of plain ones, in fewer rounds; averages of linear gradients are known over every law."""

from __future__ import annotations

import numpy as np
import pytest

from sgverify.advice.closure.fixed_point import fixed_law
from sgverify.advice.closure.gaussian_closure import GaussianClosure
from sgverify.advice.closure.gradient_calls import step_in_gradients
from sgverify.advice.closure.gradient_fit import GradientEstimate
from sgverify.advice.closure.linear_chain import Mixing
from sgverify.configuration import load_configuration
from sgverify.errors import InstabilityError
from sgverify.subject.binding import make_subject


def test_mixed_iterates_of_a_linear_map_end_where_it_stays() -> None:
    drawn = np.random.default_rng(0)
    matrix, shift = 0.9 * np.linalg.qr(drawn.normal(size=(4, 4)))[0], drawn.normal(size=4)
    wanted = np.linalg.solve(np.eye(4) - matrix, shift)
    at, mixing = np.zeros(4), Mixing()
    for _ in range(12):
        image = matrix @ at + shift
        mixed = mixing.next(at, image)
        at = image if mixed is None else mixed
    # Of plain iterates 0.9^12 of the error is left.
    assert np.abs(at - wanted).max() < 1e-6 * np.abs(wanted).max()


def test_nothing_is_mixed_where_residuals_grow() -> None:
    mixing = Mixing()
    at = np.ones(2)
    for _ in range(4):
        assert mixing.next(at, 2 * at) is None
        at = 2 * at


@pytest.mark.parametrize("kind", ["full", "iid"])
def test_a_law_by_mixed_iterates_is_that_of_plain_ones(kind: str) -> None:
    target = {"name": "logistic-regression", "dim": 2, "size": 300}
    subject = make_subject("sghmc-baoab", load_configuration(target=target, gradient={"kind": kind}))
    closure, step = GaussianClosure(subject), 0.02
    plain = closure._settled(step, closure.estimate.fit, 1e-9)
    np.testing.assert_allclose(closure.law(step).sd, plain.sd, rtol=1e-4)


@pytest.mark.parametrize("kind", ["full", "iid", "without-replacement", "control-variate"])
def test_the_fit_of_linear_gradients_is_that_of_an_average_over_the_law(kind: str) -> None:
    target = {"name": "linear-regression", "dim": 3, "size": 40}
    estimate = GradientEstimate(
        make_subject("sghmc-baoab", load_configuration(target=target, gradient={"kind": kind}))
    )
    mean, root = np.array([0.3, -1.0, 2.0]), np.array([[1.0, 0, 0], [0.5, 2, 0], [-0.3, 0.1, 0.7]])
    found, wanted = estimate.fit(mean, root @ root.T), estimate._fitted(mean, root @ root.T)
    for name in ("gradient", "hessian", "noise"):
        exact = getattr(wanted, name)
        np.testing.assert_allclose(
            getattr(found, name), exact, rtol=1e-9, atol=1e-9 * np.abs(exact).max() + 1e-12
        )
    assert np.abs(wanted.bent).max() < 1e-20 * np.abs(wanted.gradient).max() ** 2
    if found.minibatch is not None and wanted.minibatch is not None:
        for name in ("still", "slope", "growth"):
            exact = getattr(wanted.minibatch, name)
            np.testing.assert_allclose(
                getattr(found.minibatch, name), exact, rtol=1e-9, atol=1e-9 * np.abs(exact).max() + 1e-12
            )


def test_noise_that_is_no_covariance_leaves_no_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Corrected by third cumulants the noise of a momentum may come out negative, though theta's variance does not."""

    class Corrected:
        map = np.array([[0.9, 0.1], [0.0, 0.5]])
        mean_after = np.zeros(2)

        def __init__(self, *given: object) -> None:
            pass

        def noise(self) -> np.ndarray:
            return np.diag([1.0, -0.1])

    monkeypatch.setattr("sgverify.advice.closure.fixed_point.OneStep", Corrected)
    subject = make_subject("sghmc-baoab", load_configuration(target={"name": "gaussian"}))
    closure = GaussianClosure(subject)
    with pytest.raises(InstabilityError, match="the covariance of the chain is not positive definite"):
        fixed_law(step_in_gradients(subject, 0.1), closure.estimate.fit, (np.zeros(2), np.eye(2)), 0.1, 1e-6)
