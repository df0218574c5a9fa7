"""Planted bugs: the change, its place, the reason why somebody would make it, and the source where it was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sgverify.configuration import Configuration


FORMULA, WORD, ORDER = "formula", "word", "order"

CONFIGURATION: Mapping[str, Any] = {
    "temperature": 0.5,
    "friction": 3.0,
    "steps": 1000,
    "test_function": "theta[0]**2 + theta[0]*theta[1]",
    "schedule": {"step": 0.1},
    "sweep": {"lengths": [10, 100, 1000]},
    "target": {
        "data": [[0.0, 1.0], [1.0, 0.0], [4.0, 1.5], [0.5, -2.0]],
        "prior_precision": [[4.0, 1.0], [1.0, 2.0]],
        "prior_mean": [1.0, -0.5],
    },
}
"""A configuration in which bugs show: T and D are not 1, the dimension is 2, the data are asymmetric, the prior is strong.

The step is stable for every scheme, and short enough that chains of this length move.
"""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One small change to a correct scheme or function: the text `was` becomes `now`; `was` occurs exactly once in `place`.

    `scheme` is the reference of the scheme that is judged before and after the change. `place` names the changed text:
    "formula", the scheme's printed formula; "word", its letters; "order", its stated order; or "module:Qualified.name", the
    source of a function of the running code, under which the unchanged scheme is judged.
    `also` holds further pairs (was, now) in the same place. `settings` are the configuration keys, over `CONFIGURATION`, that
    the bug needs in order to show; the correct scheme must pass under them too. `reason` describes the effect of the change and
    the way in which it is made, `cause` what a diagnosis has to name, in the words of `sgverify.advice.diagnosis.model` where
    it has one, stated from the reason. `source` is the place where the bug was found, or "constructed".
    """

    name: str
    family: str
    scheme: str
    was: str
    now: str
    reason: str
    cause: str
    source: str = "constructed"
    place: str = FORMULA
    also: tuple[tuple[str, str], ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def edits(self) -> tuple[tuple[str, str], ...]:
        """All pairs (was, now) of the mutant."""
        return ((self.was, self.now), *self.also)

    @property
    def in_definition(self) -> bool:
        """Is the change made in the scheme's definition, and not in the code that runs it?"""
        return self.place in (FORMULA, WORD, ORDER)

    @property
    def configuration(self) -> Configuration:
        """The configuration under which it is judged: `CONFIGURATION` with the settings over it, key by key."""
        from sgverify.configuration import load_configuration

        return load_configuration({**CONFIGURATION, **self.settings})
