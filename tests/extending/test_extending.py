"""Every kind of extension is made on a copy of the package: it is alive there, and costs what docs/inside.md says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.extending.additions import ADDITIONS, Cost, add, cost

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "docs" / "inside.md").read_text(encoding="utf-8").partition("## What each extension costs")[2]
ROW = re.compile(r"^\| an? (?P<kind>[\w ]+) \| (?P<new>[^|]+) \| (?P<elsewhere>[^|]+) \|$", re.MULTILINE)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the package, of the planted bugs and of what judges them.

    Compiled files come along, but for those that another process is writing.
    """
    for place in ("sgverify", "tests/mutants", "tests/self_checks", "reports/making/power"):
        shutil.copytree(ROOT / place, tmp_path / place, ignore=shutil.ignore_patterns("*.pyc.*"))
    shutil.copy(ROOT / "tests" / "sampled_states.py", tmp_path / "tests")
    return tmp_path


def stated() -> dict[str, tuple[int, int, dict[str, int]]]:
    """By kind: the new files, their lines, and the lines in each file that is there already."""
    found = {}
    for row in ROW.finditer(TABLE):
        files, lines = map(int, re.findall(r"\d+", row["new"])) if row["new"] != "none" else (0, 0)
        elsewhere = {name: int(count) for count, name in re.findall(r"(\d+) in `(.+?)`", row["elsewhere"])}
        found[row["kind"].removesuffix(" with its card")] = files, lines, elsewhere
    return found


def summary(cost: Cost) -> tuple[int, int, dict[str, int]]:
    return len(cost.new), sum(cost.new.values()), dict(cost.elsewhere)


def test_extensions_cost_what_the_table_says_and_are_alive(tree: Path) -> None:
    costs = {kind: add(kind, tree) for kind in ADDITIONS}
    assert {kind: summary(cost) for kind, cost in costs.items()} == stated()
    # A claim, a check and a paper leave the core as it is, but for the line that registers a check.
    assert all(name.startswith("sgverify/papers/") for kind in ("claim", "paper") for name in costs[kind].new)
    environment = {**os.environ, "PYTHONPATH": str(tree), "SGVERIFY_RAISE": "1", "OMP_NUM_THREADS": "1"}
    answer = subprocess.run(
        [sys.executable, Path(__file__).with_name("alive.py")],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout) == {
        "scheme": {
            "listed": True,
            "not asked": [],
            "sgverify/stated-order local-order": "conforms",
        },
        "target": {
            "listed": True,
            "drawn by strategies": True,
            "average is derived": True,
            "chen2015/stationarity stationarity": "conforms",
        },
        "claim": {
            "listed": True,
            "sgverify/first-order local-order": "conforms",
        },
        "check": {
            "listed": True,
            "sgverify/rest rest": "conforms",
            "planted": "violates",
        },
        "planted bug": {"killed": True},
        "gradient estimator": {
            "listed": True,
            "drawn by strategies": True,
            "exact law draws with replacement": False,
            "chen2015/theorem-4 covariance": "conforms",
        },
        "centre of control variates": {
            "listed": True,
            "chen2015/lemma-12 local-order": "conforms",
            "sgverify/first-order local-order": "conforms",
            "no noise at the centre": True,
        },
        "paper": {
            "listed": True,
            "misprints": ["example/variance"],
            "example/theorem-1 covariance": "conforms",
            "chen2015/theorem-4 covariance": "conforms",
        },
    }


def test_what_is_changed_elsewhere_is_counted() -> None:
    before = {"a.py": "x = 1\n", "b.py": "y = 1\n"}
    after = {"a.py": "x = 2\n\n\nz = 1\n", "b.py": "y = 1\n", "c.toml": "k = 1\n\n"}
    assert cost(before, after) == Cost(new={"c.toml": 1}, elsewhere={"a.py": 3})


@pytest.mark.power  # collecting these tests imports most of the package once more
def test_the_tests_that_there_are_run_over_what_is_added(tree: Path) -> None:
    for place in ("tests", "reports"):
        ignored = shutil.ignore_patterns("*.pyc.*")
        shutil.copytree(ROOT / place, tree / place, ignore=ignored, dirs_exist_ok=True)
    shutil.copy(ROOT / "pyproject.toml", tree)
    for kind in ADDITIONS:
        add(kind, tree)
    names = ("sgld-heun", "sextic", "svrg-of-subsets", "sgld-with-weight-decay")
    places = (
        "gradients",
        "schemes/catalogue",
        "strategies/test_domains.py",
        "mutants/test_planting.py",
    )
    answer = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-n0",
            "-rp",
            "-p",
            "no:cacheprovider",
            "-m",
            "power or not power",
            "-k",
            " or ".join(names),
        ]
        + [f"tests/{place}" for place in places],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout
    passed = re.findall(r"^PASSED .*\[(.+)\]$", answer.stdout, re.MULTILINE)
    assert {name for name in names if any(name in example for example in passed)} == set(names)
