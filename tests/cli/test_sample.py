"""`sgverify sample`: files, exit codes, and Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray

from sgverify.cli.listing import find_schema
from tests.cli.conftest import Call

FEW = ("--set", "chains=2", "--set", "steps=40", "--set", "burn_in=0")


def theta(path: Path) -> np.ndarray:
    with xarray.open_dataset(
        path, group="posterior", engine="h5netcdf" if path.suffix == ".nc" else "zarr"
    ) as found:
        return found.theta.values


def test_the_draws_are_written_and_summarised(call: Call, tmp_path: Path) -> None:
    for name in ("draws.nc", "draws.zarr"):
        answer = call("sample", "mine.py:aboba", *FEW, "--out", name)
        # 40 steps from 2 sd: the chains disagree.
        assert answer.code == 3
        assert "40 draws of each of 2 chains" in answer.out
        assert "r_hat" in answer.out
        assert answer.err.startswith("keeping 40 draws of 2 chains: ")
    np.testing.assert_array_equal(theta(tmp_path / "draws.nc"), theta(tmp_path / "draws.zarr"))


def test_a_step_that_widens_the_draws_is_told_in_one_line(call: Call) -> None:
    noisy = (*FEW, "--set", "gradient.kind=iid")
    answer = call("sample", "sgld-euler", *noisy, "--set", "schedule.step=0.001")
    kept, warned = answer.err.splitlines()
    assert kept.endswith("step 0.001")
    assert "9.88 times as wide" in warned
    assert "schedule.step=2.1e-06 keeps it within 5%" in warned
    # Where no step is given, that of the plan is taken: bias and one standard error together are within 5 %.
    answer = call("sample", "sgld-euler", *noisy)
    kept, told = answer.err.splitlines()
    assert kept.endswith("step 1.1e-06 (proposed)")
    assert "schedule.step=1.1e-06 as `sgverify advise` plans for sgld-euler" in told


def test_json_alone_on_stdout(call: Call) -> None:
    document = call("sample", "sgld-euler", *FEW, "--json", "-").document
    assert document["complete"] is True
    assert (document["chains"], document["draws"], document["file"]) == (2, 40, None)
    assert set(document["summary"]["theta[0]"]) >= {"mean", "sd", "ess_bulk", "r_hat"}


def test_a_divergence_is_not_to_be_trusted_and_leaves_the_draws_before(call: Call, tmp_path: Path) -> None:
    settings = (
        "--set",
        "target.name=quartic",
        "--set",
        "schedule.step=0.3",
        "--set",
        "start=0",
        "--set",
        "chains=4",
    )
    answer = call("sample", "sgld-euler", *settings, "--out", "draws.nc")
    assert answer.code == 3
    assert "step=0.3 diverged at step" in answer.err
    assert answer.out.splitlines()[-1].startswith("DO NOT TRUST: step=0.3 diverged at step")
    assert np.isfinite(theta(tmp_path / "draws.nc")).all()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--out", "draws.csv"), "expected .nc (netCDF, one file) or .zarr"),
        (("--out", "no/draws.nc"), "mkdir -p"),
        (("--set", "steps=1e12"), "larger thinning"),
        (("--set", "burn_in=1e6"), "no state is left"),
        (("--set", "schedule.step=10"), "spectral radius"),
        (("--set", "chians=2"), "did you mean 'chains'"),
    ],
)
def test_a_wrong_call_says_how_to_mend_it(call: Call, words: tuple[str, ...], expected: str) -> None:
    answer = call("sample", "sghmc-baoab", *words)
    assert answer.code == 2
    assert expected in answer.err
    assert answer.err.count("\n") == 1


def test_a_file_that_is_there_is_kept(call: Call, tmp_path: Path) -> None:
    (tmp_path / "draws.nc").write_text("mine")
    answer = call("sample", "sgld-euler", *FEW, "--out", "draws.nc")
    assert answer.code == 2
    assert "--force" in answer.err
    assert (tmp_path / "draws.nc").read_text() == "mine"
    # 40 steps are written, and not to be trusted.
    assert call("sample", "sgld-euler", *FEW, "--out", "draws.nc", "--force").code == 3
    assert theta(tmp_path / "draws.nc").shape == (2, 40, 1)


@pytest.mark.power  # a process that is interrupted
def test_ctrl_c_leaves_a_file_with_the_draws_so_far(tmp_path: Path) -> None:
    words = [
        "sample",
        "sgld-euler",
        "--set",
        "chains=2",
        "--set",
        "steps=1000000",
        "--set",
        "burn_in=0",
        "--out",
        "draws.nc",
        "--no-energy",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "sgverify", *words],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Where the tests run in the background, a child would ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    )
    assert process.stderr is not None
    # Said last before the first step.
    assert process.stderr.readline().startswith("keeping 1,000,000 draws")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert "stopped at step" in err
    found = theta(tmp_path / "draws.nc")
    assert 0 < found.shape[1] < 1_000_000
    assert f"{found.shape[1]:,} draws of each of 2 chains" in out
    assert np.isfinite(found).all()


LOGISTIC = (
    "--set",
    "target.name=logistic-regression",
    "--set",
    "target.dim=2",
    "--set",
    "target.size=32",
    "--set",
    "chains=4",
)


def test_a_step_beyond_the_limit_is_said_before_and_after(call: Call, tmp_path: Path) -> None:
    words = ["sgld-euler", *LOGISTIC, "--set", "schedule.step=2", "--set", "steps=200", "--out", "draws.zarr"]
    answer = call("sample", *words, "--json", "answer.json")
    assert answer.code == 3
    warned = next(line for line in answer.err.splitlines() if line.startswith("warning: "))
    assert "schedule.step=2 is beyond the stability limit" in warned and "keeps it within 5%" in warned
    last = answer.out.splitlines()[-1]
    assert last.startswith("DO NOT TRUST: ") and "next: sgverify sample sgld-euler" in last
    # The step that is named does what is said of it.
    step = float(last.split("schedule.step=")[-1])
    told = call("width", "logistic-regression", "sgld-euler", "--step", str(step), *LOGISTIC[2:6]).out
    assert "beyond" not in told and "times as wide" not in told
    with xarray.open_datatree(tmp_path / "draws.zarr", engine="zarr") as found:
        assert found.attrs["verdict"] == found["posterior"].attrs["verdict"] == last
    document = json.loads((tmp_path / "answer.json").read_text())
    find_schema("draws").check(document, "the answer")
    assert document["verdict"]["word"] == "DO NOT TRUST"
