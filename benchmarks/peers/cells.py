"""Which cells are measured: a problem, a number of chains, a dtype, and whether states are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.peers.problems import PROBLEMS

CHAINS = (1, 100, 4096)

COMPARED = 4000
"""The chains whose law is compared, however many are timed: their variances are known to 2 %."""

KEPT = 10
"""Every so many steps a state is kept."""


@dataclass(frozen=True)
class Cell:
    """One line of the table."""

    problem: str
    chains: int
    dtype: str = "float32"
    thinning: int = 0

    @property
    def name(self) -> str:
        """What is measured, in one word a part."""
        kept = f", every {self.thinning}th state kept by sgverify.sample" if self.thinning else ""
        return f"{PROBLEMS[self.problem].said}{kept}, {self.dtype}"

    @property
    def key(self) -> str:
        """The name in files."""
        return f"{self.problem}/{self.chains}/{self.dtype}/{self.thinning}"

    @property
    def chunk(self) -> int:
        """The steps of one call of a compiled loop: enough that the call itself costs nothing."""
        return 20_000 if self.chains == 1 else 200 if self.chains <= 100 else 20

    @property
    def least(self) -> int:
        """The fewest steps of a run that is timed: what a run costs at its start is then a small part of it."""
        # Shorter runs of the public `sample` have no kernel, whose making would cost more than they take.
        longer = 10 if self.thinning and self.chains <= 100 else 1
        return longer * (2_000 if self.chains == 1 else 1_000 if self.chains <= 100 else 100)

    @property
    def compared(self) -> int:
        """The steps after which chains are compared; replicas swap from the hundredth on."""
        return 250 if PROBLEMS[self.problem].ladder else 60

    def task(self, *, comparing: bool = False) -> dict[str, Any]:
        """What a worker is asked to make; `comparing` takes as many chains as a comparison needs."""
        return {
            "problem": self.problem,
            "chains": COMPARED if comparing else self.chains,
            "dtype": self.dtype,
            "thinning": self.thinning,
            "chunk": self.compared if comparing else self.chunk,
        }


CELLS = (
    *(Cell(problem, chains) for problem in PROBLEMS for chains in CHAINS),
    *(Cell(problem, 100, "float64") for problem in ("gaussian", "logistic", "double-well-10")),
    # Draws of fewer than two chains have no diagnosis: `sgverify.sample` refuses one.
    *(Cell(problem, chains, thinning=KEPT) for problem in ("gaussian", "logistic") for chains in (100, 4096)),
)

QUICK = tuple(
    cell
    for cell in CELLS
    if cell.dtype == "float32" and (cell.chains == 100 or (cell.problem == "gaussian" and not cell.thinning))
)
"""One number of chains for each problem."""

COLD = tuple(Cell(problem, 100) for problem in PROBLEMS)
COLD_QUICK = (Cell("gaussian", 100), Cell("logistic", 100))
"""Whose first call is measured in a fresh process without any cache."""
