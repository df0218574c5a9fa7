"""Which options do several commands share, and what do they do?"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from sgverify.cli.shared import output
from sgverify.errors import ConfigurationError, UserError
from sgverify.evidence import Evidence
from sgverify.keeping.stopping import set_deadline
from sgverify.named_code import run_code

if TYPE_CHECKING:
    from sgverify.keeping.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])


def _ask(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value:
        context.with_resource(run_code())


RUN_CODE = click.option(
    "--run-code",
    is_flag=True,
    expose_value=False,
    callback=_ask,
    help="Run code that a given file names, such as a target in a Python file; without it only code that is named on the command "
    "line runs.",
)


def CONFIG(command: Command) -> Command:
    """The options --config and --run-code."""
    return click.option("--config", metavar="FILE", help="Configuration, TOML or JSON.")(RUN_CODE(command))


SET = click.option(
    "--set",
    "settings",
    multiple=True,
    is_eager=True,
    metavar="KEY=VALUE",
    help="Set one key, over --config; the last wins.",
)


_SCALES = {
    "--standardise": "Of a regression: run chains in the coefficients of covariates of mean 0 and standard deviation 1.",
    "--intercept": "Of a regression from a file: a first column of ones.",
    "--whiten": "Run chains in theta = m + A z, A from the Hessian at the mode. Draws are those of theta.",
}


def SCALES(command: Command) -> Command:
    """The flags that stand for `target.standardise=true` and the like, and `--names` for `target.names`, among the settings."""

    def add(context: click.Context, option: click.Parameter, value: bool) -> None:
        if value:
            context.params["settings"] = (*context.params.get("settings", ()), f"target.{option.name}=true")

    def name(context: click.Context, option: click.Parameter, value: str | None) -> None:
        if value is not None:
            listed = json.dumps([name.strip() for name in value.split(",")])
            context.params["settings"] = (*context.params.get("settings", ()), f"target.names={listed}")

    said = "Names of the coordinates of theta, by default those of the covariates of a file."
    command = click.option("--names", metavar="A,B,...", expose_value=False, callback=name, help=said)(
        command
    )
    for flag, said in reversed(_SCALES.items()):
        command = click.option(flag, is_flag=True, expose_value=False, callback=add, help=said)(command)
    return command


def _within(context: click.Context, option: click.Parameter, value: float | None) -> None:
    if value is not None and not 0 < value < float("inf"):
        raise ConfigurationError(
            f"--within {value:g}: expected a number of seconds above 0; give one, or leave it out"
        )
    if value is not None:
        set_deadline(value)


WITHIN = click.Option(
    ["--within"],
    type=float,
    metavar="SECONDS",
    expose_value=False,
    callback=_within,
    help="End after so many seconds: what was answered is kept, and what was not is named (exit 3).",
)

PROCESSES = click.IntRange(1, 512)
"""How many processes `--workers` may ask for."""


def _place(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value == "":
        raise click.UsageError("--json '': expected a file, or - for stdout", context)
    output.check_writable(value)
    return value


def CURVATURES(command: Command) -> Command:
    """The options --m and --L."""
    largest = click.option("--L", "L", type=float, metavar="L", help="The largest curvature of U.")
    return click.option("--m", type=float, metavar="M", help="The smallest curvature of U, above 0.")(
        largest(command)
    )


JSON = click.option(
    "--json", "json_path", metavar="FILE|-", callback=_place, help="Write the answer as JSON; - is stdout."
)


def drawn(said: str) -> Callable[[Command], Command]:
    """The option --plot; a picture that cannot be written is refused before any computation."""
    return click.option("--plot", "plot_path", metavar="FILE.svg|png|pdf", callback=_check_plot, help=said)


def _check_plot(context: click.Context, option: click.Parameter, path: str | None) -> str | None:
    if path is not None:
        from sgverify.report.svg import check_plot_path

        check_plot_path(path)
        output.check_writable(path, "--plot")
    return path


PLOT = drawn("Draw the violated rate, or else the first rate.")


def plot(evidence: Sequence[Evidence], path: str | None) -> None:
    """Draw one rate of the evidence, a violated one if there is any, and name it on stderr."""
    if path is None:
        return
    from sgverify.report.rate_plot import draw_rate, rate_to_draw

    drawn = rate_to_draw(evidence)
    if drawn is None:
        output.say("no plot: nothing of this is a rate in h or L with points to draw", err=True)
        return
    draw_rate(drawn).save(path)
    output.say(f"plot of {drawn.claim} ({drawn.check}), {drawn.outcome}: {path}", err=True)


HTML = click.option(
    "--html",
    "page_path",
    metavar="FILE.html",
    help="Write the whole answer as one page that opens from disk.",
)
BADGE = click.option(
    "--badge",
    "badge_path",
    metavar="FILE.svg",
    help="Write the outcome as a small picture: pass, fail or undecided.",
)


def check_written(path: str | None, option: str, *suffixes: str) -> None:
    """Raise `ConfigurationError`, before any computation, for a file of another kind, or one that cannot be written."""
    if path is None:
        return
    if not path.lower().endswith(suffixes):
        raise ConfigurationError(
            f"{option} {path!r}: expected a file that ends in {' or '.join(suffixes)}; name one"
        )
    output.check_writable(path, option)


@dataclass(frozen=True)
class StoreChoice:
    """What `--store` and `--fresh` say: the place, None for the default one, and whether everything is computed anew."""

    place: str | None = None
    fresh: bool = False

    def opened(self) -> Store | None:
        """The store; None where it is off. Raises `UserError`, before any computation, for a named file that is none.

        The file in the cache folder, which nobody named, only costs a message where it cannot be used; so does a named one on a
        full disk, where another process holds it, or where others can write beside it.
        """
        from sgverify.keeping.store import VARIABLE, CannotKeepError, OptionalStore

        try:
            return OptionalStore.open(self.place, say=partial(output.say, err=True))
        except UserError as error:
            named = self.place is not None or os.environ.get(VARIABLE)
            if named and not isinstance(error, CannotKeepError):
                raise
            output.say(f"nothing is kept: {error}", err=True)
            return None


def STORE(command: Command) -> Command:
    """The options --store and --fresh, as one `StoreChoice`, the argument `choice`."""

    @wraps(command)
    def chosen(*given: Any, store_place: str | None, fresh: bool, **more: Any) -> Any:
        if store_place == "":
            raise click.UsageError("--store '': expected a file, or off for none")
        return command(*given, choice=StoreChoice(store_place, fresh), **more)

    place = click.option(
        "--store",
        "store_place",
        metavar="FILE|off",
        help="Keep answers in this file, and take from it what the same code answered before; off keeps none. By default the file "
        "that SGVERIFY_STORE names, else store.sqlite in the user's cache folder.",
    )
    anew = click.option(
        "--fresh", is_flag=True, help="Compute everything, whatever the store has, and keep that."
    )
    return cast(Command, place(anew(chosen)))
