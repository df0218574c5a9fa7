"""The commands of the reports that have options of their own: `python -m reports power` and `python -m reports calibration`."""

from __future__ import annotations

import click

from reports.making.calibration.command import calibration
from reports.making.power.command import power

PROGRAM = "python -m reports"

_COMMANDS = click.Group(
    "reports",
    commands=[power, calibration],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code, with errors as `sgverify` reports them."""
    from sgverify.cli.main import run

    return run(_COMMANDS, arguments, PROGRAM)
