"""`verify --format github`: annotations at the user's lines, escaped, and no more than GitHub shows."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from sgverify.cli.shared import github
from sgverify.cli.shared.github import MOST, Annotation, annotations_of
from sgverify.evidence import Evidence, Found, Predicted
from sgverify.verdict.results import Results
from tests.cli.conftest import Call

COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::([^\r\n]*)")


def read(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Level, properties and message of each annotation, read as GitHub's runner reads them."""
    found = []
    for line in text.splitlines():
        if line.startswith("::"):
            match = COMMAND.fullmatch(line)
            assert match, line
            level, properties, message = match.groups()
            pairs = dict(part.split("=", 1) for part in properties.split(","))
            found.append((level, {key: unescaped(value) for key, value in pairs.items()}, unescaped(message)))
    return found


def unescaped(text: str) -> str:
    for escape, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, character)
    return text


def test_a_failure_is_an_error_at_the_line_that_the_mend_edits(call: Call) -> None:
    asked = ("verify", "mine.py:wrong", "--checks", "local-order,stationary-bias")
    plain, answer = call(*asked), call(*asked, "--format", "github")
    # What is printed otherwise is printed too, and the exit code stays.
    assert (answer.code, plain.code) == (1, 1) and answer.out.startswith(plain.out)
    assert "required >= 2; 1 consequence\n" in plain.out
    ((level, properties, message),) = read(answer.out)
    assert (level, properties["file"], properties["line"]) == ("error", "mine.py", "13")
    assert properties["title"] == "sgverify: FAIL local-order: found 0, required >= 2"
    lines = message.split("\n")
    assert lines[0] == "mine.py:wrong: local-order: found 0, required >= 2; 1 consequence"
    assert (
        "cause: the diffusion of p is D T/2 where kinetic has D T: the noise is too small by sqrt(2)" in lines
    )
    assert any(line.startswith("mend: mine.py, line 13: sqrt(D*T*t) -> sqrt(2*D*T*t)") for line in lines)
    assert lines[-1] == "replay: sgverify verify mine.py:wrong --checks sgverify/stated-order"


def test_a_pass_has_no_annotation_and_text_is_the_default(call: Call) -> None:
    asked = ("verify", "mine.py:aboba", "--checks", "stationary-bias", "--set", "gradient.kind=iid")
    plain = call(*asked)
    assert "refuted" in plain.out
    assert call(*asked, "--format", "github").out == call(*asked, "--format", "text").out == plain.out


@pytest.mark.power  # 0.9 s
def test_files_are_named_from_the_root_of_the_repository(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "mine.py").write_text((tmp_path / "mine.py").read_text())
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    monkeypatch.chdir(folder)
    asked = ("verify", "mine.py:wrong", "--checks", "stationary-bias", "--quiet", "--format", "github")
    assert read(call(*asked).out)[0][1]["file"] == "package/mine.py"
    # A file outside of it has no lines that GitHub could show.
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "elsewhere"))
    assert set(read(call(*asked).out)[0][1]) == {"title"}


def test_a_broken_definition_is_an_error_at_its_line(call: Call, tmp_path: Path) -> None:
    text = (tmp_path / "mine.py").read_text().replace("grad(guess)", "grad(gues)")
    (tmp_path / "mine.py").write_text(text)
    answer = call("verify", "mine.py:heun", "--format", "github")
    ((level, properties, message),) = read(answer.out)
    assert (answer.code, level, properties["file"], properties["line"]) == (2, "error", "mine.py", "8")
    assert "gues" in message and answer.err.count("\n") == 1
    assert call("verify", "mine.py:heun").out == ""


@pytest.mark.usefixtures("undiagnosed")
def test_known_violations_are_notices_and_new_ones_errors(call: Call) -> None:
    asked = ("verify", "mine.py:wrong", "--checks", "local-order,stationary-bias", "--quiet")
    call(*asked, "--write-baseline", "known.json")
    github_ = (*asked, "--baseline", "known.json", "--format", "github")
    known = call(*github_)
    ((level, properties, message),) = read(known.out)
    assert (known.code, level) == (0, "notice")
    # The definition's line; the title says how many.
    assert (properties["line"], properties["title"]) == ("16", "sgverify: known violations: 2")
    assert "sgverify/stated-order (local-order)" in message and "theorem-4 (stationary-bias)" in message
    path = Path("known.json")
    path.write_text(
        path.read_text().replace('"exponent": 0, "low": 0, "high": 0', '"exponent": 1, "low": 1, "high": 1')
    )
    worse = call(*github_)
    assert worse.code == 0 and [level for level, _, _ in read(worse.out)] == ["warning", "warning"]
    Path("mine.py").write_text(Path("mine.py").read_text().replace("sqrt(D*T*t)", "sqrt(2*D*T*t)"))
    gone = read(call(*github_).out)
    assert [level for level, _, _ in gone] == ["notice"] and "no longer occur" in gone[0][1]["title"]


