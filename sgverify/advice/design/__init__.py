"""Design: the words over an alphabet, and their shares, with the smallest leading error of averages, searched and then proved.

`candidates` are the words that take so many gradients a step, `target_class` their leading errors on a class of targets,
`searching` the shares with the smallest one; `designing` proves what was found (`design`), and `model` is the answer and its text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.advice.design.designing import design
    from sgverify.advice.design.model import Design, DesignedWord

__all__ = ["Design", "DesignedWord", "design"]

__getattr__, __dir__ = lazily(__name__)
