"""How does the command line start and end: entry point, exit codes, and the one-line message of a wrong call?"""

from __future__ import annotations

import contextlib
import platform
import sys
import traceback
from typing import Any

import click

import sgverify
from sgverify.cli import output
from sgverify.cli.advising import advise
from sgverify.cli.calibrating import calibrate
from sgverify.cli.commands import doctor, errata, list_, rate, replay, report
from sgverify.cli.planted import mutants
from sgverify.cli.sampling import INTERRUPTED, sample
from sgverify.cli.schemas import schema
from sgverify.cli.splitting import bch
from sgverify.cli.verifying import verify
from sgverify.cli.workers import of_the_program
from sgverify.errors import UserError
from sgverify.user_code import unending

BROKEN_PIPE = 128 + 13
"""The exit code if the reader of stdout is gone, as of a program ended by SIGPIPE: it stands for no answer."""


class _Commands(click.Group):
    def invoke(self, context: click.Context) -> Any:
        """Run a command; a closed stdout (`| head`) is not an error, while click would exit with 1."""
        try:
            return super().invoke(context)
        except BrokenPipeError:
            output.close_stdout()
            return BROKEN_PIPE


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(sgverify.__version__, prog_name="sgverify")
def cli() -> None:
    """Does a stochastic-gradient MCMC integrator do what the theory promises, and how sure are we?

    Exit codes: 0 conforms, 1 something violates, 3 something is inconclusive, 2 the call is wrong, 4 internal error.
    """


for _command in (
    verify,
    rate,
    bch,
    errata,
    list_,
    mutants,
    report,
    replay,
    calibrate,
    sample,
    schema,
    advise,
    doctor,
):
    cli.add_command(_command)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; the console script exits with it."""
    if arguments is None:
        # In a process of this program: until its end, nothing may change its exit code.
        _PROCESS.enter_context(unending())
        of_the_program()
        try:
            return _run(sys.argv[1:])
        finally:
            # Output of other libraries at the exit does not belong to the result.
            sys.stdout = sys.stderr
    return _run(arguments)


_PROCESS = contextlib.ExitStack()
"""The contexts that stay entered until the process ends."""


def _run(arguments: list[str]) -> int:
    try:
        code = int(cli.main(arguments, prog_name="sgverify", standalone_mode=False, obj=arguments) or 0)
        with output.quiet_pipe():
            sys.stdout.flush()
        return code
    except click.exceptions.NoArgsIsHelpError as help_text:
        click.echo(help_text.format_message())
        return 2
    except click.UsageError as error:
        place = error.ctx.command_path if error.ctx else "sgverify"
        return _refuse(f"{error.format_message().rstrip('.')}; see `{place} --help`")
    except click.ClickException as error:
        return _refuse(error.format_message())
    except UserError as error:
        return _refuse(str(error))
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except (Exception, SystemExit):
        traceback.print_exc()
        click.echo(
            "sgverify: internal error, not your fault. Please report the traceback above with the command\n"
            f"  sgverify {' '.join(arguments)}\n"
            f"and the versions: sgverify {sgverify.__version__}, Python {platform.python_version()}, {platform.platform()}",
            err=True,
        )
        return 4


def _refuse(message: str) -> int:
    click.echo(f"error: {message}", err=True)
    return 2
