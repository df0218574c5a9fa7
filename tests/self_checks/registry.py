"""The self-checks by name: each asks of a subject whether sgverify's own sampler does what the definition says.

They are our tests. `verify` asks none of them: it speaks of the scheme.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sgverify.configuration import load_configuration
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from tests.self_checks.adaptation import check_adaptation
from tests.self_checks.averaging import check_averaging
from tests.self_checks.exchange_run import check_exchange_run
from tests.self_checks.finding import Finding
from tests.self_checks.float64_runs import check_dtype
from tests.self_checks.gradient_mean import check_gradient_mean
from tests.self_checks.independent_chains import check_independent_chains
from tests.self_checks.moments import check_moments
from tests.self_checks.pure_runs import check_pure_runs
from tests.self_checks.running_swaps import check_running_swaps
from tests.self_checks.sampled_average import check_agreement
from tests.self_checks.step_against_definition import check_one_step_law
from tests.self_checks.white_noise import check_white_noise


@dataclass(frozen=True)
class SelfCheck:
    """A function of a subject; `of_composite` where it looks at the runs of a composite, and not at those of its scheme.

    `positive`: it also applies to dynamics on theta > 0, on a target that lives there.
    """

    name: str
    function: Callable[[Any], Finding]
    of_composite: bool = False
    positive: bool = True

    def applies(self, subject: Subject) -> bool:
        """Is the subject run by sgverify's sampler, under settings that stay along the run, on states that the check takes?"""
        if subject.black_box or self.of_composite != bool(subject.composite):
            return False
        return subject.changes_along_run is None and (
            not subject.scheme.dynamics.positive or (self.positive and subject.target.positive)
        )


SELF_CHECKS: dict[str, SelfCheck] = {
    check.name: check
    for check in (
        SelfCheck("agreement", check_agreement),
        SelfCheck("gradient-mean", check_gradient_mean),
        SelfCheck("pure-runs", check_pure_runs),
        SelfCheck("one-step-law", check_one_step_law),
        SelfCheck("white-draws", check_white_noise),
        SelfCheck("chains-apart", check_independent_chains),
        SelfCheck("float64-runs", check_dtype),
        SelfCheck("averaging", check_averaging),
        SelfCheck("moments", check_moments, positive=False),
        SelfCheck("running-swaps", check_running_swaps, of_composite=True),
        SelfCheck("exchange-run", check_exchange_run, of_composite=True),
        SelfCheck("adaptation", check_adaptation, of_composite=True),
    )
}
"""Every self-check by its name, which is that of no check of `verify`."""


def self_check(name: str, scheme: Any, config: Any = None, **overrides: Any) -> Finding:
    """The finding of one self-check on a scheme or composite, under a configuration as `verify` takes it."""
    return SELF_CHECKS[name].function(make_subject(scheme, load_configuration(config, **overrides)))
