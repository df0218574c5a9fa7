"""The code blocks of the pages in docs/ are run, and print what is shown; planted errors are found."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from docs.making.blocks import (
    DOCUMENTS,
    Block,
    BlockError,
    Session,
    blocks,
    executed,
    in_this_process,
    lacking,
    needy,
    shown,
)
from docs.making.pages import PAGES
from docs.making.places import ROOT, named, place_of, targets
from tests.inner_run import run_inside

TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in DOCUMENTS}
RUN = [name for name in DOCUMENTS if name != "README.md" and blocks(TEXTS[name]) and not needy(TEXTS[name])]
NEEDY = [name for name in DOCUMENTS if needy(TEXTS[name])]
SAMPLED = "sgnht"
"""Commands on thermostats sample, for some seconds."""


def without_code(text: str) -> str:
    return re.sub(r"(^```.*?^```$|`[^`\n]+`)", "", text, flags=re.MULTILINE | re.DOTALL)


def files(name: str) -> dict[str, str]:
    return {block.title: block.text for block in blocks(TEXTS[name]) if block.title}


def commands(name: str) -> list[str]:
    return [line for b in blocks(TEXTS[name]) if b.language == "console" for line, _ in b.commands]


@pytest.mark.parametrize("name", RUN)
def test_every_block_is_run_and_prints_what_is_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m docs.making docs/NAME.md` writes the outputs anew."""

    def run(command: str) -> tuple[int, str]:
        return (0, "") if SAMPLED in command else in_this_process(command)

    monkeypatch.chdir(tmp_path)
    assert executed(TEXTS[name], Session(run)) == TEXTS[name]


