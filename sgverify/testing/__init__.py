"""Tests of schemes and interpreters by third parties. Nothing here needs pytest.

`parametrize` makes every applicable check a test (`collecting` finds them, `scheme_tests` says what one does, and which ones
are to fail), and `property` tests a claim under generated configurations. A failure has a command that replays it (`references`),
files (`places`) and a row in a regression file (`regressions`). `planting` plants the bug that a check is there for in running
code, as `plant` does in a scheme. `profiles` are hypothesis's, `recording` collects the evidence of a test run. The rooms:
`conformance` compares an interpreter with the others, `shrinking` finds the simplest configuration of a violation.
"""

from sgverify.exact.readings.formula import plant
from sgverify.testing.conformance.suite import CarrierConformance, Case, cases
from sgverify.testing.parametrize import parametrize_with_checks
from sgverify.testing.planting import PlantError, edited_source
from sgverify.testing.profiles import examples, register_profiles
from sgverify.testing.references import note_replay, replay_command
from sgverify.testing.regressions import Regressions
from sgverify.testing.shrinking.counterexample import Minimal, Violation, minimise

__all__ = [
    "CarrierConformance",
    "Case",
    "Minimal",
    "PlantError",
    "Regressions",
    "Violation",
    "cases",
    "edited_source",
    "examples",
    "minimise",
    "note_replay",
    "parametrize_with_checks",
    "plant",
    "register_profiles",
    "replay_command",
]
