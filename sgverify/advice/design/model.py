"""The answer of `design`: words, ranked by their leading error, with what is proved of each; its JSON, and its text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from sgverify.errors import printable
from sgverify.evidence import Table
from sgverify.evidence.published import Count, Name, Published, Says, Size
from sgverify.report.forms.bars import Bars
from sgverify.report.forms.lines import column_lines, section_lines
from sgverify.report.forms.result import Exhibit, Result

_HEAD = ("word", "gradients", "step", "law", "error", "Gaussians", "beside", "shares")


@dataclass(frozen=True)
class DesignedWord:
    """A word with its shares, its orders as proved, and its leading error.

    `gradients` are those that a step of a long run evaluates: one that the next step needs at the same place counts once. With h
    the step, k the precision of a Gaussian and r the order that was asked for, the variance of theta is off by `gaussian` (sqrt(k)
    h)^r of itself, in the mean square over the frictions of the class; `near` is the same mean of what a third derivative of U of
    size 1 does to the mean, and a fourth to the variance. `error` is both together, by which words are ranked.
    """

    word: Name
    gradients: Count
    step_order: Count
    invariant_order: Count
    error: Size
    gaussian: Size
    near: Size
    exact_on_gaussians: Annotated[
        bool, Says("whether the h^r term is proved to be 0 on every Gaussian of the class")
    ]
    shares: tuple[Name, ...]
    dimensions: Annotated[str, Says("the dimensions in which the orders are proved")]
    definition: Annotated[str, Says("Python text that defines the scheme as `best`")]


@dataclass(frozen=True, repr=False)
class Design(Result):
    """The words found, the best first, and what the ranking holds for.

    `searched` of `candidates` words were looked at, the others were not reached within the time; `left_out` says of words why they
    have no place in the ranking.
    """

    dynamics: Name
    letters: Name
    gradients: Count
    order: Count
    length: Annotated[Count, Says("the most letters of a word")]
    candidates: Count
    searched: Count
    words: tuple[DesignedWord, ...]
    left_out: tuple[str, ...]
    holds_for: tuple[str, ...]

    @property
    def exhibit(self) -> Exhibit:
        """The words, the best first, and bars of their leading errors."""
        asked = f"order {self.order} of the invariant law, gradients a step at most {self.gradients}"
        settings = f"{self.dynamics}, letters {', '.join(self.letters)}: {asked}"
        notes = (*self.left_out, *self.holds_for)
        if not self.words:
            return Exhibit(notes=notes, settings=settings)
        table = Table("Words by their leading error", _HEAD, tuple(map(_cells, self.words)))
        amounts = tuple((one.word, one.error) for one in self.words)
        bars = Bars(f"Words with {asked}", f"leading error, times h^{self.order}", amounts)
        return Exhibit((table,), (), notes, settings, bars=bars)

    def records(self) -> list[dict[str, Any]]:
        """One row a word, a column a field."""
        return [asdict(one) for one in self.words]

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {"schema": DESIGN.name, **asdict(self)}

    def __str__(self) -> str:
        lines = [printable(self.exhibit.settings)]
        for table in self.exhibit.tables:
            best = self.words[0]
            shown = column_lines((table.columns, *table.rows), left=len(_HEAD))
            lines += [*shown, "", f"{best.word}, to paste into a file:", "", best.definition]
        if not self.words:
            lines.append(f"  none of {self.searched} words of at most {self.length} letters has it")
        sections = (("left out", self.left_out), ("holds for", self.holds_for))
        return "\n".join([*lines, *section_lines(sections)])


def _cells(one: DesignedWord) -> tuple[str, ...]:
    gaussian = "0, proved" if one.exact_on_gaussians else f"{one.gaussian:.3g}"
    orders = (str(one.gradients), str(one.step_order), str(one.invariant_order))
    return (one.word, *orders, f"{one.error:.3g}", gaussian, f"{one.near:.3g}", ", ".join(one.shares))


DESIGN = Published(
    "sgverify/design/1", Design, "a design", "Write it again with `sgverify design DYNAMICS --json FILE`."
)
