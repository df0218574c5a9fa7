"""The answer of `design`: words, ranked by their leading error, with what is proved of each; its JSON, and its text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from textwrap import fill
from typing import Annotated, Any

from sgverify.evidence.published import Count, Name, Number, Published, Says, Size

WIDTH = 100
"""Columns of a line of prose; a definition is never broken."""


@dataclass(frozen=True)
class DesignedWord:
    """A word with its shares, its orders as proved, and its leading error.

    `gradients` are those that a step of a long run evaluates: one that the next step needs at the same place counts once. With h
    the step, k the precision of a Gaussian and r the order that was asked for, the variance of theta is off by `gaussian` (sqrt(k)
    h)^r of itself, in the mean square over the frictions of the class; `near` is the same mean of what a third derivative of U of
    size 1 does to the mean, and a fourth to the variance. `error` is both together, by which words are ranked.
    """

    word: Name
    alphabet: Name
    shares: tuple[Name, ...]
    gradients: Count
    step_order: Number
    invariant_order: Number
    error: Size
    gaussian: Size
    near: Size
    exact_on_gaussians: Annotated[
        bool, Says("whether the h^r term is proved to be 0 on every Gaussian of the class")
    ]
    dimensions: Annotated[str, Says("the dimensions in which the orders are proved")]
    definition: Annotated[str, Says("Python text that defines the scheme as `best`")]


@dataclass(frozen=True)
class Design:
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
    def best(self) -> DesignedWord | None:
        """The word with the smallest leading error; None where none was found."""
        return self.words[0] if self.words else None

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {"schema": DESIGN.name, **asdict(self)}

    def __repr__(self) -> str:
        best = "nothing" if self.best is None else self.best.word
        return f"<Design: {best} of {self.searched} words; print it for the ranking>"

    def __str__(self) -> str:
        many = "" if self.gradients == 1 else "s"
        asked = f"order {self.order} of the invariant law with at most {self.gradients} gradient{many} a step"
        lines = [f"{self.dynamics}, letters {', '.join(self.letters)}: {asked}"]
        if self.best is None:
            lines.append(f"  none of {self.searched} words of at most {self.length} letters has it")
        else:
            lines += [
                *self._table(),
                "",
                f"{self.best.word}, to paste into a file:",
                "",
                self.best.definition,
            ]
        for heading, said in (("left out", self.left_out), ("holds for", self.holds_for)):
            if said:
                lines += ["", f"{heading}:"]
                lines += [fill(one, WIDTH, initial_indent="  - ", subsequent_indent="    ") for one in said]
        return "\n".join(lines)

    def _table(self) -> list[str]:
        power = f"h^{self.order}"
        head = ("word", "gradients", "step", "law", f"error {power}", "Gaussians", "beside", "shares")
        rows = [
            (
                word.word,
                str(word.gradients),
                f"{word.step_order:g}",
                f"{word.invariant_order:g}",
                f"{word.error:.3g}",
                "0, proved" if word.exact_on_gaussians else f"{word.gaussian:.3g}",
                f"{word.near:.3g}",
                ", ".join(word.shares),
            )
            for word in self.words
        ]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        return [
            "  ".join(("", *(f"{text:<{size}}" for text, size in zip(row, widths, strict=True)))).rstrip()
            for row in (head, *rows)
        ]


DESIGN = Published(
    "sgverify/design/1", Design, "a design", "Write it again with `sgverify design DYNAMICS --json FILE`."
)
