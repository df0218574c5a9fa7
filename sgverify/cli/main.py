"""How does the command line start and end: entry point, exit codes, and the one-line message of a wrong call?"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import platform
import shlex
import sys
import traceback
import warnings
from typing import Any

import click

import sgverify
from sgverify.cli.advising import advise, design, identify, width
from sgverify.cli.bounding import bound
from sgverify.cli.campaigning import campaign
from sgverify.cli.commands import doctor, errata, list_, new, rate, replay, report
from sgverify.cli.comparing import compare
from sgverify.cli.listing import schema
from sgverify.cli.sampling import sample
from sgverify.cli.shared import output
from sgverify.cli.shared.options import WITHIN
from sgverify.cli.splitting import bch
from sgverify.cli.stored import diff
from sgverify.cli.verifying import verify
from sgverify.code_files import RAN
from sgverify.errors import PluginWarning, UserError, printable, shortened
from sgverify.evidence.crash import Crash
from sgverify.keeping.places import check_working_folder
from sgverify.keeping.stopping import Stopped, limited, raising, stopped
from sgverify.keeping.workers import of_the_program
from sgverify.named_code import named_on
from sgverify.schemes.user_files import loaded_once
from sgverify.user_code import unending
from sgverify.watching import watched

BROKEN_PIPE = 128 + 13
"""The exit code if the reader of stdout is gone, as of a program ended by SIGPIPE: it stands for no answer."""


MOVED = {
    "app": "python -m reports.applications",
    "mutants": "python -m reports power",
    "calibrate": "python -m reports calibration",
}
"""Commands of 0.1 that are made from a checkout now; named for one release."""


class _Commands(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        """The names in the order in which the commands were added."""
        return list(self.commands)

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of the first argument. Raises `UserError` for one that has moved."""
        if arguments[0] in MOVED:
            name, *rest = arguments
            raise UserError(
                f"{name}: this command left the package; expected `{shlex.join([*MOVED[name].split(), *rest])}` in a checkout "
                "of the repository; call that"
            )
        return super().resolve_command(context, arguments)

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


QUICK = (bch, list_, new, errata, doctor, schema)
"""The commands that take seconds whatever they are asked."""

# In the order in which a newcomer meets them, each with what it is for in one line of a terminal of 80 columns.
for _command, _short in (
    (verify, "Judge a scheme, or torch code: is it right, and how sure is that?"),
    (rate, "One rate of a scheme, beside the one that is claimed."),
    (bch, "The order of a splitting, and its leading commutators."),
    (identify, "Which published scheme is a step?"),
    (advise, "Which scheme, step size and gradient estimator for a target?"),
    (width, "How wide are draws at a step size and batch? Without drawing."),
    (bound, "What holds at a step size for every potential of a class?"),
    (compare, "Schemes side by side: orders, stability, bias for its gradients."),
    (design, "Which splitting has the smallest error for its gradients?"),
    (sample, "Draw from a target by a scheme."),
    (report, "Judge every claim of a paper, or a list of your own, as pages."),
    (errata, "What papers print, and what holds."),
    (campaign, "Judge many schemes and settings, on many processes."),
    (diff, "What changed between two answers, reports or stores?"),
    (replay, "Compute stored evidence again."),
    (list_, "Schemes, targets, gradients, schedules, keys, claims, checks ..."),
    (new, "A package of your own: scheme, target, check, paper or adapter."),
    (doctor, "Is this installation in order? Versions, and a self-test."),
    (schema, "The JSON schemas of what is written."),
):
    _command.short_help = _short
    if _command not in QUICK:
        _command.params.append(WITHIN)
    cli.add_command(_command)


