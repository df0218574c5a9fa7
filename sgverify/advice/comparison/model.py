"""Schemes side by side: the answer, its tables and its picture."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from sgverify.errors import filled, printable
from sgverify.evidence import Panel, Series, Table
from sgverify.evidence.published import Count, Name, Number, Published, Says, Size
from sgverify.report.forms.lines import column_lines, section_lines
from sgverify.report.forms.result import Exhibit, Result

MOST = 8
"""The most curves in one picture: more cannot be told apart by their colours."""

NEAR = 0.05
"""Two curves are nearly one where their biases differ by no more than this share."""


OF_THE_SCHEME = {
    "gradients": "gradients", "order": "order", "invariant_order": "law's order", "stability_limit": "stable",
    "leading": "W2",
}  # fmt: skip
AT_THE_COST = {
    "step": "h", "mean_bias": "mean", "sd_bias": "sd", "distance": "W2", "independent_draw": "per draw",
    "cost_for_error": "", "contraction": "contracts",
}  # fmt: skip
"""The columns of the tables: fields, with their heads."""


UNIT, DRAW = "unit of time", "independent draw"

SAMPLES = 24
"""The steps among which that of a cost per independent draw, or of the least one, is bracketed."""


@dataclass(frozen=True)
class CurvePoint:
    """The largest bias of a mean or a standard deviation of theta, in standard deviations of the target, at a step and its cost."""

    step: Annotated[Number, Says(exclusiveMinimum=0)]
    cost: Annotated[Number, Says(exclusiveMinimum=0)]
    bias: Number


@dataclass(frozen=True)
class ComparedScheme:
    """A scheme: what is known of its step, and its errors at the cost of all and for the error of all.

    `counted` says how `gradients` of a step are counted. `order` is that of one step, `invariant_order` that of the invariant law
    for every smooth potential, each with its method; `leading_error` the operator of the first error. `stability_limit` is null
    where every step is stable (`unlimited`) or none is known. `leading` is W_2 of the laws of theta as h -> 0 on this target.
    `step` is that of the common cost: there the largest bias of a mean and of a standard deviation (in those of the target), W_2,
    the gradients for an average as good as one independent draw's, and the share by which a step is certified to contract.
    `cost_for_error` is the least cost of a step up to the largest below which the bias keeps within the error. Of a null,
    `reasons` has the reason under the name of the field.
    """

    scheme: Name
    dynamics: Name
    gradients: Size | None = None
    counted: str = ""
    method: str = ""
    order: Number | None = None
    order_by: str = ""
    invariant_order: Number | None = None
    invariant_order_by: str = ""
    leading_error: str = ""
    stability_limit: Number | None = None
    unlimited: bool = False
    leading: str | None = None
    step: Number | None = None
    mean_bias: Number | None = None
    sd_bias: Number | None = None
    distance: Size | None = None
    independent_draw: Size | None = None
    contraction: Number | None = None
    step_for_error: Number | None = None
    cost_for_error: Size | None = None
    curve: tuple[CurvePoint, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The name in tables and pictures: of a reference `path/to/file.py:name` the last part."""
        return self.scheme.rpartition(":")[2]

    def text(self, key: str) -> str | float | None:
        """A cell of a table; None where there is a reason instead."""
        value = getattr(self, key)
        if key in ("order", "invariant_order") and value is not None:
            return f"{value:g} ({getattr(self, f'{key}_by')})"
        if key == "stability_limit" and self.unlimited:
            return "every h"
        if key == "contraction" and value is not None:
            return f"{100 * value:.3g} %"
        return float(f"{value:.3g}") if isinstance(value, int | float) else value


