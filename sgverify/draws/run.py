"""The draws of one run: ArviZ InferenceData in the forms of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgverify.advice.widths import StepBias
from sgverify.draws.inference_data import arviz
from sgverify.draws.picture import draw_run
from sgverify.draws.step_choice import fits
from sgverify.draws.summary import summarise_draws, table_of
from sgverify.evidence import Table
from sgverify.report.forms.result import Exhibit, Result

if TYPE_CHECKING:
    from sgverify.report.picture import Picture


class RunDraws(arviz().InferenceData, Result):  # type: ignore[misc]
    """InferenceData of a run, with its summary, verdict and picture; `bias` is what was predicted of the widths.

    `to_dataframe` is ArviZ's: the draws.
    """

    def __init__(self, draws: Any, bias: StepBias | None) -> None:
        super().__init__(attrs=draws.attrs, **{name: draws[name] for name in draws.groups()})
        self.bias = bias

    def __str__(self) -> str:
        size = sum(value.nbytes for value in self.posterior.data_vars.values())
        told = (summarise_draws(self, table=fits(size)), self.attrs.get("verdict", ""))
        return "\n".join(filter(None, told))

    __repr__ = __str__

    @property
    def exhibit(self) -> Exhibit:
        """The table of the summary, and the verdict."""
        rows = [(name, *row.values()) for name, row in table_of(self).items()]
        heads = next(iter(table_of(self).values()), {})
        tables = (Table("Draws", ("coordinate", *heads), tuple(rows)),) if rows else ()
        settings = f"{self.attrs['scheme']} on {self.attrs['target']}: {self.attrs['command']}"
        return Exhibit(tables, notes=tuple(filter(None, [self.attrs.get("verdict")])), settings=settings)

    @property
    def drawable(self) -> bool:
        """Are there draws?"""
        return bool(self.posterior.sizes["draw"])

    def picture(self) -> Picture:
        """Traces, marginals beside the Gaussian of the target, and widths as predicted and found."""
        return draw_run(self, self.bias)

    def _repr_html_(self) -> str:
        groups = super()._repr_html_()
        return f"{Result._repr_html_(self)}<details><summary>InferenceData</summary>{groups}</details>"
