"""`parametrize_with_checks`: every check a test; violations fail, refuted printed claims do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sgverify.errors import UserError
from sgverify.schemes import find_scheme
from sgverify.testing import parametrize_with_checks
from sgverify.testing.parametrize import SchemeCheck


@parametrize_with_checks([find_scheme("sghmc-baoab"), "sgld-euler"], config={"steps": 50, "chains": 32})
def test_the_catalogue_conforms(scheme: Any, check: SchemeCheck) -> None:
    check(scheme)


def test_a_printed_claim_that_no_scheme_fulfils_is_no_failure() -> None:
    SchemeCheck("chen2015/theorem-4", "stationary-bias", {"gradient": {"kind": "iid"}})("sghmc-aboba")


def test_a_wrong_scheme_fails_in_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        """
from sgverify.exact.formula import plant
from sgverify.schemes import find_scheme
from sgverify.testing import parametrize_with_checks

wrong = plant(find_scheme("sgld-euler"), "sqrt(2*T*h)", "sqrt(T*h)")

@parametrize_with_checks([wrong])
def test_conforms(scheme, check):
    check(scheme)
"""
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "theorem-4 or lemma-8",
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "1 failed, 1 skipped" in done.stdout and "replay: sgverify verify" in done.stdout


def test_no_schemes_are_refused() -> None:
    with pytest.raises(UserError, match="at least one scheme"):
        parametrize_with_checks([])


def test_it_is_imported_without_pytest() -> None:
    code = "import sys; sys.modules['pytest'] = None; import sgverify.testing, sgverify.strategies; print('fine')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "fine", done.stderr
