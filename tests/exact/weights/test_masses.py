"""The masses of energy regions, against grids, closed forms and what is planted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError
from sgverify.exact.weights import masses as engine
from sgverify.exact.weights.masses import region_masses
from sgverify.targets import Target, build_target


def target(*settings: str) -> Target:
    return build_target(load_configuration(None, [f"target.{setting}" for setting in settings]).target)


@pytest.mark.parametrize(
    "name, edges, tau",
    [("double-well", [0.0, 0.2, 0.5, 0.9, 1.1, 2.0, 5.0], 2), ("mixture", [1.0, 1.25, 2.0, 3.5], 0.5)],
)
def test_masses_on_the_line_are_those_of_a_fine_grid(name: str, edges: list[float], tau: float) -> None:
    posterior = target(f"name={name}")
    found = region_masses(posterior, edges, tau)
    x = np.linspace(-12, 12, 1_000_001)
    energies = posterior.energy_of_coordinate(0)(x)
    shares = np.exp((energies.min() - energies) / tau)
    sums = np.bincount(np.digitize(energies, edges, right=True), shares)
    assert found.method == "enclosure" and found.error_bound < 1e-10
    assert found.values == pytest.approx(sums / sums.sum(), abs=2e-5)
    for low, high, region in found.runs:
        inside = posterior.energy_of_coordinate(0)(np.linspace(low, high, 9)[1:-1])
        assert (np.digitize(inside, edges, right=True) + 1 == region).all()


@pytest.mark.parametrize("dim", [1, 3])
def test_the_energies_of_a_gaussian_are_chi_squared(dim: int) -> None:
    posterior = target("name=gaussian", f"dim={dim}")
    edges, tau = [0.2, 1.0, 2.5], 2.0
    found = region_masses(posterior, edges, tau)
    lowest = float(posterior.energy_float64(posterior.mean_float64()[None, :])[0])
    ends = chi2.cdf(2 * (np.array(edges) - lowest) / tau, dim)
    assert found.values == pytest.approx(np.diff([0, *ends, 1]), abs=1e-12)


def test_the_plane_states_its_error() -> None:
    posterior = target("name=double-well", "dim=2")
    edges = [0.5, 1.0, 2.0]
    found = region_masses(posterior, edges, 2.0)
    x, y = np.meshgrid(np.linspace(-6, 6, 801), np.linspace(-12, 12, 801), indexing="ij")
    energies = posterior.energy_float64(np.stack([x.ravel(), y.ravel()], -1))
    sums = np.bincount(np.digitize(energies, edges, right=True), np.exp(-energies / 2))
    assert found.method == "quadrature"
    assert (np.abs(found.values - sums / sums.sum()) < found.error_bound + 2e-4).all()


def test_masses_at_another_temperature_are_told_apart() -> None:
    posterior = target("name=double-well")
    cold, warm = (region_masses(posterior, [0.5, 1.0], tau) for tau in (1, 2))
    assert not any(a.overlaps(b) for a, b in zip(cold.masses, warm.masses, strict=True))


def test_a_region_that_is_missed_is_not_there_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece counted to the region above moves mass that the enclosure does not hold."""
    posterior = target("name=double-well")
    right = region_masses(posterior, [0.5, 1.0], 1)
    monkeypatch.setattr(
        engine, "region_of", lambda energy, inner: 1 + sum(bool(energy > edge * 1.01) for edge in inner)
    )
    wrong = region_masses(posterior, [0.5, 1.0], 1)
    assert not all(a.overlaps(b) for a, b in zip(right.masses, wrong.masses, strict=True))


def test_what_is_out_of_reach_is_refused_with_the_reason() -> None:
    with pytest.raises(ConfigurationError, match=r"target\.dim of 1 or 2"):
        region_masses(target("name=double-well", "dim=3"), [0.5], 1)
