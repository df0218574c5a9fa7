"""Targets that are not Gaussian: every reading of a potential against mpmath, and where their mass is against integrals."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from mpmath import mpf

from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError, DefinitionError
from sgverify.samplers.gradients.differentiation import Potential, read_affine
from sgverify.samplers.reading.carrier import Chains
from sgverify.schemes.definition.mathematics import log, softplus
from sgverify.targets import Target, build_target
from sgverify.targets.form import read_form
from tests.tables import each_row

LABELLED = [[1.0, 2.0, 1.0], [0.5, -1.0, 0.0], [-2.0, 0.25, 1.0], [40.0, 3.0, 0.0]]
WRITTEN: dict[str, dict[str, Any]] = {
    "double-well": {"dim": 2, "height": 1.5, "width": 0.75, "tilt": -0.4, "precision": 2.5},
    "quartic": {"dim": 2, "strength": 1.25, "tilt": [0.5, -1.0]},
    "mixture": {"weights": [3, 1], "means": [[-1.0, 0.5], [2.0, 0.0]], "scales": [0.5, 1.5]},
    "logistic-regression": {
        "data": LABELLED,
        "prior_precision": [[2.0, 0.5], [0.5, 1.0]],
        "prior_mean": [1, 0],
    },
    "gamma-poisson": {"data": [[3, 0], [1, 7]], "shape": [2.5, 0.5], "rate": [1.25, 0.25]},
    "beta-bernoulli": {"data": [[1, 0], [1, 1], [0, 1]], "alpha": [2.5, 0.5], "beta": 0.75},
    "dirichlet-multinomial": {"data": [[3, 0, 1], [1, 2, 4]], "concentration": [0.5, 2.0, 1.5]},
}


def build(name: str, **keys: Any) -> Target:
    return build_target(SimpleNamespace(name=name, **{**WRITTEN[name], **keys}))


def poisson(rate: Any, count: int) -> Any:
    return mpmath.exp(-rate) * rate**count / mpmath.factorial(count)


def gamma(rate: Any, shape: str, inverse_scale: str) -> Any:
    return rate ** (mpf(shape) - 1) * mpmath.exp(-mpf(inverse_scale) * rate)


def odds(r: Any, alpha: str, beta: str, ones: int, zeros: int) -> Any:
    chance = r / (1 + r)
    density = chance ** (mpf(alpha) - 1 + ones) * (1 - chance) ** (mpf(beta) - 1 + zeros)
    # d chance/d odds = 1/(1 + odds)^2 and d odds/d theta = odds.
    return density / (1 + r) ** 2 * r


def categories(r: Any, s: Any) -> Any:
    whole = 1 + r + s
    shares = [r / whole, s / whole, 1 / whole]
    counts, weights = [4, 2, 5], ["0.5", "2", "1.5"]
    density = mpmath.fprod(pi ** (mpf(a) - 1 + n) for pi, a, n in zip(shares, weights, counts, strict=True))
    # The determinant of d(pi_0, pi_1)/d(theta_0, theta_1), entries pi_i (delta_ij - pi_j).
    a, b = shares[:2]
    return density * (a * (1 - a) * b * (1 - b) - (a * b) ** 2)


# Prior density times likelihood times the Jacobian of theta, for e^theta = (r, s).
CONJUGATE: dict[str, Callable[[Any, Any], Any]] = {
    "gamma-poisson": lambda r, s: (
        gamma(r, "2.5", "1.25")
        * poisson(r, 3)
        * poisson(r, 1)
        * r
        * gamma(s, "0.5", "0.25")
        * poisson(s, 0)
        * poisson(s, 7)
        * s
    ),
    "beta-bernoulli": lambda r, s: odds(r, "2.5", "0.75", 2, 1) * odds(s, "0.5", "0.75", 2, 1),
    "dirichlet-multinomial": categories,
}


def textbook(name: str, theta: Any) -> Any:
    """U as it is written in a book, in mpmath's numbers, up to a constant."""
    x, y = theta
    if name == "double-well":
        return mpf("1.5") * (x**2 / mpf("0.75") ** 2 - 1) ** 2 - mpf("0.4") * x + mpf("2.5") * y**2 / 2
    if name == "quartic":
        return mpf("1.25") / 4 * (x**4 + y**4) + x / 2 - y
    if name == "mixture":
        first = mpf("0.75") * mpmath.npdf(x, -1, 0.5) * mpmath.npdf(y, 0.5, 0.5)
        return -mpmath.log(first + mpf("0.25") * mpmath.npdf(x, 2, 1.5) * mpmath.npdf(y, 0, 1.5))
    if name in CONJUGATE:
        return -mpmath.log(CONJUGATE[name](mpmath.exp(x), mpmath.exp(y)))
    prior = (2 * (x - 1) ** 2 + (x - 1) * y + y**2) / 2
    labels = [(a * x + b * y) * (1 if label else -1) for a, b, label in LABELLED]
    return prior + sum(mpmath.log(1 + mpmath.exp(-score)) for score in labels)


