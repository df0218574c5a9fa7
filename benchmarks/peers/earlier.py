"""What a reader measured at the revision f4cb324, before kernels of every potential, and the same cells now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.peers.bars import judge
from benchmarks.peers.cells import KEPT, Cell
from benchmarks.peers.comparison import Measured


@dataclass(frozen=True)
class Earlier:
    """One cell: how many times the time of a torch loop and of blackjax it took then, "" where that was not measured.

    `chains` were 256 then where they are 100 now. `other` is said where something else was measured.
    """

    cell: Cell
    loop: str = ""
    blackjax: str = ""
    chains: int = 256
    other: str = ""


EARLIER = (
    Earlier(Cell("gaussian", 4096, thinning=KEPT), "3.4 to 7.9", "0.75 to 1.7", 4096),
    Earlier(Cell("gaussian", 100, thinning=KEPT), "7.4 to 11", "2.3 to 3.4", 100),
    Earlier(Cell("logistic", 100, thinning=KEPT), "184", ""),
    Earlier(Cell("logistic", 4096), "4.8", "2.6", 4096),
    Earlier(Cell("logistic", 100), "13", "4.8"),
    Earlier(Cell("logistic", 1), "31", "216", 1),
    Earlier(Cell("logistic-full", 100), "48", "18"),
    Earlier(Cell("double-well-1", 4096), "6", "2.2", 4096),
    Earlier(Cell("double-well-1", 100), "13", "18"),
    Earlier(Cell("double-well-1", 1), "12", "145", 1),
    Earlier(Cell("vr-resgld", 100), "5", ""),
    Earlier(Cell("resgld", 100), "12", ""),
    Earlier(Cell("csgld", 100), "", "3.1"),
    Earlier(Cell("saga", 100), other="4.1 ms a step"),
    Earlier(Cell("gaussian", 1), chains=1, other="1.14 times numba"),
)


def earlier_rows(found: Mapping[str, Sequence[Measured]]) -> list[tuple[str, ...]]:
    """Each of these cells that is measured now: chains, and times over the peers', then and now."""
    rows = []
    for one in EARLIER:
        measured = found.get(one.cell.key)
        if measured is None or not measured[0].seconds:
            continue
        ratios = judge(one.cell, measured).ratios
        now = {name: f"{1 / ratio:.2g}" for name, ratio in ratios.items()}
        other = ""
        if one.other:
            told = f"{1e3 / measured[0].rate:.2g} ms a step" if "step" in one.other else ""
            other = f"{one.other}; now {told or now.get('numba loop', '-') + ' times numba'}"
        rows.append(
            (
                one.cell.name,
                f"{one.chains}; {one.cell.chains}",
                one.loop or "-",
                now.get("torch loop", "-"),
                one.blackjax or "-",
                now.get("blackjax", "-"),
                other or "-",
            )
        )
    return rows
