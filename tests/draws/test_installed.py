"""Without the extra `draws` everything but drawing works, and drawing says in one line what to install."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import sgverify
from sgverify.cli import main
from sgverify.draws.step_choice import EXTRA, check_installed
from sgverify.errors import UserError

BROUGHT = (*EXTRA, "h5py", "numcodecs", "xarray_einstats")
"""The modules of the extra and those that come with it alone."""

WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({BROUGHT!r})); from sgverify.cli import main; "
MESSAGE = "pip install 'sgverify[draws]'"


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.power  # 3.5 s
def test_the_main_job_needs_none_of_them(tmp_path: Path) -> None:
    calls = [
        ["verify", "sgld-euler", "--checks", "local-order,weighted-average", "--json", "verify.json"],
        ["rate", "sghmc-aboba", "--quantity", "stationary-bias", "--plot", "rate.svg"],
        ["list", "checks"],
        ["bch", "ABA"],
        ["schema", "draws"],
    ]
    done = run(f"sys.exit([main(call) for call in {calls}] != [0] * {len(calls)})", tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert (tmp_path / "rate.svg").exists()


def test_sample_says_in_one_line_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in BROUGHT:
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["sample", "sgld-euler", "--out", "draws.nc"]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert "arviz, h5netcdf, numcodecs, xarray, zarr are not installed" in told.err
    assert told.err.rstrip().endswith(MESSAGE)


@pytest.mark.parametrize("name", EXTRA)
def test_each_of_them_is_missed_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_installed()
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UserError, match=f"and {name} is not installed"):
        check_installed()
    with pytest.raises(UserError, match=f"and {name} is not installed"):
        sgverify.sample("sgld-euler")


def test_only_the_room_of_draws_imports_them() -> None:
    package = Path(sgverify.__file__).parent
    statement = re.compile(rf"^\s*(?:import|from) (?:{'|'.join(BROUGHT)})\b", re.MULTILINE)
    users = {
        path.relative_to(package).parts[0]
        for path in package.rglob("*.py")
        if statement.search(path.read_text(encoding="utf-8"))
    }
    assert users == {"draws"}
