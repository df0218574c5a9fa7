"""The chain of an adaptively weighted sampler on the line, against closed forms, sums of powers and a simulation of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sgverify.configuration import load_configuration
from sgverify.errors import Unreached
from sgverify.exact.weights.line_chain import LineChain
from sgverify.exact.weights.line_weights import RunningWeights, rest
from sgverify.schemes import find_scheme
from sgverify.schemes.composites.adaptation import Adaptation, Partition
from sgverify.targets import Target, build_target

ADAPTATION = Adaptation(Partition((0.0, 0.5, 1.5, 4.0)), 1.5, 1.0, 1.0, 0.75, 20.0, 1.0)
PAIR = replace(ADAPTATION, partition=Partition((0.0, 0.4, 4.0)))


def gaussian(dim: int = 1) -> Target:
    return build_target(load_configuration({"target": {"name": "gaussian", "dim": dim}}).target)


def chain(adaptation: Adaptation = ADAPTATION, *, step: float = 0.2, **how: float) -> LineChain:
    return LineChain(find_scheme("sgld-euler"), gaussian(), adaptation, step, **how)


def test_flat_weights_leave_the_law_of_an_autoregression() -> None:
    made = chain(step=0.3)
    law = made.law(np.ones(3))
    assert law @ made.nodes**2 == pytest.approx(1 / (1 - 0.15), abs=1e-11)
    assert law.sum() == pytest.approx(1, abs=1e-13)
    assert chain(step=0.3, tilt=0.5).law(np.ones(3)) @ chain(step=0.3, tilt=0.5).nodes ** 2 == pytest.approx(
        (1 + 0.3 * 0.25 / 2) / (1 - 0.15), abs=1e-10
    )


def test_finer_panels_change_nothing_where_the_drift_jumps() -> None:
    theta = np.array([0.3, 0.7, 1.0])
    averages = [made.law(theta) @ np.abs(made.nodes) for made in (chain(), chain(finer=1.7))]
    assert averages[0] == pytest.approx(averages[1], abs=1e-9)


def test_the_flow_is_the_limit_of_vanishing_steps() -> None:
    theta = np.array([0.3, 0.7, 1.0])
    off = []
    for step in (0.08, 0.02):
        made = chain(step=step)
        off.append(made.law(theta) @ made.nodes**2 - made.law_of_flow(theta) @ made.nodes**2)
    assert 3 < off[0] / off[1] < 5


def test_weights_at_rest_repeat_under_their_own_law() -> None:
    """theta(i) = sum_(J <= i) q_J theta(J)/sum_J q_J theta(J) for the chances q that the chain has at theta."""
    made = chain(step=0.1)
    found = rest(made, (0.3, 0.7, 1.0))
    parts = made.chances(found.law) * found.theta
    assert np.allclose(np.cumsum(parts) / parts.sum(), found.theta, atol=1e-10)
    # Far from h = 0 there may be nothing to rest at: the multiplier drives low energies out of their region.
    with pytest.raises(Unreached, match="brought to rest|carries it off"):
        rest(chain(replace(ADAPTATION, zeta=40.0), step=1.0), (0.3, 0.7, 1.0))


def test_what_a_start_leaves_is_the_sum_over_its_steps() -> None:
    found = rest(chain(), (0.3, 0.7, 1.0))
    values, place = np.tanh(found.chain.nodes), 40
    row, total = np.eye(len(values))[place], 0.0
    kernel = found.chain.kernel(found.theta)
    for _ in range(300):
        total += row @ values - found.law @ values
        row = row @ kernel
    assert found.forgetting(values, np.array([place]))[0] == pytest.approx(total, abs=1e-9)


def simulated(made: LineChain, steps: int, chains: int, start: float) -> dict[str, np.ndarray]:
    """The same sampler written down again, with numpy's own normal numbers; two regions, full gradients of |x|^2/2."""
    a, generator = made.adaptation, np.random.default_rng(3)
    edge, top = a.partition.inner[0], a.partition.edges[-1]
    x, t = np.full(chains, start), np.full(chains, a.start)
    visits = counted = counts = np.zeros(chains)
    for k in range(1, steps + 1):
        energy = x * x / 2
        upper = 1.0 if a.cumulative else 1 - t
        slope = a.zeta * a.tau / a.partition.widths[1] * np.log(upper / t)
        bent = x * np.where((energy > edge) & (energy <= top), 1 + slope, 1.0)
        x = x - made.step * bent + np.sqrt(2 * a.tau * made.step) * generator.standard_normal(chains)
        low, omega = x * x / 2 <= edge, a.scale / (k**a.alpha + a.offset)
        if a.cumulative:
            t = np.where(low, t + omega * t * (1 - t), t - omega * t)
        else:
            t = np.where(low, t + omega * t**a.zeta * (1 - t), t - omega * (1 - t) ** a.zeta * t)
        here = np.where(low, t, 1.0 if a.cumulative else 1 - t) ** a.zeta
        visits, counted, counts = visits + low, counted + here * low, counts + here
    return {
        "theta": t,
        "square": t**2,
        "visits": visits / steps,
        "counted": counted / steps,
        "counts": counts / steps,
    }


