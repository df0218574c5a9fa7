"""`verify --baseline`: known violations do not fail a run, and what is new, worse, gone or undecided is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from sgverify.checks.registry import CHECKS
from sgverify.cli.listing import find_schema
from tests.cli.conftest import Call

pytestmark = pytest.mark.usefixtures("undiagnosed")

# Two exact checks: of the wrong scheme both fail.
WRONG = ("verify", "mine.py:wrong", "--checks", "sgverify/stated-order,stationary-bias", "--quiet")
FILE = "known.json"


ROWS = [("sgverify/stated-order", "local-order"), ("chen2015/theorem-4", "stationary-bias")]


@pytest.fixture
def known(call: Call) -> Path:
    """A baseline of both violations, as `test_writing_excuses_nothing` has it written."""
    found = {"exponent": 0, "low": 0, "high": 0}
    violations = [
        {
            "scheme": "mine.py:wrong",
            "claim": claim,
            "check": check,
            "configuration": {},
            "found": found,
            "reason": "So.",
        }
        for claim, check in ROWS
    ]
    Path(FILE).write_text(json.dumps({"schema": "sgverify/baseline/1", "violations": violations}))
    return Path(FILE)


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def test_writing_excuses_nothing(call: Call, known: Path) -> None:
    expected = sorted(rows(known), key=lambda row: str(row["claim"]))
    known.unlink()
    answer = call(*WRONG, "--write-baseline", FILE)
    assert answer.code == 1 and answer.out.startswith("FAIL  mine.py:wrong")
    assert answer.err == f"2 violations written to {FILE}, which has 2 in all\n"
    find_schema("baseline").check(json.loads(known.read_text()), "written")
    assert [{**row, "reason": "So."} for row in rows(known)] == expected


def rows(path: Path) -> list[dict[str, object]]:
    return json.loads(path.read_text())["violations"]


def test_known_violations_do_not_fail_a_run(call: Call, known: Path) -> None:
    answer = call(*WRONG, "--baseline", FILE, "--json", "answer.json")
    assert answer.code == 0
    assert answer.out.splitlines()[-1] == f"PASS against the baseline {FILE}: 2 known violations, 0 new"
    # The scheme fails as it did: the evidence and its block say so.
    assert answer.out.startswith("FAIL  mine.py:wrong")
    stored = json.loads(Path("answer.json").read_text())["evidence"]
    assert {item["outcome"] for item in stored} == {"fail"}


def test_a_new_violation_fails_as_ever(call: Call, known: Path) -> None:
    document = json.loads(known.read_text())
    document["violations"] = [row for row in rows(known) if row["check"] == "local-order"]
    known.write_text(json.dumps(document))
    answer = call(*WRONG, "--baseline", FILE)
    assert answer.code == 1
    # Lines are wrapped.
    summary, new = answer.out[answer.out.index("FAIL against") :].split("\n", 1)
    assert summary == f"FAIL against the baseline {FILE}: 1 known violation, 1 new"
    assert " ".join(new.split()) == (
        "new: mine.py:wrong stationary-bias (chen2015/theorem-4): found h^0, required h^1"
    )
    # Another setting is another question.
    other = call(*WRONG, "--baseline", FILE, "--set", "friction=3")
    assert other.code == 1
    said = "new: mine.py:wrong local-order (sgverify/stated-order): found 0, required >= 2; 1 consequence"
    assert in_one_line(other.out).endswith(said)


def test_what_was_not_asked_stays_as_it_is(call: Call, known: Path) -> None:
    asked = (
        *WRONG[:2],
        "--checks",
        "stationary-bias",
        "--quiet",
        "--baseline",
        FILE,
        "--write-baseline",
        FILE,
    )
    told = "PASS against the baseline known.json: 1 known violation, 0 new; 1 row is about other questions"
    assert in_one_line(call(*asked).out).endswith(told) and len(rows(known)) == 2


def test_worse_and_gone_violations_are_named(call: Call, known: Path) -> None:
    text = known.read_text().replace(
        '"exponent": 0, "low": 0, "high": 0', '"exponent": 1, "low": 1, "high": 1'
    )
    known.write_text(text)
    answer = call(*WRONG, "--baseline", FILE)
    assert answer.code == 0 and "0 new; 2 of the known became worse" in in_one_line(answer.out)
    worse = "worse: mine.py:wrong local-order (sgverify/stated-order), found exponent 0, recorded 1"
    assert worse in in_one_line(answer.out)
    mine = Path("mine.py")
    mine.write_text(mine.read_text().replace("sqrt(D*T*t)", "sqrt(2*D*T*t)"))
    mended = call(*WRONG, "--baseline", FILE, "--write-baseline", FILE)
    assert mended.code == 0 and mended.out.startswith("PASS  mine.py:wrong")
    said = "PASS against the baseline known.json: 0 known violations, 0 new; 2 known violations no longer"
    assert said in in_one_line(mended.out)
    assert in_one_line(mended.out).count("no longer occurs, may be removed: mine.py:wrong") == 2
    assert max(map(len, mended.out.splitlines())) <= 80
    # Both options: compared with what the file held, then brought up to date.
    assert rows(known) == []


@pytest.mark.power  # 1.2 s
def test_what_is_undecided_is_not_made_green(
    call: Call, known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(question: object) -> None:
        raise RuntimeError("nobody foresaw it")

    # An exception that ends one check is one undecided answer.
    monkeypatch.delenv("SGVERIFY_RAISE")
    bias = CHECKS["stationary-bias"]
    monkeypatch.setattr(
        import_module("sgverify.checks.check"), "_load", _ended_for(f"sgverify.checks.{bias.place}", ended)
    )
    answer = call(*WRONG, "--baseline", FILE)
    assert answer.code == 3
    assert " ".join(answer.out.split()).endswith(
        "UNDECIDED against the baseline known.json: 1 known violation, 0 new; 1 answer undecided, which no baseline holds "
        "stays: mine.py:wrong stationary-bias (chen2015/theorem-4), undecided now"
    )
    # One file serves several schemes, and a row of what is undecided stays.
    call("verify", "sgld-euler", *WRONG[2:], "--write-baseline", FILE)
    call(*WRONG, "--write-baseline", FILE)
    assert len(rows(known)) == 2


def _ended_for(place: str, ended: Callable[[object], None]) -> Callable[[str], object]:
    """The loader of checks, but for one of them, which ends with an error."""
    load = import_module("sgverify.checks.check")._load
    return lambda asked: ended if asked == place else load(asked)


@pytest.mark.power  # 0.5 s
def test_json_stays_alone_on_stdout(call: Call, known: Path) -> None:
    answer = call(*WRONG, "--baseline", FILE, "--json", "-")
    assert answer.code == 0 and len(answer.evidence) == 2
    assert answer.err == f"PASS against the baseline {FILE}: 2 known violations, 0 new\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--baseline", "none.json"), "baseline 'none.json' does not exist; expected a file written by"),
        (("--baseline", "mine.py"), "baseline 'mine.py' is not JSON"),
        (("--write-baseline", "mine.py"), "baseline 'mine.py' is not JSON"),
        (
            ("--write-baseline", "no/such/known.json"),
            "--write-baseline 'no/such/known.json': cannot be written",
        ),
    ],
)
def test_a_wrong_file_is_refused_before_anything_is_computed(
    call: Call, words: tuple[str, ...], told: str
) -> None:
    answer = call(*WRONG, *words)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert told in answer.err
