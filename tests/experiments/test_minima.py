"""The minima of the multimodal functions against a search over the box, and those that are published."""

from __future__ import annotations

import numpy as np
import pytest

from reports.experiments.awsgld.minima import minimisers, minimum
from sgverify.targets.multimodal import FUNCTIONS

NAMES = list(FUNCTIONS)


@pytest.mark.by_default(
    "rastrigin", "rosenbrock", "himmelblau", "goldstein-price", "branin", "easom", "drop-wave"
)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_the_box_is_below_the_minimum(name: str) -> None:
    """A grid finds the basin that a short descent takes to the bottom: neither is lower, and the bottom is reached."""
    function = FUNCTIONS[name]
    dim = (function.dims or (2,))[0]
    box, least = function.box(dim), minimum(name, dim)
    axes = [np.linspace(low, high, 1201) for low, high in box]
    values = function.value(np.stack(np.meshgrid(*axes, indexing="ij"), -1))
    assert values.min() >= least - 1e-9 * (1 + abs(least))
    places = minimisers(name, dim)
    assert ((places >= box[:, 0]) & (places <= box[:, 1])).all()
    np.testing.assert_allclose(function.value(places), least, rtol=1e-9, atol=1e-9)
    # Every cell within reach of the least value belongs to a listed minimum.
    close = np.argwhere(values <= np.quantile(values, 2e-5))
    found = np.array([[axis[i] for axis, i in zip(axes, place, strict=True)] for place in close])
    gaps = np.abs(found[:, None] - places[None]) / (box[:, 1] - box[:, 0])
    assert gaps.max(-1).min(1).max() < 0.1


@pytest.mark.parametrize(
    ("name", "dim", "least"),
    [
        ("styblinski-tang", 3, 3 * -39.16616570377142),
        ("michalewicz", 2, -1.8013034101),
        ("michalewicz", 5, -4.687658),
        ("six-hump-camel", 2, -1.0316284535),
        ("goldstein-price", 2, 3.0),
        ("branin", 2, 0.39788735773),
        ("shubert", 2, -186.7309088310),
        ("easom", 2, -1.0),
        ("drop-wave", 2, -1.0),
    ],
)
def test_minima_are_the_published_ones(name: str, dim: int, least: float) -> None:
    assert minimum(name, dim) == pytest.approx(least, rel=1e-7)


def test_the_eighteen_minima_of_shubert_are_listed() -> None:
    assert len(np.unique(minimisers("shubert", 2).round(3), axis=0)) == 18
