"""`sgverify design`: which words over an alphabet, with which shares, have the smallest error for their gradients?"""

from __future__ import annotations

from typing import Any

import click

from sgverify.cli.shared import output
from sgverify.cli.shared.options import JSON
from sgverify.evidence.model import CONFORMS, INCONCLUSIVE


@click.command()
@click.argument("dynamics")
@click.option(
    "--letters", metavar="ABO", help="All letters of one alphabet of the dynamics; by default the first."
)
@click.option(
    "--gradients",
    default=1,
    show_default=True,
    help="The most gradients a step of a long run; one that the next step needs at the same place counts once.",
)
@click.option("--order", default=2, show_default=True, help="The order of the invariant law, 1 to 4.")
@click.option("--show", default=10, show_default=True, help="The most words that are proved and shown.")
@JSON
def design(dynamics: str, json_path: str | None, **asked: Any) -> int:
    """Search the splittings of DYNAMICS with the smallest leading error of averages, and prove what was found.

    DYNAMICS is kinetic, or a word over an alphabet of your own (path/to/file.py:scheme), whose letters are taken. Words and their
    shares are searched; the orders of one step and of the invariant law are then proved for every smooth potential, and the leading
    error on Gaussians by the exact law of the chain. Words are ranked by the error of means and variances of theta.

    \b
    Examples:
      # one gradient a step: which word is best?
      sgverify design kinetic --letters ABO --gradients 1 --order 2
      # fourth order in the invariant law, the shares found as roots
      sgverify design kinetic --gradients 3 --order 4
      # words over your own letters, as JSON
      sgverify design mine.py:aboba --json design.json

    Exit codes: 0 with words; 3 where none has the order, or the time ended before; 2 the call is wrong.
    """
    output.check_writable(json_path)

    from sgverify.advice.design.designing import design as ask

    with output.progress("searching") as progress:
        found = ask(dynamics, **asked, progress=progress)
    if json_path:
        output.show_json(found.document(), json_path)
    if json_path != "-":
        with output.quiet_pipe():
            output.say_lines(found)
    return CONFORMS if found.words and found.searched == found.candidates else INCONCLUSIVE
