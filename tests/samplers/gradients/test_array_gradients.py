"""Gradients at arrays of points are those of autograd, datum by datum."""

from __future__ import annotations

import numpy as np
import pytest

from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError
from sgverify.samplers.gradients.differentiation import ArrayGradients
from sgverify.samplers.own.functions import gradients_by_datum
from sgverify.targets import build_target


@pytest.mark.parametrize("name", ["logistic-regression", "linear-regression", "gamma-poisson"])
def test_gradients_are_those_of_autograd(name: str) -> None:
    target = build_target(load_configuration(target={"name": name, "size": 7}).target)
    points = np.random.default_rng(0).uniform(0.5, 1.5, size=(3, target.dim))
    gradients = ArrayGradients(target)
    priors, each = gradients.of_prior(points), gradients.of_each_datum(points)
    for k, point in enumerate(points):
        prior, likelihoods = gradients_by_datum(target, point)
        np.testing.assert_allclose(priors[k], prior, rtol=1e-12)
        np.testing.assert_allclose(each[:, k], likelihoods, rtol=1e-12, atol=1e-12)


def test_without_data_there_are_none() -> None:
    gradients = ArrayGradients(build_target(load_configuration(target={"name": "double-well"}).target))
    with pytest.raises(ConfigurationError, match="has no data"):
        gradients.of_each_datum(np.zeros((1, 1)))
