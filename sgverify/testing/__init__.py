"""What third parties test with: the conformance suites of readings, and failing examples as commands.

None of it needs pytest.
"""

from sgverify.testing.case import Case, cases
from sgverify.testing.conformance import CarrierConformance
from sgverify.testing.expansion import ExpansionConformance, Expectation, expectations
from sgverify.testing.parametrize import parametrize_with_checks
from sgverify.testing.replay import note_replay, replay_command

__all__ = [
    "CarrierConformance",
    "Case",
    "ExpansionConformance",
    "Expectation",
    "cases",
    "expectations",
    "note_replay",
    "parametrize_with_checks",
    "replay_command",
]
