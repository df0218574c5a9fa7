"""The true averages under exp(-U/T), with which every bias is compared.

`polynomials` derives Gaussian averages by sympy from the potential, `conjugate` recognises the other conjugate
posteriors, `tails` bounds averages on the line by ball arithmetic, by integrals on `panels` and bounds of the
tails; `reference` says which of them a target has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.exact.posterior.tails import enclosed_average, enclosed_moments

__all__ = ["enclosed_average", "enclosed_moments"]

__getattr__, __dir__ = lazily(__name__)
