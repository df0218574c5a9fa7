"""The `level` of a configuration is that of every check that a chance enters, and moves its bounds."""

from __future__ import annotations

import pytest

from sgverify.rates.sample import LevelShare
from tests.self_checks.finding import Finding
from tests.self_checks.registry import self_check

STRICT = 1e-9
IID = {"target": {"name": "gaussian-mean", "size": 7}, "gradient": {"kind": "iid", "batch": 2}}


def asked(check: str, level: float | None) -> Finding:
    given = {} if level is None else {"level": level}
    found = self_check(check, "sghmc-aboba", {**IID, **given})
    assert found.verdict == "conforms", found.reason
    return found


@pytest.mark.by_default("chains-apart", "moments")
@pytest.mark.parametrize("check", ["white-draws", "chains-apart", "moments"])
def test_a_stricter_level_is_in_the_certificate_and_in_the_bounds(check: str) -> None:
    usual, strict = (asked(check, level).certificate for level in (None, STRICT))
    assert usual["level"] == pytest.approx(1e-6)
    assert strict["level"] == LevelShare(STRICT).point_null
    if check == "moments":
        low, high = usual["start"]["T=1"]["bounds"]
        lower, higher = strict["start"]["T=1"]["bounds"]
        assert lower < low < 1 < high < higher
        decisions = [found["law_after_steps"] for found in (usual, strict)]
        assert decisions[0]["level"] == pytest.approx(5e-7) and decisions[1]["level"] < 1e-13
        return
    assert usual["largest"].keys() == strict["largest"].keys() != set()
    assert all(
        strict["largest"][name][1] > bound for name, (_, bound) in usual["largest"].items() if bound < 1
    )


def test_the_counts_of_indices_take_the_level_and_more_draws_where_it_is_small() -> None:
    usual, strict = (asked("gradient-mean", level).certificate["indices"] for level in (None, 1e-20))
    assert usual["level"] == pytest.approx(1e-6) and strict["level"] == LevelShare(1e-20).point_null
    assert strict["missed_by_chance"] <= strict["level"] and strict["draws"] > usual["draws"]