@dataclass(frozen=True, repr=False)
class SchemeComparison(Result):
    """The schemes, the cheapest for the error first, on one target and with one gradient estimator.

    `cost` is that at which errors are compared, in gradients (of single data, if the target has `data`) per `unit`. `error`: that
    of each mean and standard deviation, in standard deviations of the target. `m` and `L` are the curvatures of the class for which
    contractions are certified; null where it is that of the target.
    """

    target: Name
    dim: Count
    data: Annotated[int | None, Says("the number of data; null without")]
    gradient: Name
    temperature: Annotated[Number, Says(exclusiveMinimum=0)]
    friction: Number
    error: Annotated[Number, Says(exclusiveMinimum=0)]
    unit: Name
    cost: Number | None
    schemes: tuple[ComparedScheme, ...]
    m: Number | None = None
    L: Number | None = None

    @property
    def settings(self) -> str:
        """Target, estimator and numbers, in one line."""
        data = "" if self.data is None else f", N = {self.data}"
        return (
            f"{self.target} (d = {self.dim}{data}), {self.gradient}, T = {self.temperature:g}, friction D = "
            f"{self.friction:g} where there is one"
        )

    @property
    def conventions(self) -> str:
        """What the columns are, in one paragraph."""
        of = " of single data" if self.data is not None else ""
        potentials = "the target's curvatures" if self.m is None else f"{self.m:g} <= U'' <= {self.L:g}"
        return (
            f"Costs are gradients{of} per {self.unit}; a Hessian-vector product counts as 2, and a gradient with which the "
            "next step begins once. Orders are those of a step and of the invariant law, with full gradients; a step is stable "
            "below the limit; W2 is the distance of the laws of theta, of normal laws with the same moments, first as h -> 0. "
            "Biases are the largest of a mean (in standard deviations of the target) and of a standard deviation (relative). Per "
            "draw: the gradients for an average as good as that of one independent draw. Contracts: the share by which a step at "
            f"h brings two copies with the same draws closer, certified for every potential with {potentials}."
            + (
                f" Of its minima by step size, as {SAMPLES} steps show them, the least counts."
                * (self.unit == DRAW)
            )
        )

    @property
    def tables(self) -> tuple[Table, ...]:
        """What is known of the schemes, and their errors at the cost."""
        marks = self.marks
        cost = "" if self.cost is None else f" at {self.cost:.3g} gradients per {self.unit}"
        found = []
        for title, columns in ((f"Schemes on {self.target}", OF_THE_SCHEME), (f"Errors{cost}", AT_THE_COST)):
            kept = {
                key: head or f"cost of {100 * self.error:g} %"
                for key, head in columns.items()
                if any(
                    getattr(row, key) is not None or key in row.reasons or row.unlimited
                    for row in self.schemes
                )
            }
            rows = tuple((name, *(_cell(row, key, marks) for key in kept)) for name, row in self._named)
            found.append(Table(title, ("scheme", *kept.values()), rows))
        return tuple(found)

    @property
    def marks(self) -> dict[str, str]:
        """The reasons of empty cells, each with its mark a, b, ..."""
        told = dict.fromkeys(
            reason for row in self.schemes for key, reason in row.reasons.items() if getattr(row, key) is None
        )
        return {reason: _letters(number) for number, reason in enumerate(told)}

    @property
    def exhibit(self) -> Exhibit:
        """Tables, leading errors, remarks and curves."""
        return Exhibit(
            self.tables,
            () if self.panel is None else (self.panel,),
            [*self.leading_errors, *self.remarks],
            f"Schemes on {self.settings}",
            self.conventions,
        )

    @property
    def remarks(self) -> list[str]:
        """The reasons of empty cells, curves that are nearly one, and the count of gradients."""
        found = [f"({mark}) {reason}" for reason, mark in self.marks.items()]
        found += [f"{name}: {row.counted}" for name, row in self._named if row.counted]
        methods = dict.fromkeys(row.method for row in self.schemes if row.method)
        found += [f"laws: {', '.join(methods)}"] if methods else []
        near = [group for group in self._groups(NEAR) if len(group) > 1]
        return found + [f"nearly one curve: {', '.join(self.name(row) for row in group)}" for group in near]

    @property
    def leading_errors(self) -> list[str]:
        """The leading error of each scheme that has one."""
        return [f"{name}: {row.leading_error}" for name, row in self._named if row.leading_error]

    def name(self, row: ComparedScheme) -> str:
        """The label of a scheme, or its reference where two have one label."""
        return row.scheme if sum(other.label == row.label for other in self.schemes) > 1 else row.label

    @property
    def _named(self) -> list[tuple[str, ComparedScheme]]:
        return [(self.name(row), row) for row in self.schemes]

    @property
    def panel(self) -> Panel | None:
        """The bias against the cost, at most `MOST` curves; equal ones are one. None where there is no curve."""
        drawn = [group for group in self._groups(1e-9) if group[0].curve]
        drawn = sorted(drawn, key=lambda group: _size(group[0]))[:MOST]
        of = " of single data" if self.data is not None else ""
        if not drawn:
            return None
        return Panel(
            f"Bias against its cost on {self.target}, {self.gradient}",
            f"gradients{of} per {self.unit}",
            "bias of mean or sd of theta (dashed: below 0)",
            tuple(_series(" = ".join(map(self.name, group)), group[0]) for group in drawn),
        )

    def _groups(self, share: float) -> list[list[ComparedScheme]]:
        """The schemes by their curves: those whose biases at the same costs differ by no more than a share go together."""
        found: list[list[ComparedScheme]] = []
        for row in self.schemes:
            group = next((g for g in found if _alike(g[0], row, share)), None)
            if group is None:
                found.append([row])
            else:
                group.append(row)
        return found

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {"schema": COMPARISON.name, **asdict(self)}

    def __str__(self) -> str:
        lines = [filled(self.settings)]
        for table in self.tables:
            lines += ["", table.title, *map(printable, column_lines((table.columns, *table.rows)))]
        sections = (("leading error", self.leading_errors), ("notes", [*self.remarks, self.conventions]))
        return "\n".join([*lines, *section_lines(sections)])

    def records(self) -> list[dict[str, Any]]:
        """One row a scheme, a column a field; the points of curves are left out."""
        return [{k: v for k, v in asdict(row).items() if k != "curve"} for row in self.schemes]


COMPARISON = Published(
    "sgverify/comparison/1",
    SchemeComparison,
    "a comparison",
    "Write it again with `sgverify compare SCHEME ... --json FILE`.",
)


def _cell(row: ComparedScheme, key: str, marks: dict[str, str]) -> str | float | None:
    value = row.text(key)
    return f"- ({marks[row.reasons[key]]})" if value is None and key in row.reasons else value


def _letters(number: int) -> str:
    return chr(ord("a") + number) if number < 26 else _letters(number // 26 - 1) + _letters(number % 26)


def _alike(one: ComparedScheme, other: ComparedScheme, share: float) -> bool:
    pairs = ((one.mean_bias, other.mean_bias), (one.sd_bias, other.sd_bias))
    return all(a is not None and b is not None and math.isclose(a, b, rel_tol=share) for a, b in pairs)


def _size(row: ComparedScheme) -> float:
    return math.inf if row.cost_for_error is None else row.cost_for_error


def _series(label: str, row: ComparedScheme) -> Series:
    ordered = sorted(row.curve, key=lambda point: point.cost)
    return Series(
        label, "exact", tuple(p.cost for p in ordered), tuple(p.bias for p in ordered),
        note="" if row.method == "exact" else row.method,
    )  # fmt: skip
