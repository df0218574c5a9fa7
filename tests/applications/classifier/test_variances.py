"""The variance by all data is that over all minibatches; the best coefficient is the best."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from torch import Tensor

from reports.applications.classifier import variances
from reports.applications.classifier.variances import Monitor, of_difference, times
from sgverify.samplers.composites.swap_energies import Controls
from sgverify.schemes.composites.composite import reduced_energy
from tests.applications.classifier.small import DENSE, N, drawn, posterior
from tests.applications.sbn.planting import planted

ROUNDING = 1e-9
"""Variances of size 100 round off 1e-12; an error that is planted is a factor."""


def enumerated(coefficient: Tensor | None, batch: int = 2) -> Tensor:
    """The variance over all minibatches of the difference of two replicas' estimates, by the rule that the swap uses."""
    held, theta, control = posterior(), drawn(DENSE, 2, 3), drawn(DENSE, 2, 3, seed=1)
    full = held.energy(control)
    found = []
    for pair in combinations(range(N), batch):
        chosen = torch.tensor(pair)[:, None, None]
        energy = held.energy_over(theta, chosen)
        if coefficient is not None:
            there = held.energy_over(control, chosen)
            energy = reduced_energy(energy, there, full, coefficient=coefficient[..., 0])
        found.append(energy[0] - energy[1])
    return torch.stack(found).var(0, unbiased=False)


def quantities(coefficient: Tensor, subject=variances) -> dict[str, Tensor]:
    held = posterior()
    here, there = held.each(drawn(DENSE, 2, 3)), held.each(drawn(DENSE, 2, 3, seed=1))
    return subject.of_difference(here, there, coefficient, 2)


USED = torch.tensor([[[0.3], [-0.7], [-1.2]], [[-0.1], [0.5], [-1.0]]], dtype=torch.float64)


def test_variances_are_those_over_all_minibatches() -> None:
    found = quantities(USED)
    for name, expected in (
        ("plain", enumerated(None)),
        ("fixed", enumerated(torch.full_like(USED, -1.0))),
        ("used", enumerated(USED)),
    ):
        assert torch.allclose(found[name], expected, rtol=0, atol=ROUNDING)
    # 4 of the 6 data: twice the minibatch.
    assert torch.allclose(found["doubled"], enumerated(None, batch=4), rtol=0, atol=ROUNDING)
    assert torch.equal(found["coefficient"], USED[0, :, 0])


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("(1 / batch - 1 / size) * values.var(-1)", "(1 / batch) * values.var(-1)"),
        ("* values.var(-1)", "* values.var(-1, unbiased=False)"),
        (
            "variance_of_estimate(values[0] - values[1], count)",
            "variance_of_estimate(values[0] + values[1], count)",
        ),
    ],
    ids=["as if with replacement", "divisor N", "sum of replicas"],
)
def test_a_wrong_variance_is_seen(was: str, now: str) -> None:
    found = quantities(USED, planted(variances, was, now))["plain"]
    assert (found / enumerated(None) - 1).abs().min() > 0.1


def test_the_best_coefficient_is_that_of_each_replica() -> None:
    held = posterior()
    here, there = held.each(drawn(DENSE, 2, 1)), held.each(drawn(DENSE, 2, 1, seed=1))
    # The second replica has neither energy nor control: what is left is the first one's variance.
    alone = of_difference(here * torch.tensor([1.0, 0.0])[:, None, None], there * 1.0, USED[:, :1], 2)
    centred, control = (values[0, 0] - values[0, 0].mean() for values in (here, there))
    rho = (centred * control).sum() / (centred.norm() * control.norm())
    assert float(alone["correlation"]) == pytest.approx(float(rho))
    one = torch.stack([here[0], 0 * here[0]])
    other = torch.stack([there[0], there[0] + 0.1 * torch.arange(N)])
    best = of_difference(one, other, USED[:, :1], 2)
    # vr-resgld, below equation (3): the variance falls to 1 - rho^2 of itself; the second replica's best coefficient is 0.
    assert float(best["best"] / best["plain"]) == pytest.approx(1 - float(rho) ** 2)


def test_a_monitor_keeps_what_it_sees() -> None:
    held = posterior()
    monitor = Monitor(held, 2, (4, 8), 3)
    theta, control = drawn(DENSE, 2, 3), drawn(DENSE, 2, 3, seed=1)
    monitor.see(8, "one", theta, Controls(control, held.energy(control)[..., None], USED))
    monitor.see(4, "two", theta, None)
    assert torch.equal(torch.from_numpy(monitor.of("one", "used")[1]), quantities(USED)["used"])
    assert (monitor.of("one", "used")[0] != monitor.of("one", "used")[0]).all()
    assert (monitor.of("two", "fixed") != monitor.of("two", "fixed")).all()
    other = Monitor(held, 2, (4, 8), 3)
    other.resume(monitor.arrays())
    assert other.found.keys() == {"one", "two"}


def test_times_are_those_at_which_every_control_variate_is_old() -> None:
    assert times(100, (6, 8)) == (24, 48, 72, 96)
