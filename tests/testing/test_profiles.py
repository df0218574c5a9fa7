"""The hypothesis profiles, by the option of the plugin and by the call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.errors import InvalidArgument

from sgverify.testing import examples, register_profiles
from tests.inner_run import run_inside

SUITE = """
from hypothesis import settings

def test_which():
    assert settings().derandomize is {ci} and (settings().database is None) is {ci}
    assert settings().deadline is None
"""


@pytest.fixture(autouse=True)
def profile(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The option loads a profile for the whole process; the one of this run comes back."""
    before = settings.get_current_profile_name()
    monkeypatch.setenv("HYPOTHESIS_PROFILE", "")
    yield
    settings.load_profile(before)


@pytest.mark.by_default("ci-True")
@pytest.mark.parametrize(("option", "ci"), [("ci", True), ("nightly", False)])
def test_the_option_loads_a_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, ci: bool
) -> None:
    (tmp_path / "test_mine.py").write_text(SUITE.format(ci=ci), encoding="utf-8")
    result = run_inside(tmp_path, capsys, f"--sgverify-profile={option}")
    result.assert_outcomes(passed=1)


def test_an_unknown_profile_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run_inside(tmp_path, capsys, "--sgverify-profile=weekly")
    result.stderr.fnmatch_lines(["*--sgverify-profile=weekly: expected one of ci, nightly"])


def test_profiles_are_registered_and_one_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert register_profiles(load="nightly") == "nightly" and examples(10) == 2000
    monkeypatch.delenv("HYPOTHESIS_PROFILE")
    assert register_profiles() == "ci" and settings().derandomize and examples(10) == 10
    with pytest.raises(InvalidArgument):
        register_profiles(load="weekly")
