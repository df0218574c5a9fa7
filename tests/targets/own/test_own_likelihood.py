"""A user's own log prior and log likelihood of one datum: the catalogue's posterior, and every mistake named."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import sgverify
from sgverify.configuration import load_configuration
from sgverify.draws.sampling import Sampling
from sgverify.errors import ConfigurationError, DefinitionError, UserError
from sgverify.samplers import Settings, fixed
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.schemes import find_scheme
from sgverify.schemes.loading import load_step
from sgverify.subject.subject import Subject
from sgverify.targets import Target, build_target
from sgverify.targets.own.log_density import LogDensity, load_own
from tests.sampled_states import sample_states
from tests.samplers.conftest import gradient_of
from tests.tables import each_row

X = np.array([[0.5, -1.0], [2.0, 0.25], [-1.5, 3.0], [0.75, 1.25], [-0.5, -0.25], [1.0, 1.0]])
Y = np.array([0, 1, 1, 0, 1, 1])

TEXT = f"""
    import numpy as np
    import torch
    import sgverify

    X, Y = np.array({X.tolist()}), np.array({Y.tolist()})

    def log_prior(theta):
        return -(theta**2).sum(-1)/2

    @sgverify.log_density(dim=2, data=(X, Y), log_prior=log_prior)
    def together(theta, x, y):
        return torch.nn.functional.logsigmoid((2*y - 1) * (x*theta).sum(-1))

    @sgverify.log_density(dim=2, data=(X, Y), log_prior=lambda theta: -theta @ theta/2)
    def alone(theta, x, y):
        logits = torch.stack([torch.zeros_like(theta[0]), torch.dot(x, theta)])
        return torch.log_softmax(logits, 0).gather(0, y[None])[0]

    @sgverify.log_density(dim=2, log_prior=log_prior)
    def from_file(theta, x, y):
        return torch.nn.functional.logsigmoid((2*y - 1) * (x*theta).sum(-1))

    @sgverify.log_density(dim=2, log_prior=log_prior)
    def from_rows(theta, row):
        return torch.nn.functional.logsigmoid((2*row[..., 2] - 1) * (row[..., :2]*theta).sum(-1))

    @sgverify.log_density(log_prior=lambda theta: -theta.square().sum(-1)/2)
    def number(theta, x):
        return -(x - theta[..., 0])**2/2

    @sgverify.log_density(dim=2, data=(X, Y), log_prior=log_prior)
    def undefined(theta, x, y):
        return torch.log(x[..., 0] + 1) + (x*theta).sum(-1)

    @sgverify.log_density(dim=2, data=(X, Y), log_prior=log_prior, location=0.0, spread=1.0)
    def infinite(theta, x, y):
        return torch.where(x[..., 0] == 0.75, torch.nan, 1.0) * (x*theta).sum(-1)

    @sgverify.log_density(dim=2, data=(X, Y), log_prior=log_prior)
    def coupled(theta, x, y):
        return ((x - x.mean(0))*theta).sum(-1)

    @sgverify.log_density(dim=2, data=(X, Y), log_prior=log_prior)
    def detached(theta, x, y):
        return (x*theta.detach()).sum(-1)

    @sgverify.log_density(dim=2, data=(X, Y), log_prior=log_prior)
    def in_double(theta, x, y):
        return -((torch.tensor(X[0]) - theta)**2).sum(-1)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("user") / "mine.py"
    path.write_text(textwrap.dedent(TEXT))
    return path


def build(path: Path, name: str, /, **keys: Any) -> Target:
    return build_target(SimpleNamespace(name=f"{path}:{name}", **keys))


