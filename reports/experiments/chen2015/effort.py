"""The share of a study that is computed at each effort of a report."""

from __future__ import annotations

from dataclasses import dataclass

from reports.experiments.chen2015 import settings
from reports.experiments.chen2015.experiment import DataDraws, draws_of


@dataclass(frozen=True)
class Effort:
    """Points of an exact curve per decade of L, sampled chains and their longest run, every n-th grid value; draws of the data.

    `per_decade` of an effort that samples is a multiple of 3. `sampled`: the gradient estimators whose points are sampled
    in the comparisons with tuned constants. Statements are judged over `drawn` draws of the data.
    """

    per_decade: int
    runs: int
    longest: int
    thinning: int
    sampled: tuple[str, ...] = ()
    drawn: int = 1

    @property
    def draws(self) -> DataDraws:
        """The draws of the data over which statements are judged."""
        return draws_of(self.drawn)

    @property
    def lengths(self) -> tuple[int, ...]:
        """L from `SHORTEST` to `LONGEST`, evenly in log L."""
        decades = len(str(settings.LONGEST // settings.SHORTEST)) - 1
        count = decades * self.per_decade
        return tuple(round(settings.SHORTEST * 10 ** (k / self.per_decade)) for k in range(count + 1))

    @property
    def sampled_lengths(self) -> tuple[int, ...]:
        """The lengths at which chains are averaged, two thirds of a decade apart; none where nothing is sampled."""
        if not self.runs:
            return ()
        return tuple(length for length in self.lengths[:: 2 * self.per_decade // 3] if length <= self.longest)


EFFORTS = {
    "quick": Effort(per_decade=2, runs=0, longest=0, thinning=10),
    "default": Effort(
        per_decade=3,
        runs=settings.RUNS,
        longest=250,
        thinning=1,
        sampled=("iid",),
        drawn=24,
    ),
    "full": Effort(
        per_decade=6, runs=5 * settings.RUNS, longest=1000, thinning=1, sampled=("iid", "full"), drawn=24
    ),
}


def thinned_note(effort: Effort) -> tuple[str, ...]:
    """What must be said of a search on a part of the printed grid."""
    if effort.thinning == 1:
        return ()
    return (f"A quick report searches every {effort.thinning}th value of the printed grids.",)


def draws_note(effort: Effort) -> tuple[str, ...]:
    """Over which data the statements are judged."""
    means = effort.draws.means
    if effort.drawn == 1:
        return (
            "The data are not printed. A quick report judges statements on one draw of them, of posterior mean "
            f"m = {means[0]:.3g}.",
        )
    return (
        f"The data are not printed. Statements are judged over {effort.drawn} draws of them (data_seed 0 to "
        f"{effort.drawn - 1}), whose posterior means m lie between {means.min():.3g} and {means.max():.3g}; curves, and the "
        f"column of what is found, are those of data_seed 0, m = {means[0]:.3g}.",
    )
