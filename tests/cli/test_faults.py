"""What used to crash, hang or be echoed whole: exit code 2 and one line of bounded length, before anything is computed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sgverify.errors import LONGEST, LONGEST_WORD, UserError, shortened, shown
from tests.cli.conftest import Call
from tests.tables import each_row

LONG = "x" * 20_000
DEEP = 100_000


def refused(call: Call, *words: str, says: str) -> None:
    answer = call(*words)
    assert answer.code == 2, answer
    assert answer.out == ""
    assert answer.err.startswith("error: ") and answer.err.count("\n") == 1, answer.err
    assert len(answer.err) < LONGEST + 200
    assert says in answer.err


SIZES = [
    *((f"{key}=1e308", f"{key}=1e+308") for key in ("friction", "temperature", "start", "schedule.step")),
    *((f"{key}=5e-324", f"{key}=5e-324") for key in ("friction", "temperature", "schedule.step")),
    ("gradient.scale=1e308", "1e-100 to 1e+100"),
    ("gradient.clip=1e308", "1e-100 to 1e+100"),
    ("level=5e-324", "1e-100 to 1e+100"),
    ("chains=99999999999999999999999", "less than or equal to 10000000"),
    ("chains=9e22", "less than or equal to 10000000"),
    ("steps=1e300", "less than or equal to 1000000000000"),
    ("burn_in=1e300", "less than or equal to 1000000000000"),
    ("seed=99999999999999999999999", "seed=99999999999999999999999: expected less than"),
    ("target.data_seed=99999999999999999999999", "expected a whole number from 0"),
    ("steps=2.0000000000000000000000000000000001", "0000001: expected a whole number"),
    ("seed=0.99999999999999999999", "seed=0.99999999999999999999: expected a whole number"),
    ("target.size=1e300", "(301 characters)"),
    ("schedule.step=1e-400", "would be read as 0"),
    ("test_function=theta*1e-400", "too large or too fine"),
    ("seed=0x" + "f" * 20_000, "a int of thousands of digits"),
    ("friction=" + "9" * 5000, "4300 digits"),
    ("friction=" + "[" * 2000 + "]" * 2000, "maximum recursion depth"),
    ("target.name=a\0b.py:c", "no file can have this name"),
    ("target.file=a\0b.csv", "no file can have this name"),
    ("target.file=" + "x" * 300 + ".csv", "File name too long"),
    ("target.file=/dev/zero", "a device, and no regular file"),
]


@each_row(("setting", "says"), SIZES)
def test_numbers_that_float64_cannot_follow(call: Call, setting: str, says: str) -> None:
    refused(call, "verify", "sghmc-aboba", "--set", setting, says=says)


NAMES = [
    ("psgld-1e400-0", "expected the decay of the mean square"),
    ("sghmc-nogin-1e400", "the variance of the gradient noise"),
    ("sghmc-nogin-1e99999999999", "the variance of the gradient noise"),
    ("sghmc-nogin-" + "9" * 5000, "the variance of the gradient noise"),
    ("sghmc-chen-" + "ABO" * 70, "210 letters; expected at most 150"),
    ("sghmc-md-" + LONG, "expected at most 150"),
    (LONG, "unknown scheme"),
    ("a\0b", "unknown scheme"),
    ("\udcff", "unknown scheme"),
]


@each_row(("name", "says"), NAMES)
def test_names_of_schemes(call: Call, name: str, says: str) -> None:
    refused(call, "rate", name, "--quantity", "local-order", says=says)


ECHOED = [
    *(f"{key}={LONG}" for key in ("friction", "start_momentum", "dtype", "gradient.kind", "target.name")),
    *(f"{key}={LONG}" for key in ("target.file", "test_function", "partition.preset")),
    f"{LONG}=1",
    "=" + LONG,
    "a." * 5000 + "b=1",
    "sweep.steps=[" + "1," * 9000 + "x]",
    "target.data=[" + "1," * 9000 + "'x']",
    "\udcff=1",
]


@pytest.mark.parametrize("setting", ECHOED, ids=[setting[:20] for setting in ECHOED])
def test_no_value_is_echoed_whole(call: Call, setting: str) -> None:
    refused(call, "verify", "sghmc-aboba", "--set", setting, says="")


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "sgld-euler", "--checks"),
        ("verify", "sgld-euler", "--workers"),
        ("verify", "sgld-euler", "--format"),
        ("verify", "sgld-euler", "--config"),
        ("verify", "sgld-euler", "--baseline"),
        ("rate", "sgld-euler", "--quantity"),
        ("report", "--suite"),
        ("replay",),
        ("list",),
        ("errata",),
        ("schema",),
        ("new", "scheme"),
        ("bch", "ABA", "--coefficients"),
    ],
    ids=" ".join,
)
def test_no_argument_is_echoed_whole(call: Call, words: tuple[str, ...]) -> None:
    refused(call, *words, LONG, says="")


FILES = {
    "brackets.toml": ("start = " + "[" * 2000 + "]" * 2000, "maximum recursion depth"),
    "tables.toml": ("[a" + ".a" * 3000 + "]\nb = 1\n", "nested too deeply"),
    "brackets.json": ("[" * DEEP + "]" * DEEP, "maximum recursion depth"),
    "digits.json": ('{"seed": ' + "9" * 5000 + "}", "4300 digits"),
    "digits.toml": ("seed = " + "9" * 5000, "4300 digits"),
    "twice.json": ('{"seed": 1, "seed": 2}', "'seed' is given 2 times"),
    "twice.toml": ("seed = 1\nseed = 2\n", "Cannot overwrite a value"),
    "dotted.json": ('{"gradient.kind": "iid", "gradient": {"kind": "full"}}', "given twice"),
    "fine.json": ('{"schedule": {"step": 1e-400}}', "would be read as 0"),
    "long.toml": (f'start_momentum = "{LONG}"', "expected 'zero' or 'stationary'"),
}


@pytest.mark.parametrize(
    ("name", "content", "says"), [(name, *row) for name, row in FILES.items()], ids=FILES
)
def test_configurations_beyond_what_is_read(
    call: Call, tmp_path: Path, name: str, content: str, says: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    refused(call, "verify", "sgld-euler", "--config", name, says=says)


STORED = {
    "list.json": ("[]", "holds no evidence"),
    "brackets.json": ("[" * DEEP + "]" * DEEP, "not JSON"),
    "digits.json": ("9" * 5000, "not JSON"),
    "twice.json": ('{"schema": "sgverify/evidence/1", "schema": "x"}', "'schema' is given 2 times"),
    "none.jsonl": ("", "no rows"),
    "brackets.jsonl": ("[" * DEEP, "is not JSON"),
    "twice.jsonl": ('{"scheme": "a", "scheme": "b"}', "is not JSON"),
}


@pytest.mark.parametrize(
    ("name", "content", "says"), [(name, *row) for name, row in STORED.items()], ids=STORED
)
def test_stored_evidence_beyond_what_is_read(
    call: Call, tmp_path: Path, name: str, content: str, says: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    refused(call, "replay", name, says=says)


@pytest.mark.parametrize("place", ["pipe", "/dev/zero", "folder", "circle", "nul\0", "x" * 300])
@pytest.mark.parametrize(
    "words",
    [("verify", "sgld-euler", "--config"), ("verify", "sgld-euler", "--baseline"), ("replay",)],
    ids=" ".join,
)
def test_places_that_hold_no_file(call: Call, tmp_path: Path, words: tuple[str, ...], place: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    os.symlink("circle", tmp_path / "circle")
    refused(call, *words, place, says="")


@pytest.mark.parametrize("name", ["nul\0", "x" * 300, "nosuch/x", "circle"])
@pytest.mark.parametrize(
    ("words", "suffix"),
    [
        (("verify", "sgld-euler", "--json"), ".json"),
        (("verify", "sgld-euler", "--plot"), ".svg"),
        (("verify", "sgld-euler", "--html"), ".html"),
        (("verify", "sgld-euler", "--badge"), ".svg"),
        (("verify", "sgld-euler", "--write-baseline"), ".json"),
        (("sample", "sgld-euler", "--out"), ".nc"),
        (("sample", "sgld-euler", "--out"), ".zarr"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[2],
)
def test_places_that_cannot_be_written(
    call: Call, tmp_path: Path, words: tuple[str, ...], suffix: str, name: str
) -> None:
    os.symlink(f"circle{suffix}", tmp_path / f"circle{suffix}")
    refused(call, *words, name + suffix, says="")


def test_a_report_has_no_folder_of_an_impossible_name(call: Call) -> None:
    refused(call, "report", "--out", "a\0b", says="no file can have this name")


def test_a_pipe_that_nobody_reads_ends_the_call(call: Call, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    answer = call("list", "schemes", "--json", "pipe")
    assert answer.code == 2 and "cannot write" in answer.err


def test_a_name_of_bytes_that_are_no_text_is_written(call: Call, tmp_path: Path) -> None:
    answer = call("verify", "sgld-euler", "--checks", "local-order", "--json", "a\udcff.json")
    assert answer.code == 0, answer.err
    assert b"\\udcff.json" in Path("a\udcff.json").read_bytes()


def test_words_of_bch(call: Call) -> None:
    refused(call, "bch", "AB" * 3000, says="6000 letters: expected at most 5000")
    answer = call("bch", "AB" * 100)
    assert answer.code == 0
    assert "conjugate words are not looked for: 200 letters" in answer.out


def test_the_number_of_processes(call: Call) -> None:
    refused(call, "verify", "sgld-euler", "--workers", "9" * 30, says="1<=x<=512")


def test_messages_are_shortened_in_one_place() -> None:
    assert shortened("a b") == "a b"
    assert shortened("x" * LONGEST_WORD) == "x" * LONGEST_WORD
    message = str(UserError(f"key='{LONG}': expected 1 to 3; mend it"))
    assert (
        message.startswith("key='xxx")
        and message.endswith("': expected 1 to 3; mend it")
        and len(message) < 200
    )
    many = str(UserError("given " + "[1, 2], " * 9000 + "expected none"))
    assert len(many) < LONGEST + 50 and many.endswith("expected none")
    assert shown(10**5000) == "a int of thousands of digits"