POINTS = [(0.3, -0.8), (-1.25, 0.5), (2.0, 1.75), (0.0, 0.0), (-6.0, 5.0)]


def disagreement(target: Target, name: str) -> float:
    """The largest difference of U(theta) - U(first point) between numpy and mpmath, in units of their size."""
    with mpmath.workdps(40):
        exact = [textbook(name, (mpf(x), mpf(y))) for x, y in POINTS]
        found = target.energy_float64(np.array(POINTS))
        differences = [
            float(abs((found[k] - found[0]) - (exact[k] - exact[0])))
            / float(1 + abs(exact[k]) + abs(exact[0]))
            for k in range(len(POINTS))
        ]
    return max(differences)


@each_row("name", WRITTEN)
def test_the_potential_is_that_of_the_textbook(name: str) -> None:
    # Sums of a dozen terms in float64: 1e-14 of their size.
    assert disagreement(build(name), name) < 1e-14


def with_parts(target: Target, prior: Any = None, likelihood: Any = None) -> Target:
    return Target(
        target.name, target.dim, prior or target.prior, likelihood or target.likelihood, target.data
    )


PLANTED: dict[str, tuple[str, Callable[[Target], Target]]] = {
    "tilt forgotten": ("double-well", lambda t: build(t.name, tilt=0.0)),
    "tilt with the wrong sign": ("double-well", lambda t: with_parts(t, lambda theta: t.prior(-theta))),
    "width not squared": ("double-well", lambda t: build(t.name, width=0.75**0.5)),
    "quartic over 2": ("quartic", lambda t: build(t.name, strength=2.5)),
    "weights forgotten": ("mixture", lambda t: build(t.name, weights=[1, 1])),
    "scale as a variance": ("mixture", lambda t: build(t.name, scales=[0.5**0.5, 1.5**0.5])),
    "prior scaled by N": (
        "logistic-regression",
        lambda t: with_parts(t, lambda theta: t.prior(theta) * 4),
    ),
    "prior once per datum": (
        "logistic-regression",
        lambda t: with_parts(t, likelihood=lambda theta, z: t.likelihood(theta, z) + t.prior(theta)),  # type: ignore[misc]
    ),
    "the Jacobian of the rate forgotten": (
        "gamma-poisson",
        lambda t: with_parts(t, lambda theta: t.prior(theta) + theta.sum(-1)),
    ),
    "the Jacobian of the chance forgotten": (
        "beta-bernoulli",
        lambda t: with_parts(t, lambda theta: t.prior(theta) + (theta - 2 * np.logaddexp(0, theta)).sum(-1)),
    ),
    "the last category forgotten": (
        "dirichlet-multinomial",
        lambda t: build(t.name, concentration=[0.5, 2.0, 0.5]),
    ),
    "label with the wrong sign": (
        "logistic-regression",
        lambda t: with_parts(t, likelihood=lambda theta, z: t.likelihood(-theta, z)),  # type: ignore[misc]
    ),
}


@each_row("bug", PLANTED)
def test_the_comparison_refutes_a_planted_bug(bug: str) -> None:
    name, plant = PLANTED[bug]
    assert disagreement(plant(build(name)), name) > 1e-3


@pytest.mark.parametrize("name", WRITTEN)
def test_autograd_on_torch_is_the_derivative_of_the_textbook(name: str) -> None:
    potential = Potential(build(name), dtype=torch.float64, device="cpu")
    assert potential.affine is None
    found = potential.full(torch.tensor([POINTS], dtype=torch.float64))[0].tolist()
    with mpmath.workdps(40):
        for (x, y), slope in zip(POINTS, found, strict=True):
            at = (mpf(x), mpf(y))
            exact = [
                mpmath.diff(lambda a, b: textbook(name, (a, b)), at, order) for order in ((1, 0), (0, 1))
            ]
            size = 1 + max(abs(entry) for entry in exact)
            assert max(abs(a - b) for a, b in zip(slope, exact, strict=True)) < 1e-13 * size


