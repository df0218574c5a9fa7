"""Chen, Ding, Carin (2015): on the convergence of stochastic gradient MCMC algorithms with high-order integrators.

`cards` (its claims), `suite`, `errata`.
"""

from sgverify.claims.claim import Publication
from sgverify.papers.paper import Paper

PAPER = Paper(
    id="chen2015",
    publication=Publication(
        title="On the Convergence of Stochastic Gradient MCMC Algorithms with High-Order Integrators",
        authors=("Changyou Chen", "Nan Ding", "Lawrence Carin"),
        year=2015,
        published="Advances in Neural Information Processing Systems 28",
    ),
    folder="chen2015",
    suite="suite:suite",
    errata=(
        "errata.generators",
        "errata.products",
        "errata.definitions",
        "errata.sums",
        "errata.flows",
        "errata.theorems",
    ),
)
