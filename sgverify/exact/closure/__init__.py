"""Moment closure: finite-time laws beyond affine steps, where finitely many moments of a chain determine one another.

`moments` runs a step on polynomials and asks whether they close, `answers` takes matrix powers in balls, `generator` is L on
polynomials, with the Poisson equation of an affine dynamics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.exact.closure.answers import ClosureAnswers
    from sgverify.exact.closure.generator import Generator, read_generator
    from sgverify.exact.closure.moments import ClosedMoments, close_moments

__all__ = [
    "ClosedMoments",
    "ClosureAnswers",
    "Generator",
    "close_moments",
    "read_generator",
]

__getattr__, __dir__ = lazily(__name__)