@pytest.mark.wild
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NEEDY)
def test_pages_about_other_libraries_are_run_where_these_are(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lacking(TEXTS[name]):
        pytest.skip(f"not installed: {', '.join(lacking(TEXTS[name]))}")
    monkeypatch.chdir(tmp_path)
    assert executed(TEXTS[name]) == TEXTS[name]


@pytest.mark.power
def test_what_samples_is_run_too() -> None:
    sampled = [line for name in RUN for line in commands(name) if SAMPLED in line]
    assert sampled
    assert [line for line in sampled if in_this_process(line)[0] != 0] == []


def test_the_test_suite_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = files("docs/test-suite.md")
    assert given["test_mine.py"].count("max_examples=20") == 1
    # Three examples are enough to see that the property is judged.
    given["test_mine.py"] = given["test_mine.py"].replace("max_examples=20", "max_examples=3")
    for name, text in given.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    result = run_inside(tmp_path, capsys, "test_mine.py")
    out = result.stdout.str()
    assert result.ret == 0, out
    assert "pieces of evidence: " in out and "passed" in out
    assert re.search(r"properties that held: 1, under [2-9] configurations: \d pass", out)


@pytest.mark.power  # 5 s
def test_the_tests_of_a_sampler_library_name_cause_and_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of two samplers is broken: its test begins with FAIL, the cause and the mend, and the other's passes."""
    monkeypatch.chdir(tmp_path)
    given = files("docs/maintainers.md")
    wrong = given["samplers.py"].replace("2 * a * lr * T", "a * lr * T")
    assert wrong != given["samplers.py"]
    one_check = given["test_samplers.py"].replace(', "stationary-bias"', "")
    # The modules of one process share their names.
    (tmp_path / "torch_samplers.py").write_text(wrong, encoding="utf-8")
    (tmp_path / "test_samplers.py").write_text(one_check.replace("from samplers", "from torch_samplers"))
    result = run_inside(tmp_path, capsys, "test_samplers.py")
    out = result.stdout.str()
    assert "1 failed, 1 passed" in out, out
    told = out[out.index("FAIL  torch_samplers.py:SGHMC: local-order: ") :].splitlines()
    assert told[1].startswith("  cause       the noise")
    assert any(line.startswith("  mend        torch_samplers.py, line ") for line in told[:6])


def test_the_density_is_a_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("banana.py").write_text(files("docs/sampling.md")["banana.py"], encoding="utf-8")
    # Three steps are too few for a verdict, and enough to see that it is sampled and held against the stated average.
    few = "--set target.name=banana.py:banana --set test_function=theta[0]**2 --set chains=256 --set sweep.steps=[0.4,0.2,0.1]"
    code, out = in_this_process(f"sgverify rate sgld-euler --quantity stationary-bias {few} --json -")
    assert code == 3, out
    (evidence,) = json.loads(out)["evidence"]
    assert evidence["method"] == "monte-carlo" and "a rate needs 4" in evidence["reason"]
    assert len(evidence["points"]) == 3
    # At the smallest step the average is nearer to the stated 1 than to 0, what it would be if nothing were stated.
    assert abs(min(evidence["points"], key=lambda point: point["step"])["value"]) < 0.5


def test_the_numbers_are_those_of_the_committed_reports() -> None:
    """Planted bugs, how many of them were found somewhere, and the cases that were judged for alarms."""
    text = TEXTS["docs/trust.md"]
    planted = json.loads((ROOT / "reports" / "power" / "kill_matrix.json").read_text(encoding="utf-8"))[
        "mutants"
    ]
    cited = [mutant for mutant in planted if mutant["source"] != "constructed"]
    assert f"{len(planted)} [planted bugs]" in text and f"{len(cited)} of them" in text
    assert all(mutant["cheapest"] for mutant in planted) and "each\n  is killed" in text
    alarms = (ROOT / "reports" / "power" / "false_alarms.md").read_text(encoding="utf-8")
    judged = {kind: int(count) for kind, count in re.findall(r"## (\w+): (\d+) cases, 0 alarms", alarms)}
    assert f"{judged['exact']:,} for the checks" in text and f"{judged['sampled']:,} for those" in text


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_leads_somewhere(name: str) -> None:
    missing = [
        path
        for path in targets(TEXTS[name], name)
        if place_of(path) not in PAGES and not (ROOT / path).is_file()
    ]
    assert missing == []
    # A code host does not have the generated pages: they are named in brackets, which the site makes links.
    assert not any(place_of(path) in PAGES for path in targets(TEXTS[name], name))
    on_the_site = targets(named(TEXTS[name], PAGES), name)
    mentioned = sum(place_of(path) in PAGES for path in on_the_site)
    assert mentioned == len(re.findall(r"\[[a-z]+\](?![\[(:])", without_code(TEXTS[name])))


def session(code: int = 0, printed: str = "one\ntwo\n") -> Session:
    return Session(run=lambda command: (code, printed))


@pytest.mark.parametrize(
    ("document", "run"),
    [
        ("```\nx\n```", session()),
        ("```python\nx = 1\n", session()),
        ("```toml\nx = 1\n```", session()),
        ("```text\nx\n```", session()),
        ("```console\none\n```", session()),
        ("```console\n$ sgverify x\n```", session(code=1)),
        ("```console\n$ sgverify x\nFAIL  x\n```", session(code=0)),
        ("```console\n$ sgverify x\n1\n2\n...\n```", session()),
        ("```console\n$ rm x\n```", Session()),
    ],
)
def test_a_block_that_does_not_do_what_it_says_is_found(document: str, run: Session) -> None:
    with pytest.raises(BlockError):
        executed(document, run)


def test_outputs_are_replaced_by_those_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    document = "a\n```console\n$ sgverify x\nold\n```\n```console\n$ sgverify x\nold\n...\n```\n"
    assert executed(document, session()) == document.replace("old\n...", "one\n...").replace(
        "old", "one\ntwo"
    )
    document = '```python title="m.py"\nprint(2)\n```\n```python\nimport math\nprint(math.pi > 3)\n```\n```text\n?\n```\n'
    assert executed(document, session()) == document.replace("?", "True")
    assert (tmp_path / "m.py").read_text() == "print(2)\n"
    assert blocks(document)[0] == Block("python", "m.py", "print(2)\n", 23)
    assert shown("one \n\n", ["x"]) == ["one"]
