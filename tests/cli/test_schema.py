"""`sgverify schema`: every document that a command writes has a published schema, and follows it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import sgverify
from sgverify.cli.listing import KINDS, SCHEMAS, find_schema
from tests.cli.conftest import Call
from tests.cli.test_bch import YOSHIDA

PACKAGE = Path(sgverify.__file__).parent
FEW = ("--set", "chains=2", "--set", "steps=40")


def test_the_names_are_listed_with_what_they_describe(call: Call) -> None:
    answer = call("schema")
    assert (answer.code, answer.err) == (0, "")
    assert [line.split()[0] for line in answer.out.splitlines()] == list(SCHEMAS)
    assert all(len(line.split()) > 4 for line in answer.out.splitlines())


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_of_its_own_documents_name(call: Call, name: str) -> None:
    document = call("schema", name).document
    Draft202012Validator.check_schema(document)
    written = document["properties"]["schema"]["const"]
    assert re.fullmatch(rf"sgverify/{name}/[0-9]+", written)
    assert call("schema", written).document == document


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("evidance", "did you mean 'evidence'?"),
        ("sgverify/lists/1", "did you mean 'list'?"),
        ("evidence/7", "this version of sgverify writes 'sgverify/evidence/1'"),
        ("", "evidence, "),
    ],
)
def test_another_name_is_refused_with_the_nearest(call: Call, name: str, says: str) -> None:
    answer = call("schema", name)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert says in answer.err


def test_no_document_is_written_without_a_schema() -> None:
    """Every name of the form sgverify/kind/version in the package is one of them."""
    named = {
        found
        for path in PACKAGE.rglob("*.py")
        for found in re.findall(r"[\"']sgverify/[a-z-]+/[0-9]+[\"']", path.read_text(encoding="utf-8"))
    }
    assert sorted(text.strip("\"'") for text in named) == sorted(find_schema(name).name for name in SCHEMAS)


BCH = [
    ("AB",),
    ("ABA", "--modified", "--order-conditions", "symmetric", "--degree", "3"),
    ("AA", "--coefficients", "1/2,1/2"),
    ("BAOA",),
    ("ABOBA", "--conjugate-to", "OBABO"),
    ("ABO", "--conjugate-to", "OBA"),
    ("ABABABA", "--coefficients", "yoshida4"),
    ("ABABABA", "--coefficients", YOSHIDA),
    ("ABABABA", "--coefficients", YOSHIDA, "--decimals", "rounded"),
    ("ABA", "--coefficients", "0.21,1,0.79"),
]

DOCUMENTS = [
    *[("bch", "bch", *call) for call in BCH],
    *[("list", "list", kind) for kind in KINDS],
    ("draws", "sample", "sgld-euler", *FEW),
    # Too few draws for a table.
    ("draws", "sample", "sgld-euler", "--set", "chains=2", "--set", "steps=2"),
    ("errata", "errata", "chen2015/algorithm-2"),
    ("width", "width", "gaussian-mean", "sgld-euler", "--step", "1e-4"),
    ("bound", "bound", "sgld-euler", "--m", "1", "--L", "10", "--step", "0.05"),
    ("comparison", "compare", "sghmc-baoab", "sghmc-aboba"),
    ("evidence", "rate", "sghmc-aboba", "--quantity", "local-order"),
    ("evidence", "verify", "sgld-euler", "--checks", "local-order"),
]


@pytest.mark.parametrize("words", DOCUMENTS, ids=lambda words: " ".join(words)[:40])
def test_a_written_document_follows_its_schema(call: Call, words: tuple[str, ...]) -> None:
    name, *command = words
    answer = call(*command, "--json", "-")
    # Draws of so few steps are not to be trusted.
    assert answer.code == (3 if name == "draws" else 0)
    find_schema(name).check(answer.document, "the answer")


def test_a_key_too_many_is_found(call: Call) -> None:
    document = call("bch", "ABA", "--json", "-").document
    for broken in ({**document, "oder": 2}, {key: document[key] for key in document if key != "order"}):
        with pytest.raises(sgverify.errors.UserError, match="does not follow"):
            find_schema("bch").check(broken, "the answer")


def test_the_names_are_listed_without_what_validates() -> None:
    program = (
        "import sys; from sgverify.cli import main; main(['schema']);"
        "sys.exit(bool({'pydantic', 'jsonschema', 'torch', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_schema_is_json_alone(call: Call) -> None:
    assert json.loads(call("schema", "evidence").out)["title"] == "sgverify evidence, version 1"
