"""Checks: a scheme and a configuration in, evidence out. The one place where exact answers meet sampled ones.

`verify_and_rate` asks the two questions of a user; `applicable_claims` finds the claims that a scheme is held to, and
`registry` the `check` that settles each, described by its docstring. A check is a function of one `question`
(one quantity of one claim, asked of one subject), uses `facts` about it, and returns evidence. `readings` are the orders and laws
that it is held to, the error of its gradient, and the orbits of starts far out. `concluding` makes a verdict no
wider than its scope, `float_rounding` adds what a proof owes to rounded floats, `progress` reports long work and keeps one
check's exception from the others.

The rooms: `order` (of one step), `assumptions` (of theorems), `rates` (of bias, mean square error and invariant law), `settings`
(somebody else's torch code, tried at many settings), `long_run` (such code, thousands of steps in a row), `code` (does somebody's
own code do what a step must?), `exchange` and `weights` (the composites). The law of such code is measured in `sgverify.law`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.checks.applicable_claims import judge
    from sgverify.checks.check import Check
    from sgverify.checks.registry import CHECKS
    from sgverify.checks.verify_and_rate import QUANTITIES, rate, replay, verify
    from sgverify.subject.binding import make_subject
    from sgverify.subject.subject import Subject

__all__ = ["CHECKS", "QUANTITIES", "Check", "Subject", "judge", "make_subject", "rate", "replay", "verify"]

__getattr__, __dir__ = lazily(__name__)
