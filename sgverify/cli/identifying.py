"""`sgverify identify`: which published scheme is a step?"""

from __future__ import annotations

import click

from sgverify.cli.shared import output
from sgverify.cli.shared.options import CONFIG, JSON, SET
from sgverify.evidence.model import CONFORMS, INCONCLUSIVE


@click.command()
@click.argument("scheme")
@CONFIG
@SET
@JSON
def identify(scheme: str, config: str | None, settings: tuple[str, ...], json_path: str | None) -> int:
    """Say which published scheme SCHEME is, from the exact law of one step: a definition, torch code, or what an adapter takes.

    Its step size, friction, temperature and the units of its state are recovered, and the convention is named: a learning rate h^2,
    a momentum decay 1 - h D, a momentum v = h p, a gradient times N/n. What the law cannot separate is printed as a family. Where
    no scheme of the catalogue has the law, the nearest is named with the terms by which it differs.

    \b
    Examples:
      # which scheme is it?
      sgverify identify mine.py:aboba
      # under the numbers of a run; N and n name a factor of the gradient
      sgverify identify mine.py:aboba --set schedule.step=0.01 \\
        --set target.size=5000 --set gradient.batch=50
      # one that is not in the catalogue, as JSON: what is nearest?
      sgverify identify mine.py:heun --json heun.json

    Exit codes: 0 a published scheme at the handed numbers; 3 at other numbers, none, or undecided; 2 the call is wrong.
    """
    from sgverify.configuration import load_configuration

    output.check_writable(json_path)
    configuration = load_configuration(config, settings)

    from sgverify.advice.identification.identifying import identify as ask

    found = ask(scheme, configuration)
    if json_path:
        output.show_json(found.document(), json_path)
    if json_path != "-":
        with output.quiet_pipe():
            output.say_lines(found)
    return CONFORMS if found.identified else INCONCLUSIVE
