"""An example of a paper: one theorem, one formula that is misprinted, and a suite of one case.

`cards` (its claim), `suite`, `errata`.
"""

from sgverify.claims.claim import Publication
from sgverify.papers.paper import Paper

PAPER = Paper(
    id="example",
    publication=Publication(title="An example", authors=("A. Author",), year=1999),
    folder="example",
    suite="suite:suite",
    errata=("errata.variance",),
)
