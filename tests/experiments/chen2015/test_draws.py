"""Errors at draws of the data, by the polynomial that they are; searches at each draw; statements over all of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reports.experiments.chen2015 import tuning
from reports.experiments.chen2015.experiment import DataDraws, draws_of, experiment, smaller
from reports.experiments.chen2015.tuning import HALVED, SGHMC, SGLD, grid_of, tuned_over


@pytest.mark.parametrize(("quantity", "gradient", "nodes"), [
    ("bias", "full", 2), ("bias", "iid", 3), ("mse", "full", 3), ("mse", "iid", 8),
])  # fmt: skip
@pytest.mark.parametrize(("scheme", "kind"), [("sghmc-aboba", "horizon"), ("sgld-euler", "power")])
def test_an_error_is_that_polynomial_of_the_data(
    quantity: str, gradient: str, nodes: int, scheme: str, kind: str
) -> None:
    draws = draws_of(24)
    asked: list[tuple[str, int]] = []

    def error(estimator: str, seed: int) -> float:
        asked.append((estimator, seed))
        chain = experiment(scheme, estimator, 10.0, seed)
        found = chain.error(kind, quantity, Fraction(1, 500), Fraction(1, 3), 40)
        assert found is not None
        return found

    whole = draws.errors(quantity, gradient, error)
    assert len(asked) == nodes
    # The first draw is that of the curves, and the part without noise is shared with full gradients.
    assert {("full", 0), (gradient, 0)} <= set(asked)
    used = {seed for _, seed in asked}
    for seed in [seed for seed in range(24) if seed not in used][:3]:
        assert whole[seed] == pytest.approx(error(gradient, seed), rel=1e-10)
    few = [5, 3, 20][: nodes - 1]
    np.testing.assert_allclose(draws.errors(quantity, gradient, error, few), whole[few], rtol=1e-10)


def test_where_some_draws_diverge_each_is_computed() -> None:
    found = draws_of(24).errors("bias", "full", lambda _, seed: None if seed % 2 else float(seed))
    np.testing.assert_array_equal(np.isnan(found), [seed % 2 == 1 for seed in range(24)])
    assert np.isnan(draws_of(24).errors("bias", "iid", lambda _, seed: None)).all()
    assert smaller(np.array([1.0, np.nan, -1.0]), np.array([np.nan, 1.0, 2.0])).tolist() == [
        True,
        False,
        True,
    ]


@pytest.mark.by_default("SGLD as Algorithm 1", "SGLD as equation (10)")
@pytest.mark.parametrize("contender", [SGHMC, SGLD, HALVED], ids=lambda item: item.name)
def test_the_search_for_the_mean_square_error_is_that_of_the_whole_grid(
    contender, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tuned_over(contender, "full", "horizon", "mse", 60, draws_of(3))
    monkeypatch.setattr(tuning, "APART", 1)
    tuned_over.cache_clear()
    assert tuned_over(contender, "full", "horizon", "mse", 60, draws_of(3)) == found
    assert len({scale for _, scale in found.selected} & set(grid_of("horizon"))) >= 1


def test_a_statement_that_depends_on_the_data_says_where_it_holds() -> None:
    draws = DataDraws(12)
    far = abs(draws.means) > 1.1
    assert far.sum() == 3
    said, verdict = draws.judged([far, True])
    assert verdict == "depends on the data"
    low, high = (f"{abs(draws.means)[far].min():.3g}", f"{abs(draws.means)[far].max():.3g}")
    assert f"holds at 3 of 12: |m| from {low} to {high}" in said and "holds in part at 9 of 12" in said
    assert draws.judged([True])[1] == "holds" and draws.judged([~far & far])[1] == "does not hold"
