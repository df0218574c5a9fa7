"""The little arithmetic that cards are written in: exact, and never run as code."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sgverify.schemes.numbers.arithmetic import Grammar

NAMES = ("K", "alpha")

_GRAMMAR = Grammar(NAMES, {"min": min, "max": max}, "-min(1 - alpha, K*alpha)", fewest=2)


@dataclass(frozen=True)
class ExponentExpression:
    """An exponent as a card prints it, such as `-min(1 - alpha, K*alpha)`.

    Whole numbers, `K` (the local order given the minibatch), `alpha` (the schedule's exponent), + - * /, `min` and
    `max`; the value is a Fraction.

    >>> ExponentExpression("-min(1 - alpha, K*alpha)").value({"K": Fraction(2), "alpha": Fraction(1, 3)})
    Fraction(-2, 3)
    """

    text: str

    def __post_init__(self) -> None:
        _ = self._node

    @cached_property
    def _node(self) -> ast.expr:
        return _GRAMMAR.read(self.text)

    @property
    def names(self) -> frozenset[str]:
        """The names that the expression uses, among K and alpha."""
        return _GRAMMAR.names_in(self._node)

    def value(self, names: Mapping[str, Fraction]) -> Fraction:
        """The exact value; raises ValueError when a name that is used has none."""
        missing = sorted(self.names - set(names))
        if missing:
            raise ValueError(f"{self.text!r} needs a value for {', '.join(missing)}")
        return Fraction(_GRAMMAR.value(self._node, names))

    def __str__(self) -> str:
        return self.text
