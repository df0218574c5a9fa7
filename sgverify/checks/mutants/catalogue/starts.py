"""Bugs in what a run starts from, and in the numbers that its steps are given."""

from __future__ import annotations

from sgverify.checks.mutants.catalogue.thermostats import SHORT
from sgverify.checks.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        name="momentum-drawn-at-temperature-one",
        family="starts",
        scheme="sghmc-aboba",
        place="sgverify.samplers.assembly:Assembly._begin",
        was="(drawn * self._root_temperature(alive))",
        now="drawn",
        reason="the momentum starts from N(0, I) at any temperature; nothing is wrong at T = 1",
        source="blackjax, sghmc",
    ),
    Mutant(
        name="thermostat-told-dimension-one",
        family="starts",
        scheme="sgnht-aboba",
        place="sgverify.samplers.binding:bind_settings",
        was="known, dim, clock",
        now="known, 1, clock",
        settings=SHORT,
        reason="the running code divides p.p by 1 and not by the dimension, though the definition is right",
    ),
    Mutant(
        name="start-in-other-units",
        family="starts",
        scheme="sghmc-aboba",
        place="sgverify.samplers.assembly:Assembly.__init__",
        was="centre + settings.start * self._spread",
        now="centre + settings.start",
        settings={"steps": 20},
        reason="the start is measured in units of theta and not in standard deviations",
    ),
)
