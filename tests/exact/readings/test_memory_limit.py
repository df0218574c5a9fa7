"""The law that a memory leaves as h goes to 0, against its closed form, a run, and schemes whose memory does no harm."""

from __future__ import annotations

import numpy as np
import pytest

from sgverify.checks import verify
from sgverify.configuration import TargetTable
from sgverify.errors import Unreached
from sgverify.exact.readings.formula import plant
from sgverify.exact.readings.memory_limit import equilibrated_step, memory_limit
from sgverify.samplers import Settings, fixed, sample
from sgverify.schemes import Scheme, find_scheme, kinetic, langevin, scheme, sqrt
from sgverify.strategies.schemes import averaged_noise
from sgverify.targets import build_target, parse_observable
from tests.zoo.schemes import adams

PLAIN = build_target(TargetTable(name="gaussian", precision=1.0))


def square(theta: np.ndarray) -> np.ndarray:
    return np.asarray(theta**2)


def closed(floor: float, temperature: float) -> float:
    """E theta^2 under (floor + |theta|) exp(-theta^2/(2T)): the limit's density is exp(-U/T)/G."""
    x = np.linspace(-14, 14, 1_000_001)
    density = (floor + abs(x)) * np.exp(-(x**2) / 2 / temperature)
    return float((x**2 * density).sum() / density.sum())


@pytest.mark.parametrize(("name", "floor"), [("psgld", 1e-5), ("psgld-0.999-0.1", 0.1), ("psgld-0-2", 2.0)])
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_the_limit_of_psgld_has_the_density_of_its_closed_form(
    name: str, floor: float, temperature: float
) -> None:
    found = memory_limit(find_scheme(name), PLAIN, square, temperature)
    assert found.average == pytest.approx(closed(floor, temperature), abs=10 * found.error_bound + 1e-5)
    assert found.error_bound < 1e-4


def test_chains_at_a_small_step_have_the_average_of_the_limit() -> None:
    averages = sample(
        find_scheme("psgld-0.5-0.1"),
        PLAIN,
        fixed([0.01], [3000]),
        observables=[parse_observable("theta**2", 1)],
        settings=Settings(chains=256, burn_in=500),
    )
    values = averages.values[0, 0, 0]
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    limit = memory_limit(find_scheme("psgld-0.5-0.1"), PLAIN, square, 1.0).average
    # What is left of the step is below the noise of this run; the posterior's average is 1, 30 errors away.
    assert abs(values.mean() - limit) < 4 * error + 0.05
    assert abs(values.mean() - 1) > 8 * error + 0.05


def test_a_memory_that_does_no_harm_leaves_the_posterior() -> None:
    found = memory_limit(adams, PLAIN, square, 1.0)
    assert found.average == pytest.approx(1, abs=1e-6)
    assert equilibrated_step(adams, PLAIN, 1.0).share < 1e-7


def test_the_equilibrated_step_of_psgld_is_not_that_of_langevin() -> None:
    found = equilibrated_step(find_scheme("psgld-0.999-0.1"), PLAIN, 1.0)
    assert found.share > 0.5
    assert found.what == "half squared diffusion"
    assert found.found == pytest.approx(1 / (0.1 + abs(found.at["theta"])), rel=1e-6)


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (find_scheme("psgld-1-0.1"), "does not forget"),
        (averaged_noise, "keeps random draws"),
    ],
)
def test_what_the_limit_does_not_hold_for_is_out_of_reach(item: Scheme, why: str) -> None:
    with pytest.raises(Unreached, match=why):
        memory_limit(item, PLAIN, square, 1.0)


@pytest.mark.power  # 1.0 s
def test_the_checks_say_that_psgld_samples_another_law() -> None:
    asked = {"checks": ["chen2015/theorem-4", "sgverify/stated-order"]}
    answers = [item for item in verify("psgld", **asked) if item.verdict != "not-applicable"]
    found = {item.check: item for item in answers}
    assert {item.verdict for item in found.values()} == {"violates"}
    assert {item.method for item in found.values()} == {"quadrature"}
    assert "does not vanish with h" in found["stationary-bias"].reason
    assert "local order 0" in found["local-order"].reason


