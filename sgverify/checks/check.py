"""A check: the quantity that it decides, the subjects to which it applies, the function that answers, and its description."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from sgverify.evidence import Evidence

# What a check settles and what it cannot see, in the words of its function's docstring.


CANNOT_SEE = "Cannot see: "
"""The beginning of the paragraph about what a check cannot see."""


@dataclass(frozen=True)
class Description:
    """The first line of the docstring, its other paragraphs, and what the check cannot see, "" if nothing is said."""

    summary: str
    details: tuple[str, ...]
    cannot_see: str

    @property
    def text(self) -> str:
        """What the check settles and what it cannot see, in one line."""
        return f"{self.summary} {CANNOT_SEE}{self.cannot_see}" if self.cannot_see else self.summary


@cache
def described(place: str) -> Description:
    """The description of the function module:function, read from its file, which is not loaded."""
    module, _, name = place.partition(":")
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None, module
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    paragraphs = [" ".join(text.split()) for text in (ast.get_docstring(function) or "").split("\n\n")]
    unseen = [text.removeprefix(CANNOT_SEE) for text in paragraphs if text.startswith(CANNOT_SEE)]
    details = [text for text in paragraphs[1:] if not text.startswith(CANNOT_SEE)]
    return Description(paragraphs[0], tuple(details), " ".join(unseen))


ROOM = "sgverify.checks"

Matter = Literal["method", "code", "paper"]

Judge = Callable[[Any], Evidence]
"""A function of a `sgverify.checks.question.Question`; a list of the checks loads no question."""


@dataclass(frozen=True)
class Check:
    """A check decides the quantity that it is named after: `function(question)` returns evidence, never a bool.

    `place` is module:function, the module below the package `room`: "" where the whole name of the module is given. The module is
    imported when the check is first used, so that exact methods do not wait for the import of torch. `black_box` is the place
    of the function that judges user torch code, if there is one; `sampled` the place of the function that samples the
    quantity if no exact method answers.

    - `universal`: the check uses nothing of a scheme beyond the claim's hypotheses, so that every scheme that meets them
      gets the same answer.
    - `composite`: the check judges the rule that a composite puts around the steps of a scheme (`subject.composite`).
    - `along_schedule`: the quantity is a function of the length L along a schedule, and the claim names the schedule.
    - `stepless`: the check needs no stable step size: it is a proof for every h or for h -> 0, or handles an unstable
      step itself.
    - `reads`: "definition" or "dynamics" if the check reads the definition, or only its dynamics, in exact numbers; ""
      if the check evaluates the definition in floats.
    - `positive`: the check also applies to dynamics on theta > 0, whatever the target. `positive_states`: it does on a target that
      lives there, because the states that it takes are that target's.
    - `about`: whose matter the answer is: the method's, that of the code that runs (the default in the room `code`), or the
      paper's.
    - `any_gradient`: the answer about a definition is the same for every gradient estimator.
    - `every_step`: the answer holds of a step at every temperature and friction, so that it stands where settings change along a
      run; every other check is not applicable there.
    - `torch_any_gradient`: so is that about torch code, found at designed settings with full gradients, or of its draws alone.
    """

    name: str
    place: str
    source: str
    black_box: str = ""
    sampled: str = ""
    universal: bool = False
    composite: bool = False
    along_schedule: bool = False
    stepless: bool = False
    reads: Literal["", "definition", "dynamics"] = ""
    positive: bool = False
    positive_states: bool = False
    about: Matter | None = None
    any_gradient: bool = False
    torch_any_gradient: bool = False
    every_step: bool = False
    room: str = ROOM

    @property
    def function(self) -> Judge:
        """The function that `place` names."""
        return _load(self._absolute(self.place))

    @property
    def description(self) -> Description:
        """What the check settles, and what it cannot see."""
        return described(self._absolute(self.place))

    @property
    def matter(self) -> Matter:
        """Whose matter the answer is."""
        in_code = self.room == ROOM and self.place.startswith("code.")
        return self.about or ("code" if in_code else "method")

    def judge(self, *, black_box: bool) -> Judge:
        """The function that answers about a definition, or about somebody else's torch code."""
        return _load(self._absolute(self.black_box)) if black_box else self.function

    @property
    def sampler(self) -> Judge:
        """The function that samples the quantity."""
        return _load(self._absolute(self.sampled))

    def _absolute(self, place: str) -> str:
        """module:function with the whole name of the module."""
        return f"{self.room}.{place}" if self.room else place


def _load(place: str) -> Judge:
    module, _, name = place.partition(":")
    function: Judge = getattr(import_module(module), name)
    return function
