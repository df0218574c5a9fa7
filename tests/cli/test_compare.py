"""`sgverify compare`: files, exit codes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Call
from tests.tables import each_row


def test_files_and_figure_are_written_and_exit_codes_say_whether_every_scheme_has_a_curve(
    call: Call, tmp_path: Path
) -> None:
    asked = ("compare", "mine.py:aboba", "sgnht-aboba", "mine.py:aboba", "--target", "gaussian")
    answer = call(*asked, "--out", "out", "--plot", "a.pdf", "--json", "c.json")
    # The thermostat's law is not compared: it has no curve, and the reason is said.
    assert answer.code == 3 and "the law of `thermostat` is not compared" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF") and (tmp_path / "out" / "table.tex").exists()
    document = json.loads((tmp_path / "c.json").read_text())
    assert document["schema"] == "sgverify/comparison/1" and len(document["schemes"]) == 2


@each_row(
    ("words", "said"),
    [
        (("sghmc-baoab", "--plot", "a.gif"), "expected a file that ends in"),
        (("sghmc-baoab", "sghmc-aboba", "--error", "-1"), "error=-1.0: expected a number above 0"),
        (("sghmc-baoba",), "sghmc-baoab"),
        (("sgnht-aboba",), "scheme='sgnht-aboba': no scheme of the catalogue"),
        (
            ("sghmc-baoab", "sghmc-aboba", "--target", "nothing", "--out", "mine.py"),
            "out='mine.py': it is a file",
        ),
        ((), "Missing argument"),
    ],
)
def test_a_wrong_call_ends_in_one_line(call: Call, words: tuple[str, ...], said: str) -> None:
    answer = call("compare", *words)
    assert answer.code == 2 and said in answer.err and answer.err.count("error:") == 1