@pytest.mark.power  # 1.0 s
def test_a_new_violation_beside_known_ones_has_no_cause_that_may_be_theirs(call: Call) -> None:
    call(
        "verify", "mine.py:wrong", "--checks", "stationary-bias", "--quiet", "--write-baseline", "known.json"
    )
    answer = call(
        *("verify", "mine.py:wrong", "--checks", "local-order,stationary-bias", "--quiet"),
        *("--baseline", "known.json", "--format", "github"),
    )
    errors = [(properties, message) for level, properties, message in read(answer.out) if level == "error"]
    ((properties, message),) = errors
    assert answer.code == 1 and "local-order" in properties["title"]
    assert "cause:" not in message and "mend:" not in message


def test_json_and_annotations_do_not_share_stdout(call: Call) -> None:
    answer = call("verify", "mine.py:wrong", "--format", "github", "--json", "-")
    assert (answer.code, answer.out) == (2, "") and "write the JSON to a file" in answer.err
    assert "'text', 'github'" in call("verify", "mine.py:wrong", "--format", "gitlab").err


def item(number: int, verdict: str = "inconclusive", check: str = "stationary-bias") -> Evidence:
    return Evidence(
        scheme="sghmc-aboba", claim="chen2015/theorem-4", check=check, method="exact", verdict=verdict,  # type: ignore[arg-type]
        configuration={"number": number}, predicted=Predicted(2), found=Found(number, number, number),
        reason=f"Sentence {number}: 50 %,\r\nin two lines.",
    )  # fmt: skip


def test_of_many_the_last_sums_up_the_others() -> None:
    for count in (MOST, MOST + 1, 30):
        found = annotations_of(Results([item(number) for number in range(count)]))
        assert len(found) == MOST and {one.level for one in found} == {"warning"}
    assert found[-1].title == f"sgverify: {30 - MOST + 1} more of this kind"
    assert all(f"Sentence {number}:" in found[-1].message for number in range(MOST - 1, 30))
    # Errors and warnings have ten each.
    failing = [item(number, "violates", "local-order") for number in range(12)]
    found = annotations_of(Results([*failing, *(item(number) for number in range(12))]))
    assert [one.level for one in found] == ["error"] * MOST + ["warning"] * MOST


def test_what_an_annotation_says_survives_the_runner() -> None:
    given = Annotation("error", "a: b, 50 %", "50 %,\r\n:: %0A\nc", "folder, one/my:file.py", 3)
    assert len(given.command.splitlines()) == 1
    assert read(given.command) == [
        ("error", {"file": given.file, "line": "3", "title": given.title}, given.message)
    ]


def test_nothing_that_applies_is_a_warning() -> None:
    (found,) = annotations_of(Results([item(1, "not-applicable")]))
    assert (found.level, found.file) == (
        "warning",
        None,
    ) and "nothing that was asked applies" in found.message
    assert annotations_of(Results([item(1, "conforms")])) == []


def test_the_line_is_that_of_the_definition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    Path("mine.py").write_text("# one\n@decorated\ndef step(): ...\n\nclass Own: ...\nword = 3\nword = 4\n")
    lines = {
        name: github.SourcePlace.of(f"mine.py:{name}").line
        for name in ("step", "Own", "word", "word.scheme", "no")
    }
    assert lines == {"step": 3, "Own": 5, "word": 7, "word.scheme": 7, "no": None}
    assert (
        github.SourcePlace.of("sghmc-aboba")
        == github.SourcePlace()
        == github.SourcePlace.of("no.such.module:scheme")
    )
    inside = github.SourcePlace.of("sgverify.schemes.catalogue.plain:sgld_euler")
    assert inside.file is None and replace(inside, path=None) == github.SourcePlace()
