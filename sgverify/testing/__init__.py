"""What third parties test with: the conformance suites of readings, and failing examples as commands.

None of it needs pytest.
"""

from sgverify.testing.case import Case, cases
from sgverify.testing.conformance import CarrierConformance
from sgverify.testing.replay import note_replay, replay_command

__all__ = ["CarrierConformance", "Case", "cases", "note_replay", "replay_command"]
