"""The whole answer about a scheme, the outcome first.

`answering` has `verify` and `rate`, as users call them, and `notebooks` shows their progress there. `asking` chooses the
questions: full gradients and minibatches. `findings` are what the evidence says, `lines` prints them as they come in, `untested`
names the settings that were not tried, `block` lays out the outcome with its cause and mend, `results` and `rate_result` are the
objects that a user gets, `page` is the HTML page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.verdict.answering import rate, verify
    from sgverify.verdict.results import Results

__all__ = ["Results", "rate", "verify"]

__getattr__, __dir__ = lazily(__name__)