def test_a_preconditioner_that_is_taken_as_a_number_hurts_no_more() -> None:
    """Planted the other way round: with G = 1 the same scheme is Langevin's, and neither check says a word against it."""
    harmless = plant(find_scheme("psgld-0.9-1"), "sqrt(V1)", "0*V1")
    assert memory_limit(harmless, PLAIN, square, 1.0).average == pytest.approx(1, abs=1e-6)
    assert equilibrated_step(harmless, PLAIN, 1.0).share < 1e-7


@scheme(langevin, memory={"m": lambda theta: 0 * theta})
def heavy_ball(theta, m, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    m = 0.9 * m - 0.1 * h * grad(theta) + 0.1 * sqrt(2 * T * h) * noise()
    return theta + m, m


@scheme(langevin, memory={"m": lambda theta: 0 * theta, "v": lambda theta: 0 * theta})
def preconditioned_heavy_ball(theta, m, v, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    g = grad(theta)
    v = 0.99 * v + 0.01 * g * g
    G = 1 / (1 + h * sqrt(v))
    m = 0.9 * m - 0.1 * h * G * g + 0.1 * sqrt(2 * T * h * G) * noise()
    return theta + m, m, v


@scheme(kinetic, memory={"v": lambda theta, p: 0 * theta})
def rmsprop_with_momentum(theta, p, v, *, h, grad, noise, D, T):  # type: ignore[no-untyped-def]
    g = grad(theta)
    v = 0.99 * v + 0.01 * g * g
    G = 1 / (0.1 + sqrt(v))
    p = p - h * D * p - h * G * g + sqrt(2 * D * T * h * G) * noise()
    return theta + h * p, p, v


@scheme(kinetic, memory={"v": lambda theta, p: 0 * theta})
def shared_draw(theta, p, v, *, h, grad, noise, D, T):  # type: ignore[no-untyped-def]
    kick = sqrt(2 * D * T * h) * noise()
    g = grad(theta)
    v = v / 2 + g * g
    return theta + h * p + kick / 8, p - h * D * p - h * g * (1 + 0 / (1 + sqrt(v))) + kick, v


def test_rmsprop_with_a_momentum_is_compared_in_theta_and_p() -> None:
    """At v = g^2 the noise of p is T D G: the largest difference is where g is nearest to 0."""
    found = equilibrated_step(rmsprop_with_momentum, PLAIN, 0.5, 3.0)
    assert found.what == "half squared diffusion of p"
    assert (found.expected, found.found) == pytest.approx(
        (1.5, 1.5 / (0.1 + abs(found.at["theta"]))), rel=1e-6
    )
    harmless = plant(rmsprop_with_momentum, "1/(0.1 + sqrt(v1))", "1 + 0/(1 + sqrt(v1))")
    assert equilibrated_step(harmless, PLAIN, 0.5, 3.0).share < 1e-7
    refuted = verify(rmsprop_with_momentum, checks=["local-order"])
    assert [item.outcome for item in refuted] == ["fail"]
    assert "that of `kinetic` is 2 h; with the memory (v) equilibrated at theta=" in refuted[0].reason


def test_a_draw_that_theta_and_p_share_is_seen() -> None:
    found = equilibrated_step(shared_draw, PLAIN, 1.0, 2.0)
    assert found.what == "half covariance of theta and p"
    assert (found.found, found.expected) == pytest.approx((2 / 8, 0), abs=1e-9)


@pytest.mark.parametrize("moved", [heavy_ball, preconditioned_heavy_ball])
def test_a_momentum_in_the_memory_is_not_read_from_one_step(moved: Scheme) -> None:
    """One step holds a hundredth of the noise that ten of them leave: the limit has all of it, and no answer may say otherwise."""
    for asked in (
        lambda: equilibrated_step(moved, PLAIN, 1.0),
        lambda: memory_limit(moved, PLAIN, square, 1.0),
    ):
        with pytest.raises(Unreached, match="declare it as `p`; theta moves by the memory itself"):
            asked()
    found = verify(moved, checks=["local-order"])
    assert not [item.reason for item in found if item.outcome == "fail"]
