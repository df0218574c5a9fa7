"""The one command that replays a failing example."""

from __future__ import annotations

from hypothesis import currently_in_test_context, note

from sgverify.checks.questions import make_subject
from sgverify.configuration import Configuration


def replay_command(reference: str, configuration: Configuration, claim: str) -> str:
    """`sgverify verify REFERENCE --checks CLAIM --set ...`: judges the scheme under exactly this configuration.

    >>> from sgverify.configuration import load_configuration
    >>> replay_command("sghmc-aboba", load_configuration(friction=3.0), "chen2015/theorem-4")
    'sgverify verify sghmc-aboba --checks chen2015/theorem-4 --set friction=3.0'
    """
    return make_subject(reference, configuration).command("verify", "--checks", claim)


def note_replay(reference: str, configuration: Configuration, claim: str) -> None:
    """Have hypothesis print that command with the example, should it fail; outside of one, do nothing."""
    if currently_in_test_context():
        note(f"replay: {replay_command(reference, configuration, claim)}")


__all__ = ["note_replay", "replay_command"]
