"""Deng, Feng, Karagiannis, Lin, Liang (2021): replica exchange stochastic gradient MCMC with reduced variance.

`cards` (its claims), `suite`, `errata`.
"""

from sgverify.claims.claim import Publication
from sgverify.papers.paper import Paper

PAPER = Paper(
    id="vr-resgld",
    publication=Publication(
        title="Accelerating Convergence of Replica Exchange Stochastic Gradient MCMC via Variance Reduction",
        authors=("Wei Deng", "Qi Feng", "Georgios Karagiannis", "Guang Lin", "Faming Liang"),
        year=2021,
        published="International Conference on Learning Representations",
    ),
    folder="vr_resgld",
    suite="suite:suite",
    errata=("errata.control_variates", "errata.swaps", "errata.dissipativity"),
)
