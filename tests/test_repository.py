"""What the repository promises about itself: the pins, the two commands, the files that ship."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from reports.making import distributions, versions
from sgverify.draws.step_choice import EXTRA
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINES = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
LOWEST = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
PINS = dict(line.split("==") for line in LINES if not line.startswith("#"))


def asked_for() -> list[Requirement]:
    extras = PROJECT["project"]["optional-dependencies"].values()
    build = PROJECT["build-system"]["requires"]
    texts = [*PROJECT["project"]["dependencies"], *(text for extra in extras for text in extra), *build]
    return [Requirement(text) for text in texts if not text.startswith("sgverify")]


@each_row("requirement", asked_for())
def test_everything_asked_for_is_pinned_within_its_range(requirement: Requirement) -> None:
    assert Version(PINS[canonicalize_name(requirement.name)]) in requirement.specifier


def test_pins_are_plain_versions() -> None:
    # No index, no path, no local build tag: the file must serve every machine.
    assert [name for name in PINS if name != canonicalize_name(name)] == []
    assert [pin for pin in PINS.values() if not re.fullmatch(r"[0-9][0-9a-z.]*", pin)] == []
    assert PINS["torch"] == "2.13.0"


def lowest(text: str) -> str:
    """The pin at the lowest version of a range."""
    requirement = Requirement(text)
    (bound,) = [clause.version for clause in requirement.specifier if clause.operator == ">="]
    return f"{canonicalize_name(requirement.name)}=={bound}"


def test_the_lowest_versions_are_those_that_are_tested() -> None:
    """`tox -e lowest` has, of all that the package, its draws, its tests and Parquet files need, the lowest allowed version."""
    extras = PROJECT["project"]["optional-dependencies"]
    texts = [
        *PROJECT["project"]["dependencies"],
        *(text for name in ("draws", "test", "parquet") for text in extras[name]),
    ]
    assert [line for line in LOWEST if not line.startswith("#")] == sorted(
        lowest(text) for text in texts if not text.startswith("sgverify")
    )


def test_the_pythons_that_are_named_are_those_of_the_environments() -> None:
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    oldest, newest = (
        tox[f"testenv:{name}"]["base_python"].removeprefix("python") for name in ("lowest", "newest")
    )
    assert PROJECT["project"]["requires-python"] == f">={oldest}"
    start = "Programming Language :: Python :: 3."
    named = [text.rpartition(" ")[2] for text in PROJECT["project"]["classifiers"] if text.startswith(start)]
    assert named == [oldest, newest]
    stored = json.loads((ROOT / "reports" / "versions" / "versions.json").read_text(encoding="utf-8"))
    for name, version in (("lowest", oldest), ("newest", newest)):
        found = stored["environments"][name]
        assert (
            found["versions"]["Python"].startswith(f"{version}.") and found["passed"] and not found["failed"]
        )
    for name, version in stored["environments"]["lowest"]["versions"].items():
        pins = dict(line.split("==") for line in LOWEST if not line.startswith("#"))
        assert name == "Python" or Version(version) == Version(pins[name]), name


def test_the_tests_of_the_selections_exist() -> None:
    assert [
        name for name in (*versions.selection(), *distributions.TESTS) if not (ROOT / name).exists()
    ] == []


def test_every_file_of_the_package_is_in_the_wheel() -> None:
    """Modules are found by their `__init__`; every other file matches a pattern of package-data."""
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["sgverify"]
    packaged = {path for pattern in patterns for path in (ROOT / "sgverify").glob(pattern)}
    files = [ROOT / name for name in distributions.package_files(ROOT)]
    assert [path for path in files if path.suffix != ".py" and path not in packaged] == []
    modules = [path for path in files if path.suffix == ".py"]
    assert modules and [path for path in modules if not (path.parent / "__init__.py").exists()] == []


def test_the_source_distribution_has_what_the_repository_has() -> None:
    lines = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines()
    named = {word for line in lines if line.startswith(("include ", "graft ")) for word in line.split()[1:]}
    unpackaged = {"MANIFEST.in", "pyproject.toml", "PKG-INFO", "setup.cfg"}
    found = [
        path.name
        for path in ROOT.iterdir()
        if not any(
            path.match(pattern)
            for pattern in (*distributions.UNPACKAGED, "*_cache", ".hypothesis", ".coverage*")
        )
        and path.name not in {"sgverify-report", "sgverify-calibration"}
    ]
    assert sorted(set(found) - named - unpackaged) == []
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


@pytest.mark.power
def test_wheel_and_source_distribution_are_installed_and_tried(tmp_path: Path) -> None:
    assert distributions.healthy(distributions.try_out(tmp_path))


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


def test_cases_that_are_named_are_there(lost_cases: list[str]) -> None:
    assert lost_cases == []