def _meant(error: click.NoSuchOption) -> str:
    """The option that takes a quantity of this letter, as --step takes H, or else the key of the configuration; "" for none."""
    name, options = error.option_name.lstrip("-"), error.ctx.command.params if error.ctx else []
    found = [option.opts[0] for option in options if getattr(option, "metavar", None) == name.upper()]
    from sgverify.configuration.loading import ALIASES

    keyed = any("--set" in option.opts for option in options)
    return next(iter(found), f"--set {ALIASES[name]}=..." if name in ALIASES and keyed else "")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; the console script exits with it."""
    return run_program(cli, "sgverify", arguments)


def run_program(commands: click.Group, program: str, arguments: list[str] | None = None) -> int:
    """Run a group of commands as the program of that name, with the messages and exit codes of sgverify, and return its exit code.

    None stands for the arguments of this process, which ends then.
    """
    if arguments is None:
        output.open_streams()
        # A segmentation fault in somebody's code is named with its line.
        faulthandler.enable(2)
        # In a process of this program: until its end, nothing may change its exit code.
        _PROCESS.enter_context(unending())
        warnings.formatwarning = _told
        of_the_program()
        try:
            with raising():
                return run(commands, sys.argv[1:], program)
        finally:
            # The interpreter waits for other threads before it ends.
            _PROCESS.enter_context(watched())
            # Output of other libraries at the exit does not belong to the result.
            sys.stdout = sys.stderr
    return run(commands, arguments, program)


_PROCESS = contextlib.ExitStack()
"""The contexts that stay entered until the process ends."""


def run(commands: click.Group, arguments: list[str], program: str = "sgverify") -> int:
    """Run one command of a program and return its exit code; errors of the user are one line, others a traceback."""
    half = next((word for word in arguments if not _encodable(word)), None)
    if half is not None:
        return _refuse(
            f"{half!r} holds half a character; expected words that a command line can have; mend it"
        )
    try:
        check_working_folder()
        with limited(), named_on(arguments), loaded_once(), watched():
            code = int(commands.main(arguments, prog_name=program, standalone_mode=False, obj=arguments) or 0)
        with output.quiet_pipe():
            sys.stdout.flush()
        return code
    except click.exceptions.NoArgsIsHelpError as help_text:
        output.say_lines(help_text.format_message())
        return 2
    except click.UsageError as error:
        place = error.ctx.command_path if error.ctx else program
        if isinstance(error, click.NoSuchOption) and (meant := _meant(error)):
            error = click.UsageError(
                f"No such option {error.option_name!r}. Did you mean {meant!r}?", error.ctx
            )
        return _refuse(shortened(f"{error.format_message().rstrip('.')}; see `{place} --help`"))
    except click.ClickException as error:
        return _refuse(shortened(error.format_message()))
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        # Code that was being loaded may have made another exception of it.
        stop = stopped() or (Stopped() if isinstance(error, KeyboardInterrupt | click.Abort) else None)
        if stop is not None:
            output.say(stop.said, err=True)
            return stop.code
        if isinstance(error, UserError):
            return _refuse(str(error), error.paste)
        return _unforeseen(error, f"{program} {shortened(shlex.join(arguments))}")


def _unforeseen(error: BaseException, command: str) -> int:
    """Say what an exception is that nobody raised on purpose, and return the exit code: 4 where sgverify is at fault."""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, OSError) and files[-1] == click.utils.__file__:
        # By --help and --version, which write on stdout themselves.
        return _refuse(str(output.unwritten(error)))
    crash = Crash.of(error)
    if (
        crash.starved
        or crash.changed
        or (not crash.ours and any(os.path.realpath(file) in RAN for file in files))
    ):
        return _refuse(crash.reason)
    output.say_lines("".join(traceback.format_exception(error)).rstrip(), err=True)
    output.say(
        "sgverify: internal error, not your fault. Please report the traceback above with the command",
        err=True,
    )
    output.say(f"  {command}", err=True)
    versions = f"sgverify {sgverify.__version__}, Python {platform.python_version()}, {platform.platform()}"
    output.say(f"and the versions: {versions}", err=True)
    return 4


def _told(message: Warning | str, category: type[Warning], *place: Any, **line: Any) -> str:
    """A warning about an installed distribution is a sentence of ours; the line of code that found it out says nothing."""
    if issubclass(category, PluginWarning):
        return f"warning: {printable(str(message))}\n"
    return _FORMAT(message, category, *place, **line)


_FORMAT = warnings.formatwarning


def _encodable(word: str) -> bool:
    """Can a command line have the word? Half a character cannot be written anywhere."""
    try:
        os.fsencode(word)
    except UnicodeEncodeError:
        return False
    return True


def _refuse(message: str, paste: str = "") -> int:
    output.say(f"error: {shortened(message)}", err=True)
    if paste:
        output.say_lines(paste, err=True)
    return 2
