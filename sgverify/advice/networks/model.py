"""The answer of `advise` for a network: a mode, its curvature, a table of steps and batches, and a step; in numbers and words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from sgverify.errors import command_lines, filled
from sgverify.evidence import Panel, Series, Table
from sgverify.evidence.published import Count, Name, Number, Says, Size
from sgverify.report.forms.lines import column_lines, item_lines, section_lines

FAR = (-2.0, -1.0, 1.0, 2.0)
"""The places along the stiffest direction, in standard deviations at the mode, at which U is held against its square."""

BURN_IN = 1000
"""The steps in which a suggested localisation is forgotten: what an estimate of some thousand steps can drop."""


@dataclass(frozen=True)
class Direction:
    """A direction of theta: its curvature, and of the gradients of single data along it the variances.

    `noise` and `growth` are the variances over the data, of N times a gradient and of N times its derivative, along the direction.
    """

    name: str
    curvature: Number
    noise: Size
    growth: Size


@dataclass(frozen=True)
class StepRow:
    """A step of the advised scheme with one batch, null with all data; where it is unstable there are no other numbers.

    `temperature` is that at which full gradients make the stiffest direction as wide, `stiffest` and `typical` are standard
    deviations over those of exp(-U/T). `forgetting` are the steps in which a direction as flat as the prior forgets by a factor of
    e, and `seconds` those that they take here.
    """

    step: Annotated[Number, Says(exclusiveMinimum=0)]
    batch: int | None
    stable: bool
    temperature: Size | None = None
    stiffest: Size | None = None
    typical: Size | None = None
    forgetting: Size | None = None
    seconds: Size | None = None


@dataclass(frozen=True)
class SchemeStep:
    """The largest step of a scheme that keeps the widths, with its batch, null with all data, and its friction."""

    scheme: Name
    gradient: Name
    batch: int | None
    friction: Annotated[Number | None, Says("null without a momentum")]
    step: Annotated[Number, Says(exclusiveMinimum=0)]
    forgetting: Size

    @property
    def label(self) -> str:
        """Scheme, gradient and friction, in words."""
        batch = "" if self.batch is None else f" in batches of {self.batch}"
        friction = "" if self.friction is None else f", friction {self.friction:.2g}"
        return f"{self.scheme} with {self.gradient} gradients{batch}{friction}"


@dataclass(frozen=True)
class LocalisedStep:
    """The learning rate lr = 2 h of SGLD at one localisation: its limit, and the largest that keeps the stiffest direction's width.

    `forgetting` are the steps in which directions that no datum bends forget by a factor of e; `coefficient` is what the estimate
    would be if the losses were quadratic, by which a localisation is seen to pull.
    """

    gamma: Size
    limit: Size
    rate: Size
    forgetting: Size
    coefficient: Size


@dataclass(frozen=True)
class NetworkAdvice:
    """The step and the batch for a network, from the Hessian of U and the noise of single data at a mode.

    `mode` is its search (`sgverify.samplers.own.module_mode`). `eigenvalues` are the largest, `smallest` the least value found,
    `mean` the average and `flat` the number below twice the prior's, with standard errors. `directions` are the stiffest and a
    random one at the mode, `judged` those for which table and step are: the worst where `tried` first steps had led; `limits` are
    the stability limits with all data at both. `factors` are the standard deviations of these directions over those of exp(-U/T).
    `bending`: U' along the stiffest direction, over that of a square, at `FAR`. `localised` are steps for a learning coefficient.
    """

    mode: Mapping[str, Number | bool]
    eigenvalues: tuple[Number, ...]
    smallest: Number
    mean: tuple[Number, Number]
    flat: tuple[Number, Number]
    directions: tuple[Direction, Direction]
    judged: tuple[Direction, Direction]
    limits: tuple[Size, Size]
    rows: tuple[StepRow, ...]
    best: SchemeStep
    factors: tuple[Size, ...]
    others: tuple[SchemeStep, ...]
    tried: Count
    bending: tuple[Number, ...]
    command: Annotated[str, Says("the command line; empty for a target made in Python")]
    localised: tuple[LocalisedStep, ...]
    caveats: tuple[str, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        """Steps and batches of the advised scheme, and those for a local learning coefficient."""
        head = ("h", "batch", "stable", "temperature", "stiffest", "typical", "forget", "seconds")
        found = Table(f"{self.best.scheme}, its steps and batches", head, tuple(map(_cells, self.rows)))
        cells = tuple(
            (f"{r.gamma:g}", f"{r.limit:.3g}", f"{r.rate:.2g}", _count(r.forgetting), f"{r.coefficient:.3g}")
            for r in self.localised
        )
        columns = ("gamma", "limit of lr", "lr", "forget", "of a quadratic")
        return (found, Table("for a local learning coefficient", columns, cells)) if cells else (found,)

    @property
    def panels(self) -> tuple[Panel, ...]:
        """The standard deviation of the stiffest direction over that of exp(-U/T), by step and batch."""
        curves = []
        for batch in dict.fromkeys(row.batch for row in self.rows):
            rows = [row for row in reversed(self.rows) if row.batch == batch]
            at = [(row.step, row.stiffest) for row in rows if row.stiffest is not None]
            label = "all data" if batch is None else f"batches of {batch}"
            steps, widths = zip(*at, strict=True) if at else ((), ())
            curves.append(Series(label, "exact", steps, widths))
        return (Panel("Width against the step", "step h", "sd of the stiffest direction", tuple(curves)),)

    def sentence(self, target: str) -> str:
        """The advice in one sentence."""
        there = (
            "" if self.judged == self.directions else f", from {self.limits[1]:.3g} on where first steps led"
        )
        return (
            f"for {target}: run {self.best.label} and the step h = {self.best.step:.2g}, from the mode: the stiffest direction is "
            f"{self.factors[0]:.3g} times as wide as exp(-U/T), a typical one {self.factors[1]:.3g} times; with all data unstable "
            f"from h = {self.limits[0]:.3g} on at the mode{there}"
        )

    def text(self, target: str, dim: int, size: int) -> str:
        """The whole answer."""
        told = "  the target was made in Python: give these settings and target.at_mode() to sgverify.sample"
        table, *_ = self.tables
        whose = "as flat as the prior" if self.mode["prior"] > 0 else "of the mean curvature"
        keys = f"forget: steps until a direction {whose} has forgotten; seconds: of 4 chains here"
        others = [
            f"{o.label}: h = {o.step:.2g}, forgets in {_count(o.forgetting)} steps" for o in self.others
        ]
        lines = [filled(self.sentence(target)), command_lines(self.command) if self.command else told, ""]
        lines += item_lines(self._measured(dim, size))
        lines += ["", f"{table.title}:", *column_lines((table.columns, *table.rows), left=0)]
        lines += item_lines([keys])
        lines += section_lines((("other schemes", others), ("caveats", self.caveats)))
        return "\n".join([*lines, *self._of_localised(size)])

    def _measured(self, dim: int, size: int) -> Iterator[str]:
        mode, (mean, error), (flat, of_flat) = self.mode, self.mean, self.flat
        yield (
            f"mode: U fell from {mode['started']:.5g} to {mode['energy']:.5g} by Adam and {mode['evaluations']:,} gradients of "
            f"L-BFGS; |grad U| = {mode['gradient_norm']:.2g} is left"
        )
        leading = ", ".join(f"{value:.4g}" for value in self.eigenvalues)
        yield (
            f"Hessian: the largest eigenvalues are {leading}; the mean of all {dim:,} is {mean:.3g} +- {error:.2g}, the prior's "
            f"{mode['prior']:.3g}; about {flat:.0f} +- {of_flat:.0f} directions are flatter than twice the prior"
        )
        stiff, typical = (each.noise / each.curvature for each in self.directions)
        yield (
            f"noise of a batch of n of {size:,} data, its variance over the Hessian: {stiff:.3g}/n along the stiffest direction, "
            f"{typical:.3g}/n along a typical one; its trace is {dim * self.directions[1].noise:.3g}/n"
        )

    def _of_localised(self, size: int) -> Iterator[str]:
        if not self.localised:
            return
        batch = "all data" if self.best.batch is None else f"batches of {self.best.batch}"
        yield f"\nfor a local learning coefficient (SGLD at beta = 1/log {size:,}, localised by gamma, {batch}):"
        table = self.tables[-1]
        yield from column_lines((table.columns, *table.rows), left=0)
        chosen = next((row for row in self.localised if row.forgetting <= BURN_IN), self.localised[-1])
        told = (
            "lr = 2 h, with the limit 4/(beta lambda + gamma) for the largest eigenvalue lambda of the sum of the losses; gamma = "
            f"{chosen.gamma:g} with lr = {chosen.rate:.2g} forgets in {_count(chosen.forgetting)} steps; the last column is the "
            "coefficient if the losses were quadratic: what a stronger gamma takes off it"
        )
        yield from item_lines([told])


def _cells(row: StepRow) -> tuple[str, ...]:
    start = (f"{row.step:.2g}", "all" if row.batch is None else f"{row.batch}")
    if row.forgetting is None or row.seconds is None:
        return (*start, "no", *["-"] * 5)
    widths = (f"{value:.3g}" for value in (row.temperature, row.stiffest, row.typical))
    return (*start, "yes", *widths, _count(row.forgetting), _count(row.seconds))


def _count(number: float) -> str:
    """A number of steps or seconds, to two figures."""
    rounded = float(f"{number:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"