def catalogue() -> Target:
    """The same posterior from the catalogue, whose likelihood and derivatives are written in another way."""
    rows = [[*x, y] for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    return build_target(SimpleNamespace(name="logistic-regression", data=rows, prior_precision=1.0, dim=2))


@pytest.mark.parametrize("name", ["together", "alone"])
def test_energies_and_gradients_are_those_of_the_catalogue(file: Path, name: str) -> None:
    own, known = (
        Potential(target, dtype=torch.float64, device="cpu") for target in (build(file, name), catalogue())
    )
    theta = torch.randn((2, 3, 2), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    chosen = torch.tensor([[[0, 5, 2]], [[3, 3, 1]]]).expand(2, 2, 3)
    for at in (None, chosen):
        mine, theirs = (p.energy(theta) if at is None else p.energy_over(theta, at) for p in (own, known))
        slope, gradient = (gradient_of(p, theta, at) for p in (own, known))
        assert torch.allclose(mine, theirs, rtol=1e-13, atol=1e-13)
        assert torch.allclose(slope, gradient, rtol=1e-13, atol=1e-13)
    assert torch.allclose(own.full(theta), known.full(theta), rtol=1e-13, atol=1e-13)
    points = theta.reshape(-1, 2).numpy()
    assert np.allclose(
        build(file, name).energy_float64(points), catalogue().energy_float64(points), rtol=1e-13
    )


def placed(target: Target) -> Target:
    """With a stated location: the modes that an optimiser finds on two roundings of one energy differ by 1e-8."""
    return replace(target, stated_location=np.array([0.2, 0.3]), stated_spread=np.array([0.7, 0.6]))


KINDS = ("full", "iid", "without-replacement", "reshuffle", "svrg", "saga", "control-variate")


@pytest.mark.parametrize("name", ["together", "alone"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_estimator_moves_it_as_it_moves_the_catalogue_s(file: Path, kind: str, name: str) -> None:
    """The same random numbers and states up to rounding: `alone` is mapped over chains and data."""
    found = []
    for target in (build(file, name), catalogue()):
        settings = Settings.of(load_configuration(gradient={"kind": kind, "batch": 2}), chains=5, seed=3)
        rows = fixed([0.05, 0.1], [6])
        found.append(
            sample_states(
                find_scheme("sgld-euler"), placed(target), rows, at=[1, 6], settings=settings
            ).values["theta"]
        )
    assert np.allclose(found[0], found[1], rtol=1e-12, atol=1e-12)
    assert np.ptp(found[0]) > 0.1


@pytest.mark.parametrize("composite", ["vr-resgld", "awsgld"])
def test_composites_run_on_it(file: Path, composite: str) -> None:
    found = []
    for target in (build(file, "alone"), catalogue()):
        configuration = load_configuration(gradient={"kind": "iid", "batch": 2})
        settings = Settings.of(configuration, chains=4, seed=3)
        states = sample_states(
            load_step(composite), placed(target), fixed([0.05], [6]), at=[6], settings=settings
        )
        found.append(states.values["theta"])
    assert np.allclose(found[0], found[1], rtol=1e-12, atol=1e-12)


def test_data_come_from_the_configuration(file: Path) -> None:
    rows = [[*x, y] for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    (file.parent / "data.csv").write_text("a,b,label\n" + "".join(f"{x},{y},{z}\n" for x, y, z in rows))
    points = np.array([[0.3, -0.2], [1.0, 2.0]])
    expected = build(file, "together").energy_float64(points)
    for name, keys in (
        ("from_file", {"file": str(file.parent / "data.csv"), "columns": ["a", "b", "label"]}),
        ("from_file", {"data": rows}),
        ("from_rows", {"data": np.array(rows)}),
    ):
        assert np.allclose(build(file, name, **keys).energy_float64(points), expected, rtol=1e-14)
    # One number is handed over as a number: (x_i - theta)^2/2 and the prior, by hand.
    target = build(file, "number", data=[1.0, 4.0])
    assert target.energy_float64(np.array([[2.0]])) == pytest.approx(2 + 0.5 + 2)


def test_it_is_sampled_from_python(file: Path) -> None:
    density = load_own(f"{file}:alone")
    assert isinstance(density, LogDensity)
    given = load_configuration(gradient={"kind": "iid", "batch": 2}, schedule={"step": 0.01})
    ready = Sampling.of("sgld-euler", given, target=density)
    assert ready.subject.target.size == 6


MISTAKES: dict[str, tuple[dict[str, Any], type[UserError], str]] = {
    "infinite": (
        {},
        DefinitionError,
        r"value of log likelihood 'infinite' at datum 3 \(from 0\) is not finite at theta=",
    ),
    "undefined": ({}, ConfigurationError, r"NaN or minus infinity at theta=.* \(datum 2, from 0\)"),
    "coupled": ({}, DefinitionError, "log likelihood 'coupled' is .* for a chain among others .* alone"),
    "detached": ({}, DefinitionError, "'detached' has no gradient in theta"),
    "in_double": (
        {"dtype": "float32"},
        DefinitionError,
        r"returned torch.float64 .* .* torch.float32 .*\.to\(theta\)",
    ),
    "from_file": ({}, ConfigurationError, "'from_file' has no data; expected some; set target.file"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named_before_anything_runs(file: Path, name: str) -> None:
    keys, kind, message = MISTAKES[name]
    with pytest.raises(kind, match=message):
        configuration = load_configuration(
            target={"name": f"{file}:{name}"}, gradient={"kind": "iid", "batch": 2}, **keys
        )
        subject = Subject(find_scheme("sgld-euler"), configuration, "sgld-euler")
        subject.validate()
        if keys:
            sgverify.sample("sgld-euler", configuration, steps=2)


@pytest.mark.parametrize(
    ("name", "keys", "message"),
    [
        ("together", {"data": [[1.0, 2.0, 3.0]]}, "target.data=.* does not belong to"),
        (
            "from_file",
            {"data": [1.0, 2.0]},
            "has 1 numbers for each datum, and from_file takes 2 arguments after theta",
        ),
        ("from_file", {"data": [[1.0, 2.0, 1.0]], "file": "x.csv"}, "are both given"),
        ("from_rows", {"size": 3}, "target.size=3 does not belong to"),
    ],
)
def test_data_that_do_not_fit_are_refused(file: Path, name: str, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build(file, name, **keys)


@each_row(
    ("keys", "message"),
    [
        ({"data": X}, "data are given without log_prior"),
        ({"data": (X, Y), "log_prior": abs}, "is no function"),
        (
            {"data": (X, Y[:2]), "log_prior": lambda theta: 0},
            "shapes \\(6, 2\\), \\(2,\\); expected arrays of N entries",
        ),
        ({"data": np.array([[np.nan]]), "log_prior": lambda theta: 0}, "datum 0 .* holds nan"),
        ({"data": np.array(["a"]), "log_prior": lambda theta: 0}, "expected numbers"),
        ({"data": X, "log_prior": lambda theta: 0}, "takes 3 arguments; expected theta and 1"),
        ({"data": np.array([2**30])}, "log_prior"),
        ({}, "takes 3 arguments; expected theta alone"),
    ],
)
def test_what_is_written_wrongly_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        sgverify.log_density(**keys)(lambda theta, x, y: 0)
