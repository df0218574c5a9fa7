"""Transfer operators on a grid: invariant laws beyond Gaussians, deterministically and with a stated error.

`line` is for overdamped schemes, `plane` for kinetic ones on one-dimensional targets; `result` defines the answers of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.exact.transfer.result import Escape, GridBias

__all__ = ["Escape", "GridBias"]

__getattr__, __dir__ = lazily(__name__)
