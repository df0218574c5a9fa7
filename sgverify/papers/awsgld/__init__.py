"""Deng, Lin, Liang (2022): adaptively weighted stochastic gradient MCMC for simulation and global optimization.

`cards` (its claims), `presets.toml` (its settings), `suite`, `errata`, `experiments`.
"""

from sgverify.papers.paper import Paper

PAPER = Paper(
    id="awsgld",
    year=2022,
    folder="awsgld",
    suite="suite:suite",
    errata=("errata.weights", "errata.laws", "errata.noise", "errata.rates"),
    studies={
        "exploration": "experiments.exploration:exploration",
        "hitting-times": "experiments.hitting:hitting_times",
    },
)
