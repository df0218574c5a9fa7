"""`python -m reports.applications`: the models of the papers, run by the names and options of the applications."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from reports.applications import registry
from sgverify.cli.main import run_program
from sgverify.cli.shared import bars, output
from sgverify.errors import UserError

if TYPE_CHECKING:
    from reports.applications.application import Application, Option

PROGRAM = "python -m reports.applications"

PLACE = "sgverify-app-{name}"
"""The folder of a result, unless --out names another one."""


class _Applications(click.Group):
    """The applications by name; each is loaded, without torch, when it is asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        return [*registry.APPLICATIONS, *self.commands]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return self.commands.get(name) or _command(registry.find_application(name))


@click.group(
    cls=_Applications, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
def applications() -> None:
    """Sample a model of a paper with the paper's samplers, and say which of its statements are reproduced.

    \b
    Examples:
      # the models that there are
      python -m reports.applications --help
      # topics of a generated corpus, in a reduced run
      python -m reports.applications lda --quick --out topics

    A run that was killed goes on where it was when the same command is given again, to the same bits. The default ends within five
    minutes on two cores, --quick within one.
    """


@applications.command()
def schema() -> int:
    """Print the JSON schema (draft 2020-12) of a result, sgverify/app/1."""
    from reports.applications.result import APPLICATION

    with output.quiet_pipe():
        click.echo(json.dumps(APPLICATION.schema(), indent=2, ensure_ascii=False))
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return run_program(applications, PROGRAM, arguments)


def _command(application: Application) -> click.Command:
    def run(
        out: str | None,
        seed: int,
        seeds: int | None,
        quick: bool,
        again: bool,
        json_path: str | None,
        **given: Any,
    ) -> int:
        from reports.applications.running import run_application
        from reports.applications.writing import SUMMARY

        output.check_writable(json_path)
        folder = PLACE.format(name=application.name) if out is None else out
        if not folder:
            raise UserError("--out '': expected a folder; leave it out for the default")
        command = shlex.join([*PROGRAM.split(), *(click.get_current_context().obj or [])])
        with output.progress(application.name) as progress:
            found = run_application(
                application.name,
                out=folder,
                seed=seed,
                seeds=seeds,
                quick=quick,
                again=again,
                progress=progress,
                command=command,
                **given,
            )
        if json_path:
            output.show_json(found.document(), json_path)
        if json_path != "-":
            with output.quiet_pipe():
                click.echo(found.found.summary)
                for item in found.found.findings:
                    click.echo(f"{item.verdict}: {item.statement} ({item.source}). {item.reason}")
                click.echo(f"written to {folder}/{SUMMARY}; {bars.duration(found.seconds)}")
        return 0

    options: list[click.Parameter] = [_option(option) for option in application.options]
    options += [
        click.Option(
            ["--out"],
            metavar="DIR",
            help=f"The folder of the result, and of an unfinished run; by default {PLACE.format(name=application.name)}.",
        ),
        click.Option(
            ["--seed"],
            type=click.IntRange(0, 2**63 - 1),
            default=0,
            show_default=True,
            help="The seed of all random numbers.",
        ),
        click.Option(
            ["--seeds"],
            type=click.IntRange(1, 512),
            metavar="N",
            help="Independent chains of each setting; by default 2, with --quick 1. Standard errors need 2.",
        ),
        click.Option(["--quick"], is_flag=True, help="A reduced run, within a minute."),
        click.Option(["--again"], is_flag=True, help="Discard an unfinished run in the folder."),
        click.Option(
            ["--json", "json_path"], metavar="FILE|-", help="Write the answer as JSON; - is stdout."
        ),
    ]
    return click.Command(
        application.name,
        callback=run,
        params=options,
        help=f"{application.summary}\n\nSource: {application.source}.",
    )


def _option(option: Option) -> click.Option:
    kinds = {int: click.INT, float: click.FLOAT, str: click.STRING}
    told = option.help
    if option.default is not None and not option.many:
        told += f"  [default: {option.default}{f'; with --quick {option.quick}' if option.quick is not None else ''}]"
    elif option.many and option.default:
        told += f" May be given several times.  [default: {', '.join(map(str, option.default))}]"
    return click.Option(
        [f"--{option.name}", option.name.replace("-", "_")],
        type=kinds[option.kind],
        multiple=option.many,
        metavar=option.metavar,
        help=told,
    )


if __name__ == "__main__":
    sys.exit(main())
