"""Code that a data file names runs only where it is asked for, and its sha256 is recorded and compared."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import sgverify
from sgverify.cli import main
from sgverify.code_files import files_of, hashes_of
from sgverify.configuration import load_configuration
from sgverify.configuration.keys import keys
from sgverify.errors import UserError
from sgverify.evidence import Evidence, Found, Predicted, read_evidence, write_evidence
from sgverify.evidence.published import Provenance
from sgverify.evidence.recorded import REGRESSION
from sgverify.named_code import CODE_KEYS, asking, named_on, run_code
from sgverify.named_code import Asked as AskedCode
from sgverify.testing.regressions import Regressions
from tests.cli.conftest import MINE

MARKED = """\
from pathlib import Path
Path({mark!r}).touch()
import sgverify

@sgverify.log_density(dim=1)
def density(theta):
    return -(theta**2).sum(-1) / 2
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a scheme mine.py:heun and a density theirs.py:density; theirs.py leaves the file `ran` when it runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "theirs.py").write_text(MARKED.format(mark=str(tmp_path / "ran")))
    return tmp_path


def sha(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def evidence(**other: Any) -> Evidence:
    given: dict[str, Any] = {
        "scheme": "sgld-euler",
        "claim": "sgverify/stated-order",
        "check": "local-order",
        "configuration": {},
        "method": "proof",
        "predicted": Predicted(1),
        "found": Found(1, 1, 1),
        "verdict": "conforms",
        "reason": "the local order is 1",
        "replay": "sgverify verify sgld-euler",
    }
    return Evidence(**{**given, **other})


def store(place: Path, *pieces: Evidence) -> None:
    write_evidence(place, pieces, Provenance.gather(command="sgverify verify", seconds=1.0))


def row(place: Path, scheme: str, configuration: dict[str, Any]) -> None:
    told = {
        "schema": REGRESSION.name,
        "scheme": scheme,
        "claim": "sgverify/stated-order",
        "check": "local-order",
        "configuration": configuration,
        "reason": "it violated",
    }
    place.write_text(json.dumps(told) + "\n")


NAMES = {
    "target.name": {"target": {"name": "theirs.py:density"}},
    "target.loader": {"target": {"loader": "theirs.py:density"}},
    "adapter.density": {"adapter": {"density": "theirs.py:density"}},
}


def test_every_key_that_names_code_is_named_here() -> None:
    assert set(NAMES) == set(CODE_KEYS) <= {key.name for key in keys()}


@pytest.mark.parametrize("key", CODE_KEYS)
@pytest.mark.parametrize(
    "words",
    [
        ("verify", "sgld-euler", "--config", "c.json"),
        ("rate", "sgld-euler", "--quantity", "bias", "--config", "c.json"),
        ("sample", "sgld-euler", "--config", "c.json"),
        ("advise", "sgld-euler", "--config", "c.json"),
        ("identify", "mine.py:heun", "--config", "c.json"),
        ("replay", "e.json"),
        ("replay", "rows.jsonl"),
        ("campaign", "camp.toml"),
    ],
    ids=lambda words: " ".join(words[:1] + words[-1:]),
)
def test_it_does_not_run_unasked(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], key: str
) -> None:
    (folder / "c.json").write_text(json.dumps(NAMES[key]))
    store(folder / "e.json", evidence(configuration=NAMES[key]))
    row(folder / "rows.jsonl", "sgld-euler", NAMES[key])
    (folder / "camp.toml").write_text(f'schemes = ["sgld-euler"]\n[settings]\n{key} = "theirs.py:density"\n')
    code = main(list(words))
    told = capsys.readouterr().err
    assert code == 2 and told.count("\n") == 1, told
    for part in (f"{key}='theirs.py:density'", sha(folder / "theirs.py")[:12], "--run-code"):
        assert part in told
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("words", [("replay", "e.json"), ("replay", "rows.jsonl"), ("campaign", "camp.toml")])
@pytest.mark.parametrize("scheme", ["theirs.py:scheme", "theirs:scheme"])
def test_a_scheme_of_stored_evidence_does_not_run_unasked(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    scheme: str,
) -> None:
    monkeypatch.syspath_prepend(str(folder))
    store(folder / "e.json", evidence(scheme=scheme))
    row(folder / "rows.jsonl", scheme, {})
    (folder / "camp.toml").write_text(f'schemes = ["{scheme}"]\n')
    if scheme.startswith("theirs.py"):
        (folder / "theirs.py").write_text((folder / "theirs.py").read_text() + "\nscheme = None\n")
    code = main(list(words))
    told = capsys.readouterr().err
    assert code == 2 and f"scheme='{scheme}'" in told and "--run-code" in told, told
    assert not (folder / "ran").exists() and "theirs" not in sys.modules


