"""What third parties test with: the conformance suites of readings, and failing examples as commands.

None of it needs pytest.
"""

from sgverify.testing.case import Case, cases
from sgverify.testing.conformance import CarrierConformance
from sgverify.testing.expansion import ExpansionConformance, Expectation, expectations
from sgverify.testing.minimising import Minimal, minimise
from sgverify.testing.parametrize import check_property, parametrize_with_checks
from sgverify.testing.profiles import examples, register_profiles
from sgverify.testing.regressions import Regressions
from sgverify.testing.replay import note_replay, replay_command
from sgverify.testing.row_examples import regression_examples
from sgverify.testing.screening import Faulty, Screening, Unconfirmed, assert_sampled, screen_and_confirm
from sgverify.testing.violation import Violation

__all__ = [
    "CarrierConformance",
    "Case",
    "ExpansionConformance",
    "Expectation",
    "Faulty",
    "Minimal",
    "Regressions",
    "Screening",
    "Unconfirmed",
    "Violation",
    "assert_sampled",
    "cases",
    "check_property",
    "examples",
    "expectations",
    "minimise",
    "note_replay",
    "parametrize_with_checks",
    "register_profiles",
    "regression_examples",
    "replay_command",
    "screen_and_confirm",
]
