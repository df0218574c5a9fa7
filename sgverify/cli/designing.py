"""`sgverify design`: which words over an alphabet, with which shares, have the smallest error for their gradients?"""

from __future__ import annotations

import click

from sgverify.cli.shared import output
from sgverify.cli.shared.options import JSON
from sgverify.evidence.model import CONFORMS, INCONCLUSIVE


@click.command()
@click.argument("dynamics")
@click.option(
    "--letters",
    metavar="ABO",
    help="All letters of one alphabet of the dynamics; by default the first one's.",
)
@click.option(
    "--gradients",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="The most gradients a step of a long run; one that the next step needs at the same place counts once.",
)
@click.option(
    "--order",
    type=int,
    default=2,
    show_default=True,
    metavar="R",
    help="The order of the invariant law, 1 to 4.",
)
@click.option(
    "--length", type=int, metavar="N", help="The most letters of a word; by default by gradients and order."
)
@click.option(
    "--show",
    type=int,
    default=10,
    show_default=True,
    metavar="N",
    help="The words that are proved and shown.",
)
@click.option(
    "--within",
    type=float,
    metavar="SECONDS",
    help="End the search after so much processor time; proofs come on top.",
)
@JSON
def design(
    dynamics: str,
    letters: str | None,
    gradients: int,
    order: int,
    length: int | None,
    show: int,
    within: float | None,
    json_path: str | None,
) -> int:
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

    from sgverify.advice.design import design as ask

    with output.progress("searching") as progress:
        found = ask(
            dynamics,
            letters=letters,
            gradients=gradients,
            order=order,
            length=length,
            show=show,
            within=within,
            progress=progress,
        )
    if json_path:
        output.show_json(found.document(), json_path)
    if json_path != "-":
        with output.quiet_pipe():
            click.echo(str(found))
    return CONFORMS if found.words and found.searched == found.candidates else INCONCLUSIVE
