"""The command that replays a failing example names every scheme and every configuration so that a shell loads it again."""

from __future__ import annotations

import shlex

from sgverify.cli import main
from sgverify.configuration import load_configuration
from sgverify.testing import replay_command


def test_a_generated_word_has_a_command_too() -> None:
    reference = "sgverify.strategies.words:kinetic/drift|friction+noise|kick CABAC 1/2,1/3,1,2/3,1/2"
    configuration = load_configuration(friction=3.0, test_function="theta**2 - 1/2*theta")
    words = shlex.split(replay_command(reference, configuration, "chen2015/theorem-4"))
    assert words[:3] == ["sgverify", "verify", reference]
    assert load_configuration(None, [word for word in words[3:] if "=" in word]) == configuration
    assert main(words[1:]) == 0
