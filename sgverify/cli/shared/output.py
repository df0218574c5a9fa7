"""Which output goes to which stream: results to stdout, progress and warnings to stderr, JSON to the file of `--json`?

Whatever is written there goes through `say`, `say_lines` or `say_json`: names, paths, messages and numbers come from files and
code of anybody, and no character of theirs steers a terminal or a build server.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from sgverify.cli.shared.bars import ProgressBar, ProgressLines
from sgverify.errors import COLUMNS, ConfigurationError, UserError, escaped, filled, printable
from sgverify.evidence import Evidence, Provenance, exit_code, write_evidence
from sgverify.evidence.storage import WholeAnswer
from sgverify.keeping.files import check_new, write_atomically

COLOURS = {
    "pass": "green",
    "fail": "red",
    "undecided": "yellow",
    "refuted": "bright_black",
    "not-applicable": "bright_black",
}

INDENT = " " * 4
NARROWEST = 40
"""The columns of the narrowest lines."""


def open_streams() -> None:
    """Put something in the place of a stream that is closed: a file opened later would get its number, and all that is printed.

    Writing to a closed stdout fails, since nobody gets the answer; what nobody hears on stderr is lost.
    """
    for number, name, mode in ((0, "", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, mode)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if name and getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115 - for good
        if name:
            # Whatever a place cannot hold has an escape.
            getattr(sys, name).reconfigure(errors="backslashreplace")


class Stopwatch:
    """Seconds since the command started, and its provenance."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        context = click.get_current_context()
        self._program, self._arguments = context.find_root().info_name or "", context.obj or []

    def provenance(self) -> Provenance:
        """The provenance of the evidence: versions, platform, command line and seconds."""
        command = f"{self._program} {shlex.join(self._arguments)}"
        return Provenance.gather(command=command, seconds=round(time.perf_counter() - self._started, 3))


def check_writable(json_path: str | None, option: str = "--json") -> None:
    """Raise `UserError`, before any computation, for a path that cannot be written."""
    if json_path in (None, "-"):
        return
    try:
        check_new(json_path)
    except OSError as error:
        stdout = ", or - for stdout" if option == "--json" else ""
        raise ConfigurationError(
            f"{option} {json_path!r}: cannot be written ({error.strerror}); expected a file in a folder that exists{stdout}"
        ) from None


def show(evidence: Sequence[Evidence], json_path: str | None, watch: Stopwatch) -> int:
    """Print evidence and, for several pieces, the number of each outcome; write `--json`, and return the exit code."""
    with quiet_pipe():
        if json_path:
            write_answer(json_path, evidence, watch)
        if json_path != "-":
            from sgverify.report.text import summarise, tallied

            for item in evidence:
                say_lines(wrapped(summarise(item)), item.outcome)
            if len(evidence) > 1:
                say_lines(wrapped(tallied(evidence)))
    return exit_code(evidence)


def write_answer(
    json_path: str, evidence: Sequence[Evidence], watch: Stopwatch, answer: WholeAnswer | None = None
) -> None:
    """Write evidence, and the answer that follows from it, as JSON to a file, or alone to stdout."""
    stdout = io.StringIO()
    write_evidence(stdout if json_path == "-" else json_path, evidence, watch.provenance(), answer)
    if json_path == "-":
        say_json(stdout.getvalue())


def say(line: object, outcome: str = "", *, bold: bool = False, err: bool = False) -> None:
    """Print a line in the colour of an outcome, with `err` on stderr."""
    _write(
        f"{click.style(printable(str(line)), fg=COLOURS.get(outcome), bold=bold or None)}\n",
        _colour_wanted(),
        err,
    )


def say_lines(text: object, outcome: str = "", *, bold: bool = False, err: bool = False) -> None:
    """Print a text that is laid out in lines."""
    for line in str(text).split("\n"):
        say(line, outcome, bold=bold, err=err)


def say_json(document: str) -> None:
    """Print a JSON document on stdout, with JSON's own escapes in its texts."""
    _write(escaped(document, _json_escape))


def say_command(command: str) -> None:
    """Print a command for the server that runs a build, whose own rules `github` has kept."""
    _write(f"{escaped(command)}\n")


def _json_escape(sign: str) -> str:
    units = sign.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def _write(text: str, color: bool | None = None, err: bool = False) -> None:
    """Write text; raises `UserError` where stdout does not take it. Where stderr does not, nothing more can be said."""
    try:
        click.echo(text, nl=False, color=color, err=err)
    except OSError as error:
        if not err:
            raise unwritten(error) from None


