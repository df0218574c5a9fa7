"""The bias of kinetic schemes on grids of the plane: against the affine engine, a law propagated by hand, and planted errors."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sgverify import log_density
from sgverify.configuration import load_configuration
from sgverify.errors import Unreached
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import answers_for
from sgverify.exact.transfer.plane import operator
from sgverify.exact.transfer.plane.bias import PlaneAnswers
from sgverify.exact.transfer.plane.interpreter import Axis, PlaneInterpreter
from sgverify.exact.transfer.plane.law import plane_escapes
from sgverify.exact.transfer.result import GridBias
from sgverify.schemes import Alphabet, Scheme, dynamics, exp, find_scheme, kinetic, scheme, sqrt
from sgverify.subject.subject import Subject
from sgverify.targets import Target, build_target, parse_observable
from tests.exact.transfer.plane_chains import stationary_average
from tests.tables import each_row

H = 0.2


def target_of(*settings: str) -> Target:
    return build_target(load_configuration(settings=("target.name=gaussian", *settings)).target)


def answers(
    scheme: Scheme,
    target: Target,
    phi: str,
    temperature: Fraction = Fraction(1),
    friction: Fraction = Fraction(1),
) -> PlaneAnswers:
    return PlaneAnswers(scheme, target, parse_observable(phi, 1), temperature, friction)


# Every form that a step can take: letters, p before theta, theta before p.
@pytest.mark.parametrize(
    ("name", "phi"),
    [
        ("sghmc-aboba", "theta**2"),
        ("sghmc-oabao", "p**4 + theta"),
        ("sghmc-euler", "theta**2*p**2"),
        ("sghmc-euler-explicit", "theta**2 - theta*p"),
    ],
)
def test_a_gaussian_target_gives_what_the_affine_engine_proves(name: str, phi: str) -> None:
    settings = [
        "target.name=gaussian",
        "target.precision=2",
        "target.mean=0.5",
        "temperature=0.75",
        "friction=2",
        f"test_function={phi}",
    ]
    subject = Subject(find_scheme(name), load_configuration(settings=settings), name)
    exact = answers_for(subject.model).stationary_bias(fixed_step(H))
    found = answers(subject.scheme, subject.target, phi, Fraction(3, 4), Fraction(2)).stationary_bias(H)
    assert found.value is not None
    assert abs(found.value - exact.value) <= found.error_bound + exact.error_bound
    assert found.error_bound < 1e-8


@pytest.fixture(scope="module")
def truth() -> float:
    """The bias of theta^2 under ABOBA at h = 0.2 on U = (theta^2 - 1)^2 + theta/4, where no closed form exists."""

    def energy(x: np.ndarray) -> np.ndarray:
        return (x * x - 1) ** 2 + x / 4

    found = stationary_average(
        lambda x: 4 * x * (x * x - 1) + 0.25,
        energy,
        lambda theta, p: theta**2 + 0 * p,
        h=H,
        friction=1.0,
        ends=(-2.7, 2.7),
        sizes=(128, 100),
        steps=240,
    )
    theta = np.linspace(-4, 4, 4001)
    weights = np.exp(-energy(theta))
    return found - float(weights @ theta**2 / weights.sum())


def on_the_double_well(scheme: Scheme) -> GridBias:
    return answers(scheme, target_of("target.name=double-well"), "theta**2").stationary_bias(H)


@pytest.mark.power  # 1.1 s
def test_the_bias_is_that_of_a_law_propagated_by_hand(truth: float) -> None:
    found = on_the_double_well(find_scheme("sghmc-aboba"))
    # 240 steps forget all but e^-17 of the start, and ten neighbours interpolate to a few 1e-9.
    assert found.value == pytest.approx(truth, abs=2e-8)
    assert found.error_bound < 1e-8


@pytest.mark.by_default("noise")
@pytest.mark.parametrize("letter", ["drift", "friction", "kick", "noise"])
def test_a_planted_error_in_a_letter_is_caught(truth: float, letter: str) -> None:
    found = on_the_double_well(_planted(letter))
    assert found.value is not None
    assert abs(found.value - truth) > 1e-5 + found.error_bound


def test_a_planted_jacobian_is_caught(truth: float, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where p shrinks a density grows by e^(Dt), and masses do not: as if they were densities.
    matrices = operator._matrices

    def planted(axis: Axis, images: np.ndarray, variances: np.ndarray) -> np.ndarray:
        slope = np.gradient(images, axis.spacing, axis=1)[:, None, :]
        return matrices(axis, images, variances) / slope

    monkeypatch.setattr(operator, "_matrices", planted)
    found = on_the_double_well(find_scheme("sghmc-aboba"))
    assert found.value is None or abs(found.value - truth) > 1e-5


def _planted(letter: str) -> Scheme:
    """ABOBA with one letter wrong by a percent."""
    wrong = {name: 1.01 if name == letter else 1 for name in ("drift", "friction", "kick", "noise")}

    def a(theta, p, *, t):
        return theta + wrong["drift"] * t * p, p

    def b(theta, p, *, t, D):
        return theta, exp(-wrong["friction"] * D * t) * p

    def o(theta, p, *, t, grad, noise, D, T):
        return theta, p - wrong["kick"] * t * grad(theta) + wrong["noise"] * sqrt(2 * D * T * t) * noise()

    return Alphabet("planted", kinetic, A=a, B=b, O=o).word("ABOBA")


def test_a_step_that_the_quartic_outruns_has_no_law_and_says_so() -> None:
    found = answers(
        find_scheme("sghmc-euler-explicit"), target_of("target.name=quartic"), "theta**2"
    ).stationary_bias(H)
    assert found.value is None
    assert found.escape is not None
    assert found.escape.leak > 1e-3
    # Explicit steps are unstable beyond curvature D^2 or so, and 3 theta^2 exceeds it far inside of 10.
    assert -10 < found.escape.edges[0] < 0 < found.escape.edges[1] < 10
    assert "carried off" in found.note


def test_a_quadratic_potential_lets_no_chain_escape() -> None:
    found = answers(find_scheme("sghmc-aboba"), target_of(), "theta**2").stationary_bias(H)
    assert found.escape is None and found.note == ""


@dynamics(theta="vector", p="vector")
def _other(theta, p, *, grad, D, T):
    return (p, -grad(theta) - D * p), (0, D * T)


@scheme(_other)
def _product_of_draws(theta, p, *, h, grad, noise, D, T):
    return theta + h * p, p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise() * noise()


@scheme(_other)
def _gradient_after_noise(theta, p, *, h, grad, noise, D, T):
    theta = theta + h * (p + sqrt(2 * D * T * h) * noise())
    return theta, p - h * grad(theta) - h * D * p


@scheme(_other)
def _bounded_draws(theta, p, *, h, grad, noise, D, T):
    return theta + h * p, p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise.three_point()


@log_density()
def _black_box(theta):
    return -theta.square().sum(-1)


@each_row(
    ("scheme", "target", "reason"),
    [
        (find_scheme("sgnht-euler"), target_of(), "state"),
        (find_scheme("sgld-euler"), target_of(), "state"),
        (find_scheme("sghmc-aboba"), target_of("target.dim=2"), "dim=2"),
        (find_scheme("sghmc-aboba"), _black_box.target("own", {}), "derivatives"),
        (_product_of_draws, target_of(), "multiplies noise"),
        (_gradient_after_noise, target_of(), "carries noise"),
        (_bounded_draws, target_of(), "three_point"),
    ],
)
def test_what_is_beyond_the_engine_is_refused_by_name(scheme: Scheme, target: Target, reason: str) -> None:
    with pytest.raises(Unreached, match=reason):
        answers(scheme, target, "theta**2")


@pytest.mark.by_default("quartic-True")
@pytest.mark.parametrize(("name", "escapes"), [("gamma-poisson", False), ("quartic", True)])
def test_a_chain_that_an_exponential_force_throws_out_comes_back(name: str, escapes: bool) -> None:
    """exp(theta) throws a chain far to the left, and the constant force there brings it back; theta^3 throws it on."""
    target = build_target(load_configuration(settings=[f"target.name={name}"]).target)
    reading = PlaneInterpreter(find_scheme("sghmc-euler"), target, 1.0, 2.0)
    together = plane_escapes(reading, [0.03, 1e-3, 0.1])
    assert (together[0] is not None) == escapes
    assert together == [plane_escapes(reading, [step])[0] for step in (0.03, 1e-3, 0.1)]
