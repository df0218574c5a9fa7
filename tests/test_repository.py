"""What the repository promises about itself: the pins, the two commands, the files that ship."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from sgverify.draws.installed import EXTRA

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINES = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
PINS = dict(line.split("==") for line in LINES if not line.startswith("#"))


def asked_for() -> list[Requirement]:
    extras = PROJECT["project"]["optional-dependencies"].values()
    build = PROJECT["build-system"]["requires"]
    texts = [*PROJECT["project"]["dependencies"], *(text for extra in extras for text in extra), *build]
    return [Requirement(text) for text in texts if not text.startswith("sgverify")]


@pytest.mark.parametrize("requirement", asked_for(), ids=str)
def test_everything_asked_for_is_pinned_within_its_range(requirement: Requirement) -> None:
    assert Version(PINS[canonicalize_name(requirement.name)]) in requirement.specifier


def test_pins_are_plain_versions() -> None:
    # No index, no path, no local build tag: the file must serve every machine.
    assert [name for name in PINS if name != canonicalize_name(name)] == []
    assert [pin for pin in PINS.values() if not re.fullmatch(r"[0-9][0-9a-z.]*", pin)] == []
    assert PINS["torch"] == "2.13.0"


CLOSED = {"arviz": "<1"}
"""ArviZ 1.0 has no InferenceData, which is what `sgverify.sample` returns."""


def test_the_ranges_stay_open() -> None:
    extra = PROJECT["project"]["optional-dependencies"]["draws"]
    runtime = [Requirement(text) for text in (*PROJECT["project"]["dependencies"], *extra)]
    bounds = {item.name: {str(c) for c in item.specifier if c.operator != ">="} for item in runtime}
    assert {name: found for name, found in bounds.items() if found} == {
        name: {bound} for name, bound in CLOSED.items()
    }


def test_what_only_draws_need_is_an_extra_that_the_tests_install() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert {Requirement(text).name for text in extras["draws"]} == set(EXTRA)
    assert not set(EXTRA) & {Requirement(text).name for text in PROJECT["project"]["dependencies"]}
    assert "sgverify[draws]" in extras["test"]


def test_continuous_integration_runs_the_readmes_test_command() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    command = next(line.strip() for line in script.splitlines() if line.strip().startswith("python3 -m venv"))
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").replace("\\\n", " ").split())
    assert command in readme
