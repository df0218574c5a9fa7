"""`sgverify new`: a distribution to start from, that adds an item to what sgverify knows."""

from __future__ import annotations

from pathlib import Path

import click

from sgverify.cli.shared import output

ITEMS = ("scheme", "target", "check", "paper", "adapter")


@click.command("new")
@click.argument("kind", metavar="|".join(ITEMS))
@click.argument("name")
@click.option(
    "--in",
    "parent",
    default=".",
    show_default=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="The folder in which the new folder NAME is made.",
)
def new(kind: str, name: str, parent: str) -> int:
    """Write a working distribution NAME, with its test, that adds a scheme, a target, a check, a paper or an adapter.

    \b
    Examples:
      # a scheme of your own, known by its name once it is installed
      sgverify new scheme my-scheme
      # a check with its claim and the bug that it finds
      sgverify new check my-check

    Then `pip install -e NAME` and `pytest NAME`. Nothing is overwritten, and a name that is taken is refused.
    """
    from sgverify.skeletons.writing import write_skeleton

    for path in write_skeleton(kind, name, Path(parent)):
        output.say(path.relative_to(parent) if path.is_relative_to(parent) else path)
    output.say(f"install it: pip install -e {Path(parent, name)}", err=True)
    return 0
