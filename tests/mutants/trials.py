"""One planted bug and one check, which the correct scheme has to pass; what is found is JSON, which `tests.kept` keeps."""

from __future__ import annotations

from functools import cache
from typing import Any

from reports.making.power.judging import Correct, groups, judge_group, judge_one
from tests.mutants.registry import mutants

GROUP = {name: group for group in groups(mutants().values()) for name in group}


@cache
def correct_of(group: tuple[str, ...]) -> Correct:
    return Correct(mutants()[group[0]])


def trial_of(name: str, pair: tuple[str, str]) -> dict[str, Any]:
    """The trial of a bug by a claim and a check, and the reason of the correct scheme's where that counts against it."""
    correct = correct_of(GROUP[name])
    trial = judge_one(mutants()[name], pair, correct)
    right = correct.trial(pair)
    return {
        "kill": trial.kill,
        "method": trial.method,
        "reason": trial.reason,
        "alarm": right.reason if right.against else None,
    }


def judged_whole(name: str) -> dict[str, Any]:
    """Does no check refute the bug, and does any raise an alarm on the correct scheme?"""
    found = judge_group([name], first=True)
    return {"survives": bool(found.survivors), "alarms": [trial.reason for _, trial in found.alarms]}
