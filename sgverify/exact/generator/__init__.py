"""The generator of a dynamics on polynomials, exactly.

`polynomials`: values of a dynamics as polynomials in its state. `generator`: L on them, and the Poisson equation of an affine
dynamics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.exact.generator.generator import Generator, read_generator

__all__ = ["Generator", "read_generator"]

__getattr__, __dir__ = lazily(__name__)
