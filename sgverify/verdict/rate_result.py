"""The object that `rate` returns: the evidence on one rate, in the forms of a result."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from sgverify.evidence import Evidence, Panel, Series, Table
from sgverify.report.drawing import VALUES
from sgverify.report.forms.result import Exhibit, Result
from sgverify.report.matrix import settings_in_common
from sgverify.report.rate_plot import draw_rate, has_rate
from sgverify.report.text import summarise
from sgverify.report.wording import fitted_text, found_text, gradient_text, predicted_text, variable

if TYPE_CHECKING:
    from sgverify.report.picture import Picture


class RateResult(Evidence, Result):
    """The evidence on one rate, with its forms; it equals the evidence."""

    @staticmethod
    def of(evidence: Evidence) -> RateResult:
        """The evidence, with its forms."""
        return RateResult(
            **{item.name: getattr(evidence, item.name) for item in fields(evidence) if item.init}
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Evidence) and all(
            getattr(self, item.name) == getattr(other, item.name) for item in fields(self)
        )

    __hash__, __repr__ = Evidence.__hash__, Result.__repr__

    def __str__(self) -> str:
        return "\n".join(filter(None, (summarise(self), fitted_text(self))))

    @property
    def exhibit(self) -> Exhibit:
        """The points, as a table and a curve."""
        x = "length" if variable(self) == "L" else "step"
        named = {"length": "length L", "step": "step h"}[x]
        label = f"{self.scheme}, {gradient_text(self.configuration)}"
        settings = "; ".join([label, *settings_in_common([self])])
        points = [point for point in self.points if getattr(point, x) is not None]
        rows = tuple((getattr(p, x), p.value, p.standard_error, p.error_bound) for p in points)
        if not rows:
            return Exhibit(settings=f"{settings}: {self.check}", notes=(self.reason,))
        value = VALUES.get(self.check, f"bias of {self.configuration.get('test_function', 'theta**2')}")
        sampled = any(point.standard_error for point in points)
        places, values, errors, _ = zip(*rows, strict=True)
        error = tuple(e or 0.0 for e in errors) if sampled else ()
        shown = f"|{value}| (dashed: below 0)" if min(y or 0.0 for y in values) < 0 else value
        curve = Series(label, "sampled" if sampled else "exact", places, values, error)
        return Exhibit(
            (
                Table(
                    f"{value[:1].upper()}{value[1:]}", (named, value, "standard error", "error bound"), rows
                ),
            ),
            (Panel(f"{value} against the {named}", named, shown, (curve,)),),
            [self.reason, *filter(None, [fitted_text(self)])],
            f"{settings}: {self.check}, found {found_text(self)}, predicted {predicted_text(self)}",
        )

    @property
    def drawable(self) -> bool:
        """Has it points of a power?"""
        return has_rate(self)

    def picture(self) -> Picture:
        """The points with the slopes found and predicted; raises `UserError` where there are none."""
        return draw_rate(self) if has_rate(self) else super().picture()