@pytest.mark.parametrize(
    "asked",
    [
        ("--config", "c.toml", "--run-code"),
        ("--config", "c.toml", "--set", "target.name=theirs.py:density"),
        ("--config", "c.toml", "--set", 'target={name="theirs.py:density"}'),
        ("--set", "target.name=theirs.py:density"),
    ],
)
def test_it_runs_where_it_is_asked_for(folder: Path, asked: tuple[str, ...]) -> None:
    (folder / "c.toml").write_text('target.name = "theirs.py:density"\n')
    assert main(["verify", "sgld-euler", "--checks", "local-order", "--quiet", *asked]) == 0
    assert (folder / "ran").exists()


def test_a_file_that_the_command_line_names_may_be_named_by_a_data_file(folder: Path) -> None:
    (folder / "mine.py").write_text(MINE + MARKED.format(mark=str(folder / "ran")))
    (folder / "c.toml").write_text('target.name = "./mine.py:density"\n')
    assert main(["verify", "mine.py:heun", "--checks", "local-order", "--quiet", "--config", "c.toml"]) == 0
    assert (folder / "ran").exists()


@pytest.mark.parametrize("place", ["sgverify.py", "sgverify.d/theirs.py", "verify", "sgld-euler", "json"])
def test_neither_files_called_as_the_package_nor_words_of_commands_are_asked_for(
    folder: Path, place: str
) -> None:
    file = folder / (place if place.endswith(".py") else f"{place}.py")
    file.parent.mkdir(exist_ok=True)
    file.write_text((folder / "theirs.py").read_text())
    (folder / "c.toml").write_text(f'target.name = "{place}:density"\n')
    assert main(["verify", "sgld-euler", "--checks", "local-order", "--quiet", "--config", "c.toml"]) == 2
    assert not (folder / "ran").exists()
    words = ("verify", "sgld-euler", "json", "--config", "c.toml")
    with named_on(words), pytest.raises(UserError, match="names code"):
        load_configuration("c.toml")


def test_a_setting_that_names_other_code_is_what_counts(folder: Path) -> None:
    (folder / "c.toml").write_text('target.name = "theirs.py:density"\n')
    words = ["verify", "sgld-euler", "--checks", "local-order", "--quiet", "--config", "c.toml"]
    assert main([*words, "--set", "target.name=gaussian"]) == 0
    assert not (folder / "ran").exists()


def test_a_baseline_is_compared_and_runs_nothing(folder: Path) -> None:
    (folder / "b.json").write_text(
        json.dumps(
            {
                "schema": "sgverify/baseline/1",
                "violations": [
                    {
                        "scheme": "theirs.py:scheme",
                        "claim": "sgverify/stated-order",
                        "check": "local-order",
                        "configuration": NAMES["target.name"],
                        "found": {"exponent": 0, "low": 0, "high": 0},
                        "reason": "it violated",
                    }
                ],
            }
        )
    )
    assert main(["verify", "sgld-euler", "--checks", "local-order", "--quiet", "--baseline", "b.json"]) == 0
    assert not (folder / "ran").exists()


@pytest.mark.power  # 0.5 s
def test_evidence_has_the_hash_of_the_code_and_of_what_it_imports(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "helper.py").write_text("HALF = 1/2\n")
    (folder / "mine.py").write_text(f"import json, numpy\nimport helper\n{MINE}")
    words = ["verify", "mine.py:heun", "--checks", "local-order", "--quiet", "--json", "e.json"]
    assert main([*words, "--set", "target.name=theirs.py:density"]) == 0
    recorded = read_evidence("e.json").provenance.code
    assert recorded == {name: sha(folder / name) for name in ("helper.py", "mine.py", "theirs.py")}
    assert main(["replay", "e.json", "--run-code"]) == 0
    assert "sha256" not in capsys.readouterr().err
    (folder / "helper.py").write_text("HALF = 0.5\n")
    now = sha(folder / "helper.py")[:12]
    change = f"helper.py has changed, sha256 recorded {recorded['helper.py'][:12]}, now {now}"
    (folder / "ran").unlink()
    capsys.readouterr()
    assert main(["replay", "e.json"]) == 2
    assert change in capsys.readouterr().err and not (folder / "ran").exists()
    assert main(["replay", "e.json", "--run-code"]) == 0
    assert change in capsys.readouterr().err and (folder / "ran").exists()


def test_evidence_without_code_has_no_such_key(folder: Path) -> None:
    store(folder / "e.json", evidence())
    assert "code" not in json.loads((folder / "e.json").read_text())["provenance"]


