"""Which published scheme is a step?

`identify` answers from the exact law of one step. `identifying` is the answer, `model` its form in JSON and on a terminal,
`recovered` its numbers.
`observed` runs torch code and definitions on `probes`, potentials of this room, `responses` are what is observed; `candidates` are
the schemes compared, `starts` and `fitting` recover their numbers, `comparing` confirms the law at other states, draws and
potentials, `matching` at all settings. `conventions` names what the numbers mean, `family` what the law leaves open, `differing`
the terms by which the nearest scheme differs, `draws` what there is to say of draws that are not normal, or not new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.advice.identification.identifying import identify
    from sgverify.advice.identification.model import Identification

__all__ = ["Identification", "identify"]

__getattr__, __dir__ = lazily(__name__)