@pytest.mark.parametrize("cumulative", [True, False])
def test_the_joint_law_of_state_and_weights_is_that_of_a_simulation(cumulative: bool) -> None:
    made = chain(replace(PAIR, cumulative=cumulative))
    exact = RunningWeights(made, 40, 1.5).after(40)
    drawn = simulated(made, 40, 20_000, 1.5)
    for name, values in drawn.items():
        error = values.std() / np.sqrt(len(values))
        assert abs(values.mean() - getattr(exact, name)) < 5 * error, name
    # It would notice a bias of the order that a step of half the size makes.
    other = RunningWeights(chain(replace(PAIR, cumulative=cumulative), step=0.1), 40, 1.5).after(40)
    assert abs(other.theta - exact.theta) > 5 * drawn["theta"].std() / np.sqrt(20_000)


@pytest.mark.by_default("0.0")
@pytest.mark.parametrize("tilt", [0.0, 0.4])
def test_the_spread_of_the_weights_tends_to_the_solution_of_lyapunovs_equation(tilt: float) -> None:
    small = replace(PAIR, zeta=1.0, scale=2.0, alpha=0.75, offset=20.0)
    made = chain(small, step=0.4, tilt=tilt)
    found = rest(made, (0.6, 1.0))
    limit, slowest = found.spread()
    assert slowest < 0
    ratios = []
    for length in (64, 320):
        run = RunningWeights(made, length, 0.5, points=32).after(length)
        off = run.square - 2 * found.theta[0] * run.theta + found.theta[0] ** 2
        ratios.append(off / float(small.omega(length)))
    # The next term is of the order of omega, here 0.02, times a few.
    assert abs(ratios[1] - limit) < min(0.25 * limit, abs(ratios[0] - limit) / 4)


def test_the_spread_of_several_weights_counts_every_autocovariance() -> None:
    """The long-run covariance by summing lags, and Lyapunov's equation as an integral of exponentials."""
    from scipy import linalg

    found = rest(chain(step=0.3), (0.3, 0.7, 1.0))
    table = np.array(
        [[t * ((i >= j) - s) for i, s in enumerate(found.theta)] for j, t in enumerate(found.theta)]
    )
    fields = table[found.chain.regions[0] - 1]
    centred, kernel = fields - found.law @ fields, found.chain.kernel(found.theta)
    noise, moved = np.zeros((3, 3)), centred
    for lag in range(400):
        part = (found.law[:, None] * centred).T @ moved
        noise += part if lag == 0 else part + part.T
        moved = kernel @ moved
    slope = found._derivative()[:2, :2]
    times, size = np.linspace(0, 60, 6001, retstep=True)
    flow = np.array(
        [np.trace(linalg.expm(slope * t) @ noise[:2, :2] @ linalg.expm(slope * t).T) for t in times[::20]]
    )
    assert found.spread()[0] == pytest.approx(float(((flow[1:] + flow[:-1]) / 2).sum() * 20 * size), rel=5e-3)


def test_schemes_and_targets_beyond_the_line_are_named() -> None:
    with pytest.raises(Unreached, match="dim=2"):
        LineChain(find_scheme("sgld-euler"), gaussian(2), ADAPTATION, 0.1)
    with pytest.raises(Unreached, match="no point of the line"):
        LineChain(find_scheme("sghmc-euler"), gaussian(), ADAPTATION, 0.1)
