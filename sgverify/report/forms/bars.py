"""Amounts under their names, drawn as bars."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sgverify.report.picture import Picture

WIDE = 100
"""The ratio of two amounts from which their bars have a logarithmic axis."""

LETTERS = 30
"""Those of a line of a name."""


@dataclass(frozen=True)
class Bars:
    """Amounts under their names, from the first at the top, on an axis with a `label`; a line marks the `due` amount."""

    title: str
    label: str
    amounts: tuple[tuple[str, float], ...]
    due: float | None = None

    def drawn(self) -> Picture:
        """Bars to the right, their numbers beside them; where one amount is over a hundred times another, logarithmic."""
        import matplotlib

        from sgverify.report.colours import COLOURS, INK, STYLE
        from sgverify.report.drawing import WIDTH, as_label
        from sgverify.report.formulas import in_a_line
        from sgverify.report.picture import Picture

        names, values = zip(*self.amounts, strict=True)
        said = "; ".join(f"{name}: {value:.3g}" for name, value in self.amounts)
        with matplotlib.rc_context(STYLE):
            size = (WIDTH, 0.9 + 0.36 * len(names))
            drawing = Picture(size, self.title, f"{self.label}. {said}.", layout="constrained")
            axes = drawing.add_subplot()
            shown = axes.barh(range(len(names)), values, 0.6, color=COLOURS[0])
            axes.bar_label(shown, [f"{value:.3g}" for value in values], padding=3, fontsize=8.5)
            axes.set_yticks(range(len(names)), [as_label(fill(in_a_line(name), LETTERS)) for name in names])
            axes.invert_yaxis()
            axes.margins(x=0.12)
            if min(values) > 0 and max(values) > WIDE * min(values):
                axes.set_xscale("log")
            if self.due is not None:
                axes.axvline(self.due, color=INK, linewidth=1.2, linestyle=(0, (5, 3)), zorder=3)
            axes.set(xlabel=as_label(in_a_line(self.label)), axisbelow=True)
            axes.set_title(as_label(in_a_line(self.title)), fontsize=9)
            axes.grid(True, axis="x")
        return drawing
