"""Chen, Ding, Carin (2015): on the convergence of stochastic gradient MCMC algorithms with high-order integrators.

`cards` (its claims), `suite`, `errata`, `figures`.
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
    studies={
        "figure-1": "figures.invariant_bias:figure_1",
        "figure-5": "figures.traces:figure_5",
        "figure-7": "figures.traces:figure_7",
        "figure-3": "figures.comparison:figure_3",
        "figure-6": "figures.comparison:figure_6",
        "figure-8": "figures.comparison:figure_8",
    },
)
