"""Deng, Feng, Karagiannis, Lin, Liang (2021): replica exchange stochastic gradient MCMC with reduced variance.

`cards` (its claims), `suite`, `errata`, `experiments`.
"""

from sgverify.papers.paper import Paper

PAPER = Paper(
    id="vr-resgld",
    year=2021,
    folder="vr_resgld",
    suite="suite:suite",
    errata=("errata.control_variates", "errata.swaps", "errata.dissipativity"),
    studies={"figure-2": "experiments.figures:figure_2", "figure-6": "experiments.figures:figure_6"},
)
