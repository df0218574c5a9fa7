"""Bugs in how minibatches are drawn and put together."""

from __future__ import annotations

from sgverify.checks.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        name="iid-indices-without-last",
        family="estimators",
        scheme="sghmc-aboba",
        place="sgverify.samplers.minibatches:Iid.block",
        was="self._size)",
        now="self._size - 1)",
        settings={"gradient": {"kind": "iid", "batch": 2}},
        reason="randint(0, N - 1) whose upper end is excluded: the last datum is never drawn",
    ),
)
