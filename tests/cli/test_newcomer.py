"""What a newcomer meets: a table of the wrong kind, keys by the papers' names, a composite of one's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Call
from tests.tables import each_row

FEW = ("--set", "chains=2", "--set", "steps=20")
OWN = """
from sgverify import ReplicaExchange, scheme, sqrt
from sgverify.schemes import langevin

@scheme(langevin, order=1)
def step(theta, *, h, grad, noise, T):
    return theta - h*grad(theta) + sqrt(2*T*h)*noise()

swapped = ReplicaExchange("swapped", step)
"""


@each_row(
    ("words", "said"),
    [
        (("verify", "sgld-euler", "--set", "exchange.every=5"), "has no replicas; expected a composite"),
        (
            ("verify", "sgld-euler", "--set", "start=[2,-2]"),
            "expected one number, for sgld-euler has no replicas",
        ),
        (
            ("sample", "resgld", "--set", "start=[2,-2,1]"),
            "2 numbers, one for each of exchange.ladder=[1.0, 2.0]",
        ),
        (("sample", "sgld-euler", "--set", "partition.bins=5"), "has no regions with weights"),
        (("sample", "resgld", "--set", "partition.bins=5"), "leave partition out"),
        (
            ("rate", "sgld-euler", "--quantity", "local-order", "--set", "exchange.every=5"),
            "from sgverify import ReplicaExchange",
        ),
        (("sample", "sgld-euler", "--set", "h=0.1"), "did you mean 'schedule.step'?"),
        (
            ("sample", "sgld-euler", "--set", "gradient.batch=2", "--set", "T=1"),
            "did you mean 'temperature'?",
        ),
        (("sample", "sgld-euler", "--set", "target.columns=[q]"), """'target.columns=["q", "r"]'"""),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(call: Call, words: tuple[str, ...], said: str) -> None:
    answer = call(*words)
    assert answer.code == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1


def test_a_word_in_a_csv_file_is_told_with_its_line(call: Call, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n\n3,four\n")
    answer = call("sample", "sgld-euler", "--set", "target.file=x.csv")
    assert answer.code == 2
    assert "line 4 holds 'four' in column 'b'" in answer.err


def test_bytes_that_are_no_array_are_refused_without_advice_to_unpickle(call: Call, tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"nonsense")
    answer = call("sample", "sgld-euler", "--set", "target.file=x.npz")
    assert answer.code == 2
    assert "numpy.savez" in answer.err
    assert "allow_pickle" not in answer.err


@pytest.mark.power  # 0.5 s
def test_the_line_that_is_printed_reads_the_file(call: Call) -> None:
    for name in ("draws.nc", "draws.zarr"):
        answer = call("sample", "sgld-euler", *FEW, "--out", name)
        line, *_ = answer.out.partition(f"written to {name}; read it by\n")[2].splitlines()
        found: dict[str, object] = {}
        exec(line.strip(), found)
        draws = found["draws"]
        theta = draws["posterior"]["theta"]  # type: ignore[index]
        assert theta.shape == (2, 20, 1)
        assert np.isfinite(theta.values).all()


@pytest.mark.power  # 0.7 s
def test_what_is_wrong_with_a_call_is_said_before_torch_is_loaded(tmp_path: Path) -> None:
    code = (
        "import sys; from sgverify.cli import main\n"
        "calls = (['sgld-euler', '--out', 'x.csv'], ['sgld-euler', '--set', 'h=1'], ['sgd'])\n"
        "codes = [main(['sample', *words]) for words in calls]\n"
        "assert codes == [2, 2, 2] and not {'torch', 'arviz'} & set(sys.modules), codes"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_of_a_composite_the_findings_about_its_scheme_say_so(call: Call) -> None:
    answer = call("verify", "resgld", "--checks", "swap-balance,local-order")
    found = [line for line in answer.out.splitlines() if line.startswith("  ✓")]
    assert {"swap-balance" in line for line in found} == {True, False}
    assert all(("sgld-euler local-order" in line) != ("swap-balance" in line) for line in found)


def test_a_composite_of_ones_own_is_verified_sampled_and_replayed(call: Call, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    verified = call("verify", "own.py:swapped", "--checks", "swap-balance", "--json", "found.json")
    assert verified.code == 0, verified.err
    assert call("replay", "found.json", "--run-code").code == 0
    # 20 steps are drawn, and not to be trusted.
    assert call("sample", "own.py:swapped", *FEW).code == 3
