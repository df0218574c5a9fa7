"""The command that a stored document holds, read back: also where it holds none."""

from __future__ import annotations

import pytest

from sgverify.evidence.published import Command


@pytest.mark.parametrize("line", ["", "sgverify", "sgverify rate"])
def test_a_line_without_a_whole_command_is_read_as_what_it_has(line: str) -> None:
    asked = Command.read(line)
    assert (asked.reference, asked.options, asked.option("--method")) == ("", (), None)
    assert asked.verb == (line.split() + ["", ""])[1]


def test_words_with_spaces_come_back() -> None:
    asked = Command("verify", "my step.py:a", ("--set", "test_function=theta + 1"))
    assert Command.read(str(asked)) == asked
