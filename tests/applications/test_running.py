"""An application is a command with a document, figures and a summary; a run that is killed goes on to the same bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from reports.applications import keeping, registry
from reports.applications.__main__ import main
from reports.applications.keeping import KeptParts
from reports.applications.result import APPLICATION, decode_application
from reports.applications.running import run_application
from reports.applications.statistics import Mean, difference, mean_of, student
from sgverify.errors import ConfigurationError, UnknownNameError, UserError
from sgverify.keeping.identity import Circumstances
from tests.applications import toy

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def with_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "APPLICATIONS", (*registry.APPLICATIONS, "toy"))
    monkeypatch.setitem(sys.modules, "reports.applications.toy", toy)
    monkeypatch.setattr(keeping, "OFTEN", 0.0)
    monkeypatch.setattr(keeping, "SHARE", 0)


def call(folder: Path, *arguments: str, killed_at: str = "") -> int:
    command = [sys.executable, "-m", "tests.applications.toy", "toy", "--out", str(folder), *arguments]
    environment = {**os.environ, toy.KILLED_AT: killed_at, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=False).returncode


def test_a_killed_run_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    assert call(tmp_path, killed_at="17") == -9
    held = [path.name for path in (tmp_path / "unfinished").iterdir()]
    assert sorted(held) == ["first.state", "run.json"] and not (tmp_path / "result.json").exists()
    # What is stored is the state after step 16: going on does not begin at the start.
    assert stored(tmp_path)["done"] == 16
    run_application("toy", out=tmp_path, step=(0.1, 0.2))
    undisturbed = run_application("toy", step=(0.1, 0.2))
    found = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert found["found"]["rows"] == list(undisturbed.found.rows)
    assert not (tmp_path / "unfinished").exists()


def stored(folder: Path) -> dict:
    identity = json.loads((folder / "unfinished" / "run.json").read_text(encoding="utf-8"))
    found = KeptParts(folder, identity).load("first")
    assert found is not None
    return found[0]


def test_what_a_folder_holds_of_another_run_is_refused_or_discarded(tmp_path: Path) -> None:
    KeptParts(tmp_path, {"seed": 0}).store("first", {}, {})
    with pytest.raises(ConfigurationError, match=r"seed=0, and this run has seed=1.*--again"):
        KeptParts(tmp_path, {"seed": 1})
    assert KeptParts(tmp_path, {"seed": 1}, again=True).load("first") is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:40],
        lambda content: content[:-30] + bytes([content[-30] ^ 1]) + content[-29:],
        lambda content: b"\x80\x04\x95",
        lambda content: content.partition(b"\n")[2],
        lambda content: b"",
    ],
    ids=["cut", "flipped", "a pickle", "without its hash", "empty"],
)
def test_a_damaged_file_is_refused(damage: Any, tmp_path: Path) -> None:
    kept = KeptParts(tmp_path, {})
    kept.store("first", {"done": 1}, {})
    place = tmp_path / "unfinished" / "first.state"
    place.write_bytes(damage(place.read_bytes()))
    with pytest.raises(ConfigurationError, match=r"first.state.*--again"):
        kept.load("first")


@pytest.mark.parametrize("text", ["", "[]", "7", "[" * 5000, "\x00"])
def test_a_damaged_name_of_a_run_is_refused_and_discarded(text: str, tmp_path: Path) -> None:
    KeptParts(tmp_path, {}).store("first", {}, {})
    (tmp_path / "unfinished" / "run.json").write_text(text)
    with pytest.raises(ConfigurationError, match=r"run.json.*--again"):
        KeptParts(tmp_path, {})
    assert KeptParts(tmp_path, {}, again=True).load("first") is None


def test_files_of_others_are_never_removed(tmp_path: Path) -> None:
    own = tmp_path / "unfinished"
    own.mkdir()
    (own / "novel.txt").write_text("chapter 1")
    for again in (False, True):
        with pytest.raises(ConfigurationError, match=r"'novel.txt' and no unfinished run"):
            KeptParts(tmp_path, {}, again=again)
    (own / "novel.txt").rename(tmp_path / "novel.txt")
    kept = KeptParts(tmp_path, {})
    (tmp_path / "novel.txt").rename(own / "novel.txt")
    kept.store("first", {}, {})
    kept.clear()
    assert [path.name for path in own.iterdir()] == ["novel.txt"]


def test_a_run_that_stored_nothing_leaves_nothing_to_go_on_with(tmp_path: Path) -> None:
    # A call that was wrong is mended in the same folder.
    KeptParts(tmp_path, {"corpus": "misspelt"}).close()
    assert not (tmp_path / "unfinished").exists()
    # A process that was killed before it had stored a part leaves the name alone.
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "unfinished" / "run.json").write_text("{}")
    kept = KeptParts(tmp_path, {"corpus": "right"})
    kept.store("first", {}, {})
    kept.close()
    with pytest.raises(ConfigurationError, match="corpus='right'"):
        KeptParts(tmp_path, {"corpus": "misspelt"})


def test_one_process_at_a_time_is_at_a_run(tmp_path: Path) -> None:
    kept = KeptParts(tmp_path, {})
    with pytest.raises(ConfigurationError, match="another process is at this run"):
        KeptParts(tmp_path, {})
    kept.close()
    KeptParts(tmp_path, {})


def test_a_run_goes_on_with_the_source_and_the_data_that_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    KeptParts(tmp_path, {}).store("first", {}, {})
    here = Circumstances.here()
    edited = {**here.value, "sgverify": {**here.value["sgverify"], "source": "0" * 64}}
    with monkeypatch.context() as patched:
        patched.setattr(Circumstances, "here", lambda: replace(here, value=edited))
        with pytest.raises(ConfigurationError, match=r"unfinished run with sgverify.source="):
            KeptParts(tmp_path, {})
    data, out = tmp_path / "words", tmp_path / "out"
    data.write_text("1 0:1")
    assert call(out, "--corpus", str(data), killed_at="5") == -9
    moved = tmp_path / "moved"
    data.rename(moved)
    with pytest.raises(ConfigurationError, match=r"corpus='sha256 .*corpus=None"):
        run_application("toy", out=out)
    moved.write_text("1 0:2")
    with pytest.raises(ConfigurationError, match=r"corpus='sha256 .*corpus='sha256 "):
        run_application("toy", out=out, corpus=str(moved))
    moved.write_text("1 0:1")
    run_application("toy", out=out, corpus=str(moved))


def test_the_folder_holds_document_figures_and_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["toy", "--out", str(tmp_path), "--quick", "--seed", "4", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    found = decode_application(document)
    assert found.seed == 4 and found.seeds == 1 and found.settings["step"] == [0.1]
    assert found.found.samplers[0].outcome == "pass" and found.found.samplers[0].claims
    assert (tmp_path / "figures" / "toy-sum-1.svg").read_text(encoding="utf-8").startswith("<svg")
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    for said in (
        "# A toy",
        "**undecided**",
        "No statement has a p-value",
        "figures/toy-sum-1.svg",
        "local-order",
        "does not apply: a toy",
    ):
        assert said in summary
    assert main(["toy", "--out", str(tmp_path), "--quick"]) == 0
    assert "undecided: The sum is small (nowhere)" in capsys.readouterr().out


def test_the_help_lists_the_models_and_schema_prints_that_of_a_result(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in ("lda", "sbn", "classifier", "schema"))
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["$id"] == "urn:sgverify:app:1"


def test_a_result_that_cannot_be_written_is_not_computed_again(tmp_path: Path) -> None:
    (tmp_path / "figures").write_text("x")
    with pytest.raises(UserError, match="figures.*it is a file"):
        run_application("toy", out=tmp_path, quick=True)
    held = sorted(path.name for path in (tmp_path / "unfinished").iterdir())
    assert held == ["first.state", "run.json", "second.state"]


def test_a_divergence_is_a_row_without_a_number(tmp_path: Path) -> None:
    found = run_application("toy", out=tmp_path, step=(0.1, 4096.0), seeds=2).found
    assert [row["mean"] is None for row in found.rows] == [False, True, False, True]
    assert {(item.setting, item.chain) for item in found.diverged} == {
        ("h = 4096, D = 1", 0),
        ("h = 4096, D = 1", 1),
    }
    assert "h = 4096, D = 1 | 0 at" in (tmp_path / "summary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("tox",), "unknown application 'tox'"),
        (("toy", "--step", "-1"), "--step -1.0: expected a number of at least"),
        (("toy", "--step", "nan"), "--step nan: expected a number"),
        (
            ("toy", "--step", "1e9"),
            "--step 1000000000.0: expected a number of at least 1e-09 and of at most 10,000",
        ),
        (("toy", "--seeds", "0"), "--seeds"),
        (("toy", "--seed", "-1"), "--seed"),
        (("toy", "--out", ""), "--out"),
    ],
)
def test_a_wrong_call_is_one_message(
    arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = arguments if "--out" in arguments else (*arguments, "--out", str(tmp_path))
    assert main(list(given)) == 2
    assert told in capsys.readouterr().err


def test_a_run_has_one_thread_whatever_the_caller_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """More threads would change the order of sums, and with it the bits."""
    before, seen = torch.get_num_threads(), []
    look = toy.find_scheme
    monkeypatch.setattr(toy, "find_scheme", lambda name: seen.append(torch.get_num_threads()) or look(name))
    torch.set_num_threads(2)
    try:
        run_application("toy")
        assert seen == [1] and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(UnknownNameError, match="steps"):
        run_application("toy", steps=(0.1,))


def test_every_application_declares_itself() -> None:
    for name in registry.APPLICATIONS:
        found = registry.find_application(name)
        assert found.name == name and found.minutes <= 5 and callable(found.load())


def test_the_schema_describes_the_document() -> None:
    assert APPLICATION.schema()["$id"] == "urn:sgverify:app:1"


def test_means_over_seeds() -> None:
    assert mean_of([]) is None and mean_of([1.0, float("inf")]) is None
    assert difference([2.0, 3.0], [1.0, 1.0]) == Mean(1.5, 0.5, 2)
    # t at 97.5 % with one degree of freedom is 12.7: 1.5 of 0.5 leaves the sign open, 15 of 0.5 does not.
    assert student(Mean(6.36, 0.5, 2)) == pytest.approx(0.05, abs=1e-4)
    assert student(Mean(1.5, 0.5, 2)) > 0.05 > student(Mean(-15.0, 0.5, 2))
    assert student(Mean(-15.0, 0.5, 2), margin=10.0) == pytest.approx(student(Mean(5.0, 0.5, 2)))
    with pytest.raises(ValueError, match="standard error"):
        student(Mean(1.0, None, 1))
