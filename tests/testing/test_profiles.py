"""The hypothesis profiles, by the option of the plugin and by the call; and what the summary says of sampled properties."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.errors import InvalidArgument

from sgverify.testing import examples, register_profiles

SUITE = """
from hypothesis import given, settings, strategies as st
from sgverify.testing import assert_sampled

def test_which():
    assert settings().derandomize is {ci} and (settings().database is None) is {ci}
    assert settings().deadline is None

@settings(max_examples=5)
@given(st.integers(0, 9))
def test_sampled(k):
    assert_sampled(lambda seed, budget: None if k % 2 else 0.0, example=k)
"""


@pytest.mark.parametrize(("option", "ci"), [("ci", True), ("nightly", False)])
def test_the_option_loads_a_profile_and_inconclusive_examples_are_counted(
    pytester: pytest.Pytester, option: str, ci: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYPOTHESIS_PROFILE", "")
    pytester.makepyfile(test_mine=SUITE.format(ci=ci))
    result = pytester.runpytest_subprocess(f"--sgverify-profile={option}", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*examples of sampled properties: *inconclusive*"])
    result.stdout.fnmatch_lines(["*examples of sampled properties: *passes*"])


def test_an_unknown_profile_is_refused(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--sgverify-profile=weekly")
    result.stderr.fnmatch_lines(["*--sgverify-profile=weekly: expected one of ci, nightly"])


def test_profiles_are_registered_and_one_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    before = settings.get_current_profile_name()
    try:
        assert register_profiles(load="nightly") == "nightly" and examples(10) == 2000
        monkeypatch.delenv("HYPOTHESIS_PROFILE", raising=False)
        assert register_profiles() == "ci" and settings().derandomize and examples(10) == 10
        with pytest.raises(InvalidArgument):
            register_profiles(load="weekly")
    finally:
        settings.load_profile(before)