def unwritten(error: OSError) -> Exception:
    """What is told of a stdout that takes nothing more: nothing where its reader is gone, and then it is the error itself."""
    if isinstance(error, BrokenPipeError):
        return error
    close_stdout()
    return UserError(
        f"the answer could not be written to stdout: {error.strerror}; expected a place that takes it"
    )


def width() -> int:
    """The columns of a line: those of the terminal, at most `COLUMNS`, which are also used where stdout is no terminal."""
    if not sys.stdout.isatty():
        return COLUMNS
    return min(COLUMNS, max(shutil.get_terminal_size().columns, NARROWEST))


def show_fitted(evidence: Evidence) -> None:
    """Print, below the answer, the regression on the points of a rate."""
    from sgverify.report.wording import fitted_text

    said = fitted_text(evidence)
    if said:
        with quiet_pipe():
            say_lines(wrapped(f"{INDENT}{said}"))


@contextmanager
def quiet_pipe() -> Iterator[None]:
    """A context in which a closed stdout (`| head -1`) only ends the printing; the exit code is unchanged.

    Raises `UserError` if stdout cannot be written for another reason, such as a full disk.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        close_stdout()
    except OSError as error:
        raise unwritten(error) from None


def close_stdout() -> None:
    """Discard all further output to stdout."""
    # Python would try to write its buffer again at the exit, and report an error.
    with open(os.devnull, "w") as nowhere, suppress(OSError, ValueError):
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


@contextmanager
def none_of_before(*paths: str | None) -> Iterator[None]:
    """A context whose errors remove files of these paths that are as they were: an answer of an earlier call is not this one's."""
    before = {path: _state(path) for path in paths if path is not None}
    try:
        yield
    except BaseException:
        for path, state in before.items():
            if state is not None and _state(path) == state:
                Path(path).unlink(missing_ok=True)
                say(f"removed: {path}, which an earlier call wrote", err=True)
        raise


def _state(path: str) -> tuple[int, int] | None:
    """What changes when a file is written; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


@contextmanager
def kept(json_path: str | None, watch: Stopwatch, shown: Sequence[Evidence] = ()) -> Iterator[None]:
    """A context in which an error or Ctrl-C does not lose the evidence found before.

    That evidence is printed, but for what was `shown` before, and written to `--json`; then the error is raised again.
    """
    try:
        yield
    except BaseException as ended:
        from sgverify.checks.progress import evidence_until

        evidence = evidence_until(ended)
        if evidence:
            # What stands on the screen already is not printed again, but the document holds all of it.
            before = {item.id for item in shown}
            show([item for item in evidence if item.id not in before], None, watch)
            if json_path:
                write_answer(json_path, evidence, watch)
        raise


def show_result(found: Any, json_path: str | None, plot_path: str | None = None) -> None:
    """Write the document of a result to --json, print its text, and draw it into --plot where it has something to draw."""
    with quiet_pipe():
        show_document(found.document(), found, json_path)
    if plot_path and found.drawable:
        found.plot(plot_path)
        say(f"plot: {plot_path}", err=True)
    elif plot_path:
        say("no plot: nothing of this answer can be drawn", err=True)


def show_document(document: dict[str, Any], told: object, json_path: str | None) -> None:
    """Write a document to --json, and print what is told unless the document is on stdout."""
    if json_path:
        show_json(document, json_path)
    if json_path != "-":
        say_lines(told)


def show_json(document: dict[str, Any], json_path: str) -> None:
    """Write a plain JSON answer to a file, or alone to stdout."""
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if json_path == "-":
        say_json(text)
    else:
        write_atomically(json_path, text)


@contextmanager
def progress(title: str, quiet: bool = False) -> Iterator[Any]:
    """Progress on stderr: yields `update(text, done, total)`, a bar with the time left, or lines where there is no terminal.

    Nothing is written with `quiet`.
    """
    if quiet:
        yield ProgressLines(title)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        with ProgressLines(title) as lines:
            yield lines
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[percent]}", markup=False),
        TextColumn("{task.fields[counted]}", markup=False),
        TextColumn("{task.fields[left]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        yield ProgressBar(bar, title)


@contextmanager
def above(bar: ProgressBar | None) -> Iterator[None]:
    """A context in which output to the terminal stands above the progress bar."""
    if bar is None:
        yield
        return
    bar.shown.stop()
    try:
        yield
    finally:
        bar.shown.start()


def wrapped(line: str, columns: int | None = None) -> str:
    """The line, wrapped with a hanging indent at the `columns`, by default those of a terminal; whole if stdout is none."""
    if columns is None and not sys.stdout.isatty():
        return printable(line)
    return filled(line, rest=INDENT, width=columns or width())


def _colour_wanted() -> bool | None:
    """Colour only on a terminal, and never against NO_COLOR (no-color.org)."""
    return False if os.environ.get("NO_COLOR") else None
