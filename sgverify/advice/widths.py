"""The answer of `width`: means and standard deviations of draws at a step size, beside those under exp(-U/T), "
"in numbers and words.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from sgverify.advice.size.model import below
from sgverify.errors import printable
from sgverify.evidence import Table
from sgverify.evidence.published import Name, Number, Published, Says, Size
from sgverify.report.forms.bars import Bars
from sgverify.report.forms.result import Exhibit, Result

SMALL, SHIFTED = 0.05, 0.1
"""The relative bias of a standard deviation, and the bias of a mean in standard deviations, from which a step is warned of; the
step that is named keeps below both. Such a bias of an average is as large as the Monte Carlo error of 200 and of 100 independent
draws."""

NEAR = 0.9
"""The share of the stability limit from which a step is near it."""

DRAWN = 24
"""The most coordinates in one picture."""

TOLERANCE = 1e-2
"""The relative accuracy of the named step, and of the limit."""


@dataclass(frozen=True, repr=False)
class StepBias(Result):
    """Mean and standard deviation of draws in each coordinate at a step size, beside those under exp(-U/T).

    `sd` are the standard deviations under exp(-U/T), `factors` those of the draws over them, `shifts` the biases of the means in
    those of the target. `unstable` says why the chain has no law at this step: there are no `factors` then. `better` is, where an
    error is too large, a step at which none is. `distrust` is the reason why all of it is unreliable, if it comes from an
    approximation that fails; `foreign`: on this target, whatever the step. `mean`: the means under
    exp(-U/T), `names`: the labels of the coordinates.
    """

    scheme: Name
    target: Name
    gradient: Name
    step: Number
    how: Name
    sd: tuple[Number, ...] = ()
    factors: tuple[Number, ...] = ()
    shifts: tuple[Number, ...] = ()
    limit: Annotated[
        Number | None, Says("the largest step at which the chain has a law; null where not known")
    ] = None
    forgetting: Annotated[
        Size | None, Says("the steps in which the slowest direction forgets by a factor of e")
    ] = None
    better: Annotated[Number | None, Says("null for none")] = None
    unstable: str | None = None
    distrust: str | None = None
    foreign: bool = False
    mean: Annotated[tuple[Number, ...], Says("the means under exp(-U/T)", optional=True)] = ()
    names: Annotated[tuple[str, ...], Says("the labels of the coordinates", optional=True)] = ()

    def _label(self, place: int) -> str:
        return self.names[place] if self.names else f"theta[{place}]"

    @property
    def coordinate(self) -> int:
        """The coordinate of the largest relative error of a standard deviation."""
        return max(range(len(self.factors)), key=lambda i: abs(math.log(self.factors[i])), default=0)

    @property
    def true(self) -> float:
        """The standard deviation of that coordinate under exp(-U/T)."""
        return self.sd[self.coordinate]

    @property
    def found(self) -> float:
        """The standard deviation of that coordinate in the draws; infinite where the chain has no law."""
        return self.factors[self.coordinate] * self.true if self.factors else math.inf

    @property
    def share(self) -> float:
        """The relative bias of the standard deviation: 0.1 for ten per cent too wide."""
        return self.factors[self.coordinate] - 1 if self.factors else math.inf

    @property
    def shift(self) -> tuple[float, int]:
        """The largest bias of a mean, in standard deviations of the target, and its coordinate."""
        place = max(range(len(self.shifts)), key=lambda i: abs(self.shifts[i]), default=0)
        return (self.shifts[place] if self.shifts else 0.0), place

    @property
    def beyond(self) -> bool:
        """Is the step beyond the stability limit, as far as it is known?"""
        return self.unstable is not None or (self.limit is not None and self.step >= self.limit)

    @property
    def matters(self) -> bool:
        """Is the step unstable, or a bias large enough for a warning?"""
        wide = abs(math.log1p(self.share)) > math.log1p(SMALL) * (1 + TOLERANCE)
        return self.distrust is None and (self.beyond or wide or abs(self.shift[0]) > SHIFTED)

    @property
    def near(self) -> bool:
        """Is the step near the stability limit, or beyond it?"""
        return self.limit is not None and self.step >= NEAR * self.limit

    @property
    def note(self) -> str | None:
        """One line if the spread is unknown because the approximation fails, or the stability limit is near; else None."""
        if self.distrust is None:
            if self.limit is None or self.matters or not self.near:
                return None
            return (
                f"note: schedule.step={self.step:g} is near the stability limit, {self.limit:.3g}: a chain that comes where U is "
                f"steeper escapes; schedule.step={below(self.limit / 2):g} is half of it"
            )
        guess = f" (it says {1 + self.share:.2g} times as wide)" if self.factors else ""
        mend = (
            f"compare runs at schedule.step={self.step:g} and {self.step / 4:g}"
            if self.better is None
            else f"it can be at schedule.step={self.better:g}, which keeps the spread within {SMALL:.0%}"
        )
        return (
            f"note: how wide schedule.step={self.step:g} makes the draws is not told: a Gaussian approximation{guess} is not to be "
            f"trusted here, {self.distrust}; {mend}"
        )

    def warning(self, *, default: bool, alone: bool = False) -> str:
        """The warning, in one line: the size of the bias, and a step size that keeps it small."""
        given = " (the default, half the stability limit or a share of the time scale)" if default else ""
        how = f"{self.how}{', without swaps' if alone else ''}"
        return f"warning: schedule.step={self.step:g}{given} {self.fault} ({how}); {self.mend}"

    @property
    def fault(self) -> str:
        """The largest error of the draws at this step, in words."""
        shift, place = self.shift
        if self.beyond:
            limit = (
                "where the chain has a law"
                if self.limit is None
                else f"the stability limit, {self.limit:.3g}"
            )
            return (
                f"is beyond {limit}: {self.unstable or 'chains escape'}, and draws say nothing of exp(-U/T)"
            )
        if abs(shift) / SHIFTED > abs(math.log1p(self.share)) / math.log1p(SMALL):
            return f"shifts the mean of {self._label(place)} by {shift:.2g} of its standard deviations"
        return (
            f"makes draws {1 + self.share:.3g} times as wide as the target: {self._label(self.coordinate)} has the sd "
            f"{self.found:.3g}, and exp(-U/T) has {self.true:.3g}"
        )

    @property
    def mend(self) -> str:
        """The step that keeps the errors small, in words."""
        if self.better is None:
            return "a smaller schedule.step or a larger gradient.batch makes it smaller"
        means = "" if abs(self.shift[0]) <= SHIFTED else f", and means within {SHIFTED:g} sd"
        return f"schedule.step={self.better:g} keeps it within {SMALL:.0%}{means}"

    @property
    def exhibit(self) -> Exhibit:
        """Each coordinate's widths; bars of those that are farthest off."""
        notes = [] if self.limit is None else [f"stability limit: h = {self.limit:.3g}"]
        if self.forgetting is not None:
            notes.append(f"the slowest direction forgets its start in {max(1.0, self.forgetting):.3g} steps")
        told = f"schedule.step={self.step:g} {self.fault}; {self.mend}" if self.matters else self.note
        notes += [told] if told else []
        settings = f"{self.scheme} on {self.target}, {self.gradient}, h = {self.step:g} ({self.how})"
        if not self._rows:
            return Exhibit(notes=notes, settings=settings)
        columns = ("coordinate", "sd under exp(-U/T)", "sd of draws over it", "bias of the mean, in sd")
        farthest = sorted(self._rows, key=lambda row: -abs(math.log(row[2])))[:DRAWN]
        amounts = tuple((name, factor) for name, _, factor, _ in sorted(farthest, key=self._rows.index))
        bars = Bars(settings, "sd of draws / sd under exp(-U/T)", amounts, due=1.0)
        return Exhibit((Table("Widths of draws", columns, self._rows),), (), notes, settings, bars=bars)

    @property
    def _rows(self) -> tuple[tuple[str, float, float, float], ...]:
        if not self.factors or self.distrust is not None:
            return ()
        names = map(self._label, range(len(self.sd)))
        return tuple(zip(names, self.sd, self.factors, self.shifts, strict=True))

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {"schema": WIDTHS.name, **asdict(self)}

    def __str__(self) -> str:
        rows = [f"{name}: sd x {factor:.4g}, mean {shift:+.2g} sd" for name, _, factor, shift in self._rows]
        shown = self.exhibit
        return "\n".join(map(printable, (shown.settings, *(f"  {line}" for line in (*rows, *shown.notes)))))


WIDTHS = Published(
    "sgverify/width/1",
    StepBias,
    "widths of draws",
    "Write it again with `sgverify width TARGET SCHEME --step H --json FILE`.",
)