@each_row("name", WRITTEN)
def test_torch_and_numpy_read_the_same_potential(name: str) -> None:
    target, points = build(name), np.array(POINTS)
    value = target.prior(Chains(torch.tensor(points))).tensor[:, 0].numpy()
    if target.data is not None:
        assert target.likelihood is not None
        for row in target.data:
            value = (
                value
                + target.likelihood(Chains(torch.tensor(points)), Chains(torch.tensor(row)[None]))
                .tensor[:, 0]
                .numpy()
            )
    assert np.allclose(value, target.energy_float64(points), rtol=1e-14, atol=1e-14)


@each_row("name", WRITTEN)
def test_a_gaussian_law_is_not_claimed(name: str) -> None:
    target = build(name)
    assert (target.quadratic, target.common_curvature) == (False, False)
    assert read_affine(target) is None
    for ask in ("mean", "precision", "covariance"):
        with pytest.raises(DefinitionError, match=f"{name!r}: U is not quadratic.*no exact mean"):
            getattr(target, ask)


def test_polynomials_are_read_exactly() -> None:
    well = read_form(build("double-well").prior, 2)
    assert {m: str(c) for m, c in well.items()} == {
        (4, 0): "128/27", (2, 0): "-16/3", (1, 0): "-2/5", (0, 0): "3/2", (0, 2): "5/4",
    }  # fmt: skip
    assert [build(name).independent for name in WRITTEN] == [True, True, *[False] * 5]


@each_row("value", [-1e300, -800.0, -40.0, -1.5, 0.0, 0.5, 19.0, 21.0, 40.0, 800.0, 1e300])
def test_softplus_neither_overflows_nor_forgets(value: float) -> None:
    with mpmath.workdps(40):
        exact = float(mpmath.log1p(mpmath.exp(mpf(value)))) if abs(value) < 1e5 else max(value, 0.0)
    tensor = torch.tensor([[value]], dtype=torch.float64, requires_grad=True)
    on_torch = softplus(Chains(tensor)).tensor
    (slope,) = torch.autograd.grad(on_torch.sum(), tensor)
    for found in (softplus(value), float(softplus(np.array([value]))[0]), float(on_torch.detach())):
        assert found == pytest.approx(exact, rel=1e-15, abs=1e-320)
    assert float(slope) == pytest.approx(
        1 / (1 + math.exp(-value)) if value > -700 else 0, rel=1e-15, abs=1e-300
    )


def test_naive_softplus_and_torchs_own_would_be_caught() -> None:
    large = torch.tensor([[800.0]], dtype=torch.float64)
    assert torch.isinf(torch.log(1 + torch.exp(large)))
    middle = torch.tensor([[21.0]], dtype=torch.float64)
    assert float(torch.nn.functional.softplus(middle)) != pytest.approx(softplus(21.0), rel=1e-15)