def test_a_row_of_a_regression_file_has_the_hash_of_the_code(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tests").mkdir()
    file = Regressions(folder / "tests" / "rows.jsonl")
    assert file.add(file.row_of(evidence(scheme="mine.py:heun"), load_configuration()))
    (held,) = [item for item, _ in file.rows()]
    assert held.code == {"../mine.py": sha(folder / "mine.py")} and file.changes(held) == []
    (folder / "mine.py").write_text(MINE + "\n")
    (change,) = file.changes(held)
    assert "mine.py has changed" in change and held.code["../mine.py"][:12] in change
    assert main(["replay", "tests/rows.jsonl"]) == 2
    assert "mine.py has changed" in capsys.readouterr().err
    assert main(["replay", "tests/rows.jsonl", "--run-code"]) == 0
    assert "mine.py has changed" in capsys.readouterr().err


def test_a_program_asks_by_a_context_or_has_loaded_the_file(folder: Path) -> None:
    (folder / "c.toml").write_text('target.name = "theirs.py:density"\n')
    with pytest.raises(UserError, match="sgverify.run_code"):
        load_configuration("c.toml")
    with pytest.raises(UserError, match="run-code"), run_code("mine.py"):
        load_configuration("c.toml")
    with run_code("theirs.py"):
        assert load_configuration("c.toml").target.name == "theirs.py:density"
    # A value that the program gives itself is asked for.
    assert load_configuration(target={"name": "theirs.py:density"}).target.name == "theirs.py:density"
    assert sgverify.verify("sgld-euler", target={"name": "theirs.py:density"}, checks=["local-order"]).passed
    assert load_configuration("c.toml").target.name == "theirs.py:density"
    with asking(AskedCode(loaded=False)), pytest.raises(UserError, match="names code"):
        load_configuration("c.toml")


def test_stored_evidence_is_replayed_by_a_program_that_asks(folder: Path) -> None:
    from sgverify.checks import replay

    stored = evidence(scheme="theirs.py:scheme")
    with pytest.raises(UserError, match="names code"):
        replay(stored)
    assert not (folder / "ran").exists()


def test_rows_that_a_test_tries_run_no_code_unasked(folder: Path) -> None:
    row(folder / "rows.jsonl", "sgld-euler", NAMES["target.name"])
    file = Regressions(folder / "rows.jsonl")
    with pytest.raises(UserError, match=r"rows\.jsonl:1.*names code"):
        file.rows_of({"sgld-euler"}, "local-order")
    with run_code():
        assert len(file.rows_of({"sgld-euler"}, "local-order")) == 1
    assert not (folder / "ran").exists()


def test_the_files_of_a_reference_are_found_without_running_them(folder: Path) -> None:
    package = folder / "shop"
    (package / "inner").mkdir(parents=True)
    mark = f"import pathlib; pathlib.Path({str(folder / 'ran')!r}).touch()\n"
    for name, text in {
        "__init__.py": "from .first import one\n",
        "first.py": "import os.path, numpy.linalg\nfrom . import second\n",
        "second.py": "from .inner.third import three\nfrom shop import first\n",
        "inner/__init__.py": "",
        "inner/third.py": "import sgverify.schemes\nfrom ..first import one\nimport nowhere\n",
        "unused.py": "",
    }.items():
        (package / name).write_text(mark + text)
    (folder / "mine.py").write_text("from shop.first import one\nimport mine\n")
    found = {file.relative_to(folder).as_posix() for file in files_of("mine.py:x", folder)}
    assert found == {
        "mine.py",
        *(
            f"shop/{name}"
            for name in ("__init__.py", "first.py", "second.py", "inner/__init__.py", "inner/third.py")
        ),
    }
    assert {Path(file).name for file in files_of("shop.first:x", folder)} == {
        Path(name).name for name in found - {"mine.py"}
    }
    assert not (folder / "ran").exists()
    (folder / "broken.py").write_text("def (\n")
    assert hashes_of(["broken.py:x"], folder) == {"broken.py": sha(folder / "broken.py")}
    assert list(hashes_of([str(folder / "broken.py") + ":x"])) == [(folder / "broken.py").as_posix()]
    assert files_of("sgld-euler") == files_of("gone.py:x") == files_of("numpy:x") == files_of("json:x") == ()


def test_folders_without_init_inside_one_another_are_followed(tmp_path: Path) -> None:
    inner = tmp_path / "lab" / "schemes" / "mine.py"
    inner.parent.mkdir(parents=True)
    inner.write_text("import math\n")
    (tmp_path / "run.py").write_text("import lab.schemes.mine\n")
    assert [file.name for file in files_of("run.py:step", tmp_path)] == ["run.py", "mine.py"]


def test_what_another_environment_lends_is_no_code_of_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent = tmp_path / "other" / "site-packages"
    lent.mkdir(parents=True)
    (lent / "lent_library.py").write_text("")
    monkeypatch.syspath_prepend(str(lent))
    (tmp_path / "run.py").write_text("import lent_library\n")
    assert [file.name for file in files_of("run.py:step", tmp_path)] == ["run.py"]


@pytest.mark.power
def test_other_processes_ask_for_what_the_command_line_asks_for(folder: Path) -> None:
    (folder / "c.toml").write_text('target.name = "theirs.py:density"\n')
    words = [
        "verify",
        "sgld-euler",
        "--checks",
        "local-order,stationary-bias",
        "--config",
        "c.toml",
        "--run-code",
    ]
    alone, shared = (main([*words, "--json", f"{n}.json", "--workers", str(n)]) for n in (1, 2))
    assert alone == shared != 2
    assert [read_evidence(f"{n}.json").provenance.code for n in (1, 2)] == [
        {"theirs.py": sha(folder / "theirs.py")}
    ] * 2
