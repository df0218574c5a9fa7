"""The running code of swaps: right on every composite, and each planted bug is refuted by its own reason."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgverify.configuration import load_configuration
from sgverify.schemes import find_scheme
from sgverify.schemes.composites import COMPOSITES, ReplicaExchange
from sgverify.strategies import configurations, exchanges
from sgverify.subject.binding import make_subject
from sgverify.testing import examples
from tests.mutants.planting import planted
from tests.mutants.registry import find_mutant
from tests.self_checks.registry import self_check
from tests.self_checks.running_swaps import check_running_swaps

EXCHANGES = [name for name, item in COMPOSITES.items() if isinstance(item, ReplicaExchange)]
NOISY: dict[str, Any] = {"gradient": {"kind": "iid", "batch": 2}, "target": {"size": 12, "data_seed": 3}}


@pytest.mark.by_default("vr-resgld", "avr-resghmc")
@pytest.mark.parametrize("name", EXCHANGES)
def test_every_exchange_of_the_catalogue_runs_by_its_rule(name: str) -> None:
    assert self_check("running-swaps", name, **NOISY, exchange={"ladder": [1, 2, 5]}).verdict == "conforms"


@settings(max_examples=examples(4), suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_no_alarm_on_a_correct_composite_under_any_configuration(data: st.DataObject) -> None:
    composite = COMPOSITES[data.draw(st.sampled_from(EXCHANGES))]
    drawn = data.draw(configurations(scheme=composite.scheme, dtypes=("float64", "float32")))
    table = data.draw(exchanges()).model_dump(exclude_unset=True)
    configuration = load_configuration(drawn, exchange=table)
    found = check_running_swaps(make_subject(composite, configuration))
    assert found.verdict == "conforms", found.reason


@pytest.mark.parametrize("scheme", ["sgnht-euler", "sghmc-baoab", "sgld-euler"])
@pytest.mark.parametrize("momentum", ["rescaled", "kept"])
def test_momenta_and_thermostats_keep_their_laws(scheme: str, momentum: str) -> None:
    mine = ReplicaExchange("mine", find_scheme(scheme))
    table = {"ladder": [1, 3], "momentum": momentum, "intensity": 0.5}
    found = self_check("running-swaps", mine, **NOISY, exchange=table, friction=3.0)
    assert found.verdict == "conforms", found.reason


@pytest.mark.parametrize(
    "name",
    [
        "swap-branches-inverted",
        "swap-momentum-not-rescaled",
        "swap-variance-after-refresh",
        "swap-uniform-once",
    ],
)
def test_a_planted_bug_is_refuted_by_its_own_reason(name: str) -> None:
    reasons = {
        "swap-branches-inverted": "another chance than min",
        "swap-momentum-not-rescaled": "joint density of theta, p",
        "swap-variance-after-refresh": "measured variance",
        "swap-uniform-once": "two steps decide",
    }
    with planted(find_mutant(name)) as subject:
        found = check_running_swaps(subject)
    assert found.verdict == "violates" and reasons[name] in found.reason
