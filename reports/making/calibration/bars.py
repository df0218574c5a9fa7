"""The promises about the decision procedures, and whether counted verdicts keep them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reports.making.calibration.document import Bar, Counted, Outcome, Tally
from reports.making.calibration.grid import BARRED, NOISES, production_level

CONFIDENCE = 0.95
LOW_NOISE, HIGH_NOISE = BARRED

FALSE = 0.01
"""At most so many false verdicts."""

POWER = 0.85
"""At least so many of a correct method conform at the lower noise."""

COVERAGE = (0.93, 0.97)

Counter = Callable[[Tally], int | None]


@dataclass(frozen=True)
class Promise:
    """A promise: the event counted in each cell, None where it does not apply, and the limits of its rate.

    `among` is what it is counted among: all replications, where nothing else is said.
    """

    statement: str
    counted: Counter
    low: float | None = None
    high: float | None = None
    tables: tuple[str, ...] = ("order-",)
    among: Callable[[Tally], int] = lambda cell: cell.replications

    def of(self, tables: Sequence[Counted]) -> Bar | None:
        """The bar, judged by all cells to which it applies; None if it applies to none."""
        found = [
            (cell, count)
            for table in tables
            if table.name.startswith(self.tables)
            for cell in table.cells
            if (count := self.counted(cell)) is not None
        ]
        if not found:
            return None
        worst, count = max(found, key=lambda item: self._excess(item[1] / self.among(item[0])))
        return Bar(
            self.statement,
            self.low,
            self.high,
            len(found),
            worst.label,
            count,
            self.among(worst),
            rate_between(count, self.among(worst), CONFIDENCE),
            self._outcome(found),
        )

    def _excess(self, rate: float) -> float:
        beyond = [rate - self.high] if self.high is not None else []
        return max([*beyond, self.low - rate] if self.low is not None else beyond)

    def _outcome(self, found: Sequence[tuple[Tally, int]]) -> Outcome:
        """`met` if every cell's own interval lies inside; `missed` if one lies outside at a level for all of them.

        "Inside everywhere" needs no correction for the number of cells (an intersection-union test: each of them has to
        pass); "outside somewhere" needs Bonferroni's.
        """
        low = 0.0 if self.low is None else self.low
        high = 1.0 if self.high is None else self.high
        own = [rate_between(count, self.among(cell), CONFIDENCE) for cell, count in found]
        if all(low <= bottom and top <= high for bottom, top in own):
            return "met"
        shared = 1 - (1 - CONFIDENCE) / len(found)
        all_of_them = [rate_between(count, self.among(cell), shared) for cell, count in found]
        return "missed" if any(top < low or bottom > high for bottom, top in all_of_them) else "undecided"


def bars_of(tables: Sequence[Counted]) -> tuple[Bar, ...]:
    """The promises that the tables speak of, judged."""
    return tuple(bar for promise in _promises(tables) if (bar := promise.of(tables)) is not None)


def rate_between(count: int, replications: int, confidence: float) -> tuple[float, float]:
    """The interval of Clopper and Pearson for the rate behind a count."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(count, replications, alpha=1 - confidence, method="beta")
    return float(low), float(high)


def _promises(tables: Sequence[Counted]) -> list[Promise]:
    claim = tables[0].cells[0].claim if tables and tables[0].cells else ""

    def at(noises: Sequence[float], counted: Counter) -> Counter:
        return lambda cell: counted(cell) if cell.noise in noises else None

    def false_conforms(cell: Tally) -> int | None:
        return cell.conforms if cell.truth == "breaks" else None

    def false_violates(cell: Tally) -> int | None:
        return cell.violates if cell.truth == "keeps" else None

    def by_a_logarithm(cell: Tally) -> bool:
        power = cell.claim.removeprefix("order ")
        return cell.name == ("h log h" if power == "1" else f"h^{power} log h")

    def right(cell: Tally) -> int | None:
        return cell.conforms if cell.name == claim == cell.claim and cell.noise == LOW_NOISE else None

    def mostly(cell: Tally) -> bool:
        # If few samples have points above the noise, these samples are not typical.
        return cell.intervals >= cell.replications / 2

    def covered(cell: Tally) -> int | None:
        return cell.covered if cell.looks == 1 and mostly(cell) else None

    def covered_at_last(cell: Tally) -> int | None:
        return cell.covered if cell.looks > 1 and mostly(cell) else None

    def from_noise(cell: Tally) -> int | None:
        return cell.fitted if cell.name == "zero" and cell.habit is not None else None

    def wrong(where: str, table: str) -> Promise:
        return Promise(f"false verdicts {where}", lambda cell: cell.wrong, high=FALSE, tables=(table,))

    others = [noise for noise in NOISES if noise not in BARRED]
    low, high = f"noise {LOW_NOISE:.1%}", f"noise {HIGH_NOISE:.0%}"
    return [
        Promise(f"false conforms at {low}", at([LOW_NOISE], false_conforms), high=FALSE),
        Promise(f"false violates at {low}", at([LOW_NOISE], false_violates), high=FALSE),
        Promise(f"{claim} conforms at {low}", right, low=POWER),
        Promise(f"false verdicts at {high}", at([HIGH_NOISE], lambda cell: cell.wrong), high=FALSE),
        Promise(
            f"the interval of the exponent covers it at {low} and {HIGH_NOISE:.0%}",
            at(BARRED, covered),
            *COVERAGE,
            tables=(tables[0].name.rpartition("-")[0] if tables else "",),
            among=lambda cell: cell.intervals,
        ),
        Promise(
            f"the interval of the exponent covers it after the last of several looks, at {low} and {HIGH_NOISE:.0%}",
            at(BARRED, covered_at_last),
            *COVERAGE,
            among=lambda cell: cell.intervals,
        ),
        Promise("exponents where there is nothing but noise", from_noise, high=FALSE),
        Promise("false verdicts at the other noise levels", at(others, lambda cell: cell.wrong), high=FALSE),
        wrong("where a term that no fit holds hides nothing or a half", "masked-nothing"),
        wrong("where a term that no fit holds hides a fifth", "masked-a-fifth"),
        wrong("on chains that are not Gaussian or errors that grow", "robustness"),
        wrong("on rates in the length", "lengths"),
        wrong("at other step ratios", "step-ratios"),
        Promise(
            "false verdicts on rates between the powers of the fits",
            lambda cell: None if by_a_logarithm(cell) else cell.wrong,
            high=FALSE,
            tables=("other-rates",),
        ),
        Promise(
            "false conforms where a logarithm alone is slower than the claim",
            lambda cell: cell.wrong if by_a_logarithm(cell) else None,
            high=FALSE,
            tables=("other-rates",),
        ),
        Promise(
            "false violates at the level of a call without settings",
            false_violates,
            high=production_level(),
            tables=("production",),
        ),
        wrong("of point nulls", "point-nulls"),
        wrong("of screen and confirm", "screening"),
    ]
