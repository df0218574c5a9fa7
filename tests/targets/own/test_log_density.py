"""A user's own log density: from a file to a target, its gradients by autograd, and every mistake named."""

from __future__ import annotations

import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

import sgverify
from sgverify.configuration import TargetTable, load_configuration, settings_of
from sgverify.errors import ConfigurationError, DefinitionError, UnknownNameError, UserError
from sgverify.exact.posterior.reference import Reference, reference_average
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.schemes import find_scheme
from sgverify.subject.subject import Subject
from sgverify.targets import Target, build_target, parse_observable
from tests.tables import each_row

TEXT = """
    import torch
    import sgverify

    @sgverify.log_density(dim=2, averages={"theta[0]**2": 1.0, "theta[1]": 1.0})
    def banana(theta):
        x, y = theta.unbind(-1)
        return -x**2/2 - (y - x**2)**2

    @sgverify.log_density(location=100.0, spread=0.01)
    def narrow(theta):
        return torch.distributions.Normal(100.0, 0.01).log_prob(theta[..., 0])

    @sgverify.log_density()
    def well(theta):
        x = theta[..., 0]
        return -(x**2 - 1)**2 - x/4

    @sgverify.log_density()
    def gamma(theta):
        x = theta[..., 0]
        return torch.where(x > 0, 2*torch.log(x.abs() + 1e-300) - x, -torch.inf)

    @sgverify.log_density(dim=2, location=3.0, spread=1.7)
    def positive(theta):
        inside = (theta > 0).all(-1)
        return torch.where(inside, (2*torch.log(theta.abs() + 1e-300) - theta).sum(-1), -torch.inf)

    @sgverify.log_density(dim=2)
    def corner(theta):
        inside = (theta > 0).all(-1)
        return torch.where(inside, -theta.sum(-1), -torch.inf)

    @sgverify.log_density(dim=2)
    def not_summed(theta):
        return -theta**2/2

    @sgverify.log_density(dim=2)
    def coupled(theta):
        return -((theta - theta.mean((0, 1) if theta.ndim > 2 else 0))**2).sum(-1)/2

    @sgverify.log_density(dim=2)
    def random(theta):
        return -((theta - torch.randn_like(theta))**2).sum(-1)/2

    @sgverify.log_density(dim=2)
    def single_precision(theta):
        return -(theta.float()**2).sum(-1)/2

    @sgverify.log_density(dim=2)
    def of_one(theta):
        return -torch.dot(theta, theta)/2 - theta[0]**4

    @sgverify.log_density(dim=2)
    def detached(theta):
        return -(theta.detach()**2).sum(-1)/2

    @sgverify.log_density(dim=2)
    def nan(theta):
        return torch.log(theta[..., 0] - 1e6) - (theta**2).sum(-1)

    @sgverify.log_density(dim=2)
    def in_numpy(theta):
        return -(theta.numpy()**2).sum(-1)/2

    @sgverify.log_density(dim=2)
    def raises(theta):
        return theta @ torch.ones(3, dtype=theta.dtype)

    @sgverify.log_density()
    def flat(theta):
        return 0*theta[..., 0]

    @sgverify.log_density(averages={"theta**2": 2.0})
    def student(theta, *, freedom=4.0, name="t"):
        return -(freedom + 1)/2*torch.log1p(theta[..., 0]**2/freedom)

    plain = lambda theta: theta
    number = 0.5
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("user") / "mine.py"
    path.write_text(textwrap.dedent(TEXT))
    return path


def build(file: Path, name: str, **keys: Any) -> Target:
    return build_target(SimpleNamespace(name=f"{file}:{name}", **keys))


def subject(file: Path, name: str, **target: Any) -> Subject:
    configuration = load_configuration({"target": {"name": f"{file}:{name}", **target}})
    return Subject(find_scheme("sghmc-aboba"), configuration, "sghmc-aboba")


def test_its_gradient_is_that_of_the_function(file: Path) -> None:
    potential = Potential(build(file, "banana"), dtype=torch.float64, device="cpu")
    assert potential.affine is None
    theta = torch.randn((2, 5, 2), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x, y = theta.unbind(-1)
    # -d log p: (x - 4 x (y - x^2), 2 (y - x^2)), by hand
    expected = torch.stack([x - 4 * x * (y - x**2), 2 * (y - x**2)], -1)
    assert torch.allclose(potential.full(theta), expected, rtol=1e-13, atol=1e-13)
    assert potential.full(theta.float()).dtype == torch.float32


def test_it_is_the_target_that_the_same_potential_makes(file: Path) -> None:
    own, known = build(file, "well"), build_target(SimpleNamespace(name="double-well"))
    points = np.linspace(-2, 2, 9)[:, None]
    # Up to the constant, which is 0 in both.
    assert np.allclose(own.energy_float64(points), known.energy_float64(points), rtol=1e-14, atol=1e-14)
    observable = parse_observable("theta**2 + p**2", 1)
    mine, theirs = (reference_average(target, observable, 0.5) for target in (own, known))
    assert (mine.method, theirs.method) == ("quadrature", "certified")
    assert abs(float(mine) - float(theirs)) <= mine.error_bound + theirs.error_bound


def test_a_function_of_one_theta_is_mapped_over_chains(file: Path) -> None:
    potential = Potential(build(file, "of_one"), dtype=torch.float64, device="cpu")
    theta = torch.randn((3, 2, 2), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = theta + 4 * theta**3 * torch.tensor([1.0, 0.0])
    assert torch.allclose(potential.full(theta), expected, rtol=1e-14, atol=1e-14)


def test_a_sign_that_is_lost_would_be_seen(file: Path) -> None:
    own, points = build(file, "well"), np.array([[0.5], [1.5]])
    assert not np.allclose(own.energy_float64(points), build(file, "well").energy_float64(-points))


def test_support_may_end(file: Path) -> None:
    # Gamma(3, 1): mean 3, variance 3
    target = build(file, "gamma")
    found = reference_average(target, parse_observable("theta**2", 1), 1.0)
    assert abs(float(found) - 12) <= found.error_bound
    assert found.error_bound < 1e-3
    assert target.location_float64(1.0)[0] == pytest.approx(3, rel=1e-4)


def test_what_is_stated_is_taken(file: Path) -> None:
    target = build(file, "banana", averages={"theta[1]": 2.0})
    square, height = (parse_observable(text, 2) for text in ("theta[0]**2 + p[0]**2", "theta[1]"))
    assert reference_average(target, square, 3.0) == Reference(4.0, 0.0, "stated")
    assert reference_average(target, height, 1.0) == Reference(2.0, 0.0, "stated")
    narrow = build(file, "narrow")
    assert (narrow.location_float64(1.0), narrow.spread_float64(1.0)) == (100.0, 0.01)
    assert narrow.curvature_float64(1.0) == pytest.approx(1e4, rel=1e-5)


def test_support_may_end_in_the_plane_where_the_spread_is_stated(file: Path) -> None:
    target = build(file, "positive")
    assert target.spread_float64(1.0).tolist() == [1.7, 1.7]
    # U'' = 2/x^2, at the location 2/9; points beyond the support say nothing.
    assert target.curvature_float64(1.0) == pytest.approx(2 / 9, rel=1e-4)
    subject(file, "positive").validate()


def test_a_subject_of_it(file: Path) -> None:
    found = subject(file, "banana")
    found.validate()
    assert not found.affine
    assert "mine.py:banana' is not quadratic" in str(found.why_not_affine)
    # U'' in y is 2, in x 1 + 12 x^2 - 4 y at most about 50 within two standard deviations.
    assert 0.3 / 8 < found.step < 0.3 / 2**0.5
    assert found.reference_average == Reference(1.0, 0.0, "stated")
    with pytest.raises(ConfigurationError, match="no data to draw minibatches from"):
        Subject(
            found.scheme, load_configuration(found.configuration, gradient={"kind": "iid"}), "sghmc-aboba"
        ).validate()


def test_settings_rebuild_stated_averages(file: Path) -> None:
    configuration = subject(file, "banana", averages={"0.5*theta[0]": 0.25, "theta[1]": -1.0}).configuration
    assert load_configuration(None, settings_of(configuration)) == configuration
    merged = load_configuration(configuration, ['target.averages={"0.5*theta[0]" = 2.0}'])
    assert merged.target.averages == {"0.5*theta[0]": 2.0, "theta[1]": -1.0}


MISTAKES: dict[str, tuple[str, type[UserError], str]] = {
    "a value for each coordinate": (
        "not_summed",
        DefinitionError,
        r"'not_summed' returned torch.float64 of shape \(\d+, \d+, 2\).*sum\(-1\)",
    ),
    "chains that know of each other": (
        "coupled",
        DefinitionError,
        "for a chain among others and .* for the same chain alone; .*batched=False",
    ),
    "random numbers": ("random", DefinitionError, "two calls at the same theta gave"),
    "constants of another dtype": (
        "single_precision",
        DefinitionError,
        r"returned torch.float32 .*constant.to\(theta\)",
    ),
    "detach": ("detached", DefinitionError, "'detached' has no gradient in theta.*leave out detach"),
    "numpy": ("in_numpy", UserError, "returned ndarray|Can't call numpy"),
    "NaN": ("nan", UserError, "log density is NaN or minus infinity at theta="),
    "an exception": ("raises", UserError, r"'raises': mine.py:\d+ raised RuntimeError"),
    "no mode": ("corner", ConfigurationError, "minus infinity at theta=.*state its location and spread"),
    "no mass": ("flat", ConfigurationError, "mass of the density was not found"),
    "a name that is not there": ("bananna", UnknownNameError, "did you mean 'banana'"),
    "a plain function": ("plain", DefinitionError, r"expected .* one number for each chain; .*sum\(-1\)"),
    "something else": (
        "number",
        DefinitionError,
        "of type float; expected a function of theta, under @sgverify",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named_before_anything_runs(file: Path, mistake: str) -> None:
    name, kind, message = MISTAKES[mistake]
    with pytest.raises(kind, match=message):
        subject(file, name).validate()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"size": 10}, "target.size=10 does not belong to .*mine.py:banana"),
        ({"dim": 3}, "target.dim=3: the log density .* has dim=2"),
        ({"averages": {"theta": 1.0}}, "test_function='theta' names theta without an index"),
    ],
)
def test_keys_that_it_does_not_take_are_named(file: Path, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build(file, "banana", **keys)


@each_row(
    ("keys", "message"),
    [
        ({"dim": 0}, "dim=0: expected a whole number"),
        ({"dim": 2, "location": [1.0]}, "location=\\[1.0\\] has length 1; expected 2"),
        ({"spread": 0.0}, "spread=0.0: expected standard deviations"),
        ({"averages": {"q": 1.0}}, "names 'q'"),
        ({"averages": [1.0]}, "expected a table of numbers by test function"),
    ],
)
def test_what_is_stated_wrongly_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        sgverify.log_density(**keys)


def test_keyword_only_numbers_are_constants_that_the_configuration_sets(file: Path) -> None:
    """Student's t has the variance nu/(nu - 2)."""
    settings = [f"target.name={file}:student", "target.freedom=7"]
    configuration = load_configuration(settings=settings)
    assert settings_of(configuration) == settings
    assert load_configuration(configuration.as_dict()) == configuration
    # What is stated is stated of the constants in the code, here of 4 degrees of freedom.
    assert build(file, "student", freedom=4).averages == {"theta**2": 2.0}
    asked = Subject(find_scheme("sgld-euler"), configuration, "sgld-euler")
    assert asked.target.averages == {}
    assert abs(float(asked.reference_average) - 1.4) < 1e-9


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("freedm", 7, "unknown configuration key 'target.freedm'; did you mean 'target.freedom'"),
        ("name_of", 7, "unknown configuration key 'target.name_of'"),
        ("freedom", "many", "target.freedom='many': expected a number"),
        ("freedom", float("nan"), "target.freedom=nan: expected a finite number"),
    ],
)
def test_wrong_constants_are_named(file: Path, key: str, value: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        build_target(load_configuration({"target": {"name": f"{file}:student", key: value}}).target)


def test_a_target_of_the_catalogue_has_no_constants_but_those_it_declares() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown configuration key 'target.freedom'"):
        load_configuration({"target": {"name": "quartic", "freedom": 7}})
    with pytest.raises(ValidationError, match="no freedom beside name='quartic'"):
        TargetTable(name="quartic", freedom=7)


def test_missing_files_and_modules_are_named(tmp_path: Path) -> None:
    for name in (f"{tmp_path}/none.py:f", "no_such_module_here:f"):
        with pytest.raises(UserError, match="target.name=.*no (file|module)"):
            build_target(SimpleNamespace(name=name))


def test_a_constant_of_prior_and_likelihood_is_set_in_both() -> None:
    def prior(theta, *, width=4.0):
        return -(theta[..., 0] ** 2) / width

    @sgverify.log_density(log_prior=prior, data=[0.5, 1.0])
    def both(theta, x, *, width=5.0):
        return -((theta[..., 0] - x) ** 2) / width

    told = both.with_constants({"width": 5})
    assert told.density.constants == told.likelihood.constants == {"width": 5.0}
