"""The entry point: exit codes, and the one line that a wrong call gets."""

from __future__ import annotations

import platform
import sys
import traceback

import click

import sgverify
from sgverify.cli.calibrating import calibrate
from sgverify.cli.commands import errata, list_, rate, replay, report, verify
from sgverify.cli.planted import mutants
from sgverify.cli.sampling import INTERRUPTED, sample
from sgverify.cli.splitting import bch
from sgverify.errors import UserError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(sgverify.__version__, prog_name="sgverify")
def cli() -> None:
    """Does a stochastic-gradient MCMC integrator do what the theory promises, and how sure are we?

    Exit codes: 0 conforms, 1 something violates, 3 something is inconclusive, 2 the call is wrong, 4 internal error.
    """


for _command in (verify, rate, bch, errata, list_, mutants, report, replay, calibrate, sample):
    cli.add_command(_command)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; the console script exits with it."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        return int(cli.main(arguments, prog_name="sgverify", standalone_mode=False, obj=arguments) or 0)
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
    except BrokenPipeError:
        # The reader of stdout went away (`| head`): that is its business, not an error.
        sys.stderr.close()
        return 0
    except Exception:
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