def test_a_chains_bits_do_not_depend_on_its_place() -> None:
    x = 10 * torch.randn(37, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for function in (softplus, lambda value: log(value * value)):
        whole = function(Chains(x)).tensor
        assert torch.equal(
            whole, torch.cat([function(Chains(x[i : i + 1].clone())).tensor for i in range(37)])
        )


def test_labels_are_drawn_by_the_model() -> None:
    target = build_target(SimpleNamespace(name="logistic-regression", dim=2, size=4000, data_seed=5))
    assert target.data is not None and set(target.data[:, 2]) == {0.0, 1.0}
    truth = np.random.default_rng(5).standard_normal(2)
    assert (abs(target.location_float64(1.0) - truth) < 5 * target.spread_float64(1.0)).all()


@pytest.mark.parametrize(("name", "temperature"), [("double-well", 0.5), ("quartic", 1.0)])
def test_location_and_spread_are_moments(name: str, temperature: float) -> None:
    def integral(power: int) -> Any:
        # The other coordinate is independent: it stays at 0 here.
        return mpmath.quad(
            lambda x: x**power * mpmath.exp(-textbook(name, (x, mpf(0))) / temperature), [-6, -1, 0, 1, 6]
        )

    norm = integral(0)
    mean = integral(1) / norm
    target = build(name)
    assert target.location_float64(temperature)[0] == pytest.approx(float(mean), rel=1e-10)
    spread = mpmath.sqrt(integral(2) / norm - mean**2)
    assert target.spread_float64(temperature)[0] == pytest.approx(float(spread), rel=1e-10)


def test_location_and_spread_of_a_mixture_are_its_moments() -> None:
    target = build("mixture")
    assert target.location_float64(1.0) == pytest.approx([-0.25, 0.375], rel=1e-14)
    # E theta_0^2 - (E theta_0)^2 from shares 3/4 and 1/4
    variance = 0.75 * (0.25 + 1) + 0.25 * (2.25 + 4) - 0.25**2
    assert target.spread_float64(1.0)[0] == pytest.approx(math.sqrt(variance), rel=1e-14)


def test_elsewhere_they_are_the_mode_and_its_gaussian() -> None:
    target = build("logistic-regression")
    mode, spread = target.location_float64(0.5), target.spread_float64(0.5)
    score = target.data[:, :2] @ mode  # type: ignore[index]
    slopes = 1 / (1 + np.exp(-score)) - target.data[:, 2]  # type: ignore[index]
    prior = np.array(WRITTEN["logistic-regression"]["prior_precision"])
    gradient = prior @ (mode - [1, 0]) + target.data[:, :2].T @ slopes  # type: ignore[index]
    curve = prior + np.einsum(
        "i,ij,ik", np.exp(-score) / (1 + np.exp(-score)) ** 2, *[target.data[:, :2]] * 2
    )  # type: ignore[index]
    assert abs(gradient).max() < 1e-2
    assert np.allclose(spread, np.sqrt(0.5 * np.diag(np.linalg.inv(curve))), rtol=1e-3)
    assert target.curvature_float64(0.5) >= np.linalg.eigvalsh(curve)[-1]


def test_the_curvature_is_that_of_the_typical_set() -> None:
    # U'' = 3 strength x^2 and U = strength x^4/4: at U = 8 T, x^2 = sqrt(32 T/strength).
    quartic = build("quartic", tilt=0.0, dim=1)
    assert quartic.curvature_float64(2.0) == pytest.approx(3 * 1.25 * math.sqrt(64 / 1.25), rel=0.15)
    gaussian = build_target(SimpleNamespace(name="gaussian", precision=[[2, 1], [1, 2]]))
    assert gaussian.curvature_float64(1.0) == pytest.approx(3)


@each_row(
    ("name", "keys", "message"),
    [
        ("double-well", {"height": 0}, "target.height=0: expected a number above 0"),
        ("double-well", {"mean": 1.0}, "target.mean=1.0 does not belong to target.name='double-well'"),
        ("quartic", {"strength": [1.0]}, "target.strength=\\[1.0\\]: expected a number"),
        ("mixture", {"weights": [1.0]}, "target.weights has length 1 and target.means has 2"),
        ("mixture", {"weights": [1.0, -1.0]}, "target.weights\\[1\\]=-1.0: expected a number above 0"),
        ("mixture", {"scales": [1.0, 2.0, 3.0]}, "target.scales has length 3"),
        ("mixture", {"means": [[1.0, 2.0], [3.0]]}, "target.means\\[1\\]=\\[3.0\\] has length 1; expected 2"),
        ("mixture", {"means": []}, "target.means has 0 entries"),
        ("gamma-poisson", {"data": [[1.0, -2.0]]}, "target.data\\[0\\] has the entry -2; expected counts"),
        ("gamma-poisson", {"shape": [1.0, 0.0]}, "target.shape\\[1\\]=0.0: expected a number above 0"),
        ("beta-bernoulli", {"data": [[1.0, 2.0]]}, "target.data\\[0\\] has the entry 2; expected 0 or 1"),
        ("dirichlet-multinomial", {"data": [[1, 2, 0.5]]}, "has the entry 0.5; expected counts"),
        ("dirichlet-multinomial", {"concentration": [1, 2]}, "has length 2; expected 3 numbers, one for each"),
        ("logistic-regression", {"data": [[1.0, 2.0, -1.0]]}, "target.data\\[0\\] has the entry -1; expected 0 or 1"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(name: str, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build(name, **keys)


@each_row("name", WRITTEN)
def test_a_configuration_names_them(name: str) -> None:
    table = load_configuration({"target": {"name": name, **WRITTEN[name]}}).target
    assert build_target(table).dim == 2
    assert build_target(SimpleNamespace(name=name, dim=3)).dim == 3


def test_an_energy_beyond_float64_is_infinite_without_a_warning() -> None:
    target = build_target(load_configuration(target={"name": "gamma-poisson"}).target)
    far = np.full((1, target.dim), 1e3)
    assert target.energy_float64(far)[0] == np.inf
