"""Schemes side by side: orders, leading errors, stability, and what a bias costs.

`model` is the answer with its tables and its curves; `comparing` computes it, each scheme
in `rows`; `torch_laws` has the laws of torch code; `writing` makes the page and the files of a folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.advice.comparison.comparing import compare
    from sgverify.advice.comparison.model import ComparedScheme, SchemeComparison

__all__ = ["ComparedScheme", "SchemeComparison", "compare"]

__getattr__, __dir__ = lazily(__name__)
