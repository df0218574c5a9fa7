"""Deng, Lin, Liang (2022): adaptively weighted stochastic gradient MCMC for simulation and global optimization.

`cards` (its claims), `presets.toml` (its settings), `suite`, `errata`.
"""

from sgverify.claims.claim import Publication
from sgverify.papers.paper import Paper

PAPER = Paper(
    id="awsgld",
    publication=Publication(
        title="An adaptively weighted stochastic gradient MCMC algorithm for Monte Carlo simulation and global optimization",
        authors=("Wei Deng", "Guang Lin", "Faming Liang"),
        year=2022,
        published="Statistics and Computing",
    ),
    folder="awsgld",
    suite="suite:suite",
    errata=("errata.weights", "errata.laws", "errata.noise", "errata.rates"),
)
