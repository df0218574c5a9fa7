"""The report beyond Gaussians: the leading coefficient of a bias by the Poisson equation is the one that grids show."""

from __future__ import annotations

from reports.making.beyond_gaussians import coefficient


def test_the_coefficient_predicted_is_the_one_on_grids() -> None:
    row = coefficient("wells", "sgld-euler", {"target.name": "double-well"})
    assert row.power == 1 and abs(row.predicted / row.found - 1) < 1e-4
