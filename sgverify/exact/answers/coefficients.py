"""Expansion coefficients as a verdict and a certificate need them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq

from sgverify.exact import ball
from sgverify.exact.expansion import Expansion


@dataclass(frozen=True)
class Coefficients:
    """Expansion coefficients as floats, with the exact text of each and whether the zeros are proved."""

    values: tuple[float, ...]
    texts: tuple[str, ...]
    exact: bool

    @classmethod
    def of(cls, expansion: Expansion) -> Coefficients:
        """Floats for the rates, text for the certificate; a ball that holds 0 counts as zero."""
        values, texts = [], []
        for c in expansion.coefficients:
            zero = c == 0 if isinstance(c, fmpq) else bool(c.contains(0))
            values.append(0.0 if zero else to_float(c))
            texts.append("0" if zero else _text(c))
        return cls(tuple(values), tuple(texts), expansion.exact)


def to_float(value: Any) -> float:
    """The nearest float of a fraction, the midpoint of a ball; a ball that holds 0 counts as 0."""
    if isinstance(value, fmpq):
        return float(ball.number(value).mid())
    return 0.0 if value.contains(0) else float(value.mid())


def _text(value: Any) -> str:
    """A fraction in full where it is short, else its decimal value."""
    if isinstance(value, fmpq):
        text = str(value)
        return (
            text
            if len(text) <= 40
            else f"{float(arb(value).mid())!r} (exact fraction of {len(text)} characters)"
        )
    return value.str(15)
