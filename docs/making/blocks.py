"""The code blocks of a document are run in their order, and what they print is compared with the document, or written into it.

A block ```python title="mine.py" is a file; another one in Python is run, and a block ```text after it is what it prints. A block
```console has lines "$ command", each with the lines that the command prints, or without any if its output is not shown; "..." ends
an output of which the first lines are shown. A block ```sh is not run; where it has a line `pip install -e FOLDER`, the
distribution in that folder is there afterwards. A block ```yaml is not run. A document with a line <!-- needs: NAME, NAME --> is
run where modules of these names are installed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from docs.making.installing import install_editable, installations
from docs.making.places import ROOT
from sgverify.keeping.files import write_atomically

DOCUMENTS = ("README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")))
"""The documents whose blocks are run, from the root of the repository."""

MORE = "..."
"""The last line of an output that is not shown to its end."""

COLUMNS = 80
"""The width of the terminal that a command prints to: a block of the site has room for it."""

CODES = {"PASS  ": 0, "FAIL  ": 1, "UNDECIDED  ": 3, "OTHER NUMBERS  ": 3, "NONE  ": 3, "DO NOT TRUST": 3}
"""The exit code that the first word of an answer's closing block, or the first line of an identification, promises."""

_FENCE = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[\w./-]+)")?\n(?P<text>.*?)^```$', re.M | re.S
)

_NEEDS = re.compile(r"^<!-- needs: (.+) -->$", re.M)

_INSTALLED = re.compile(r"^pip install -e (\S+)$", re.M)

Run = Callable[[str], tuple[int, str]]
"""A command line to its exit code and its standard output."""


class Terminal(io.StringIO):
    """What a command prints to a terminal, kept."""

    def isatty(self) -> bool:
        """Lines are wrapped as they are for a reader."""
        return True


class BlockError(AssertionError):
    """A block of a document does not do what the document says."""


@dataclass(frozen=True)
class Block:
    """A block of code: its language, the file that it is, "" if it is none, its text, and the place of the text in the document."""

    language: str
    title: str
    text: str
    start: int

    @property
    def commands(self) -> list[tuple[str, list[str]]]:
        """The commands of a console, each with the lines that follow it."""
        found: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif not found:
                raise BlockError(f"a console block begins with a command, not with {line!r}")
            else:
                found[-1][1].append(line)
        return found


def blocks(document: str) -> list[Block]:
    """The blocks of a document; raises `BlockError` for a fence of another form."""
    found = [
        Block(match["language"], match["title"] or "", match["text"], match.start("text"))
        for match in _FENCE.finditer(document)
    ]
    if document.count("```") != 2 * len(found):
        raise BlockError("a fence of a code block has no language, or is not closed")
    return found


def lacking(document: str) -> list[str]:
    """The modules that a document needs to be run and that are not installed."""
    names = [name.strip() for found in _NEEDS.findall(document) for name in found.split(",")]
    return [name for name in names if importlib.util.find_spec(name) is None]


def needy(document: str) -> bool:
    """Does a document need modules of libraries that this package does not ask for?"""
    return _NEEDS.search(document) is not None


def in_this_process(command: str) -> tuple[int, str]:
    """Run a command of sgverify in this process, which has loaded already what a new one would load; `sed` in a shell."""
    words = shlex.split(command)
    if words[0] == "sed":
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr
    if words[0] != "sgverify":
        raise BlockError(f"only sgverify and sed are run, not {command!r}")
    from sgverify.cli import main

    printed = Terminal()
    surroundings = {"COLUMNS": str(COLUMNS), "NO_COLOR": "1"}
    with mock.patch.dict(os.environ, surroundings), contextlib.redirect_stdout(printed):
        code = main(words[1:])
    return code, printed.getvalue()


@dataclass
class Session:
    """The blocks of one document, run in the current folder; `run` takes the commands."""

    run: Run = in_this_process
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    printed: str | None = None
    metadata: Path | None = None

    def ran(self, block: Block) -> str:
        """The text of the block with what it prints; raises `BlockError` where that is of another kind than the document says."""
        printed, self.printed = self.printed, None
        if block.title:
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(block.text, "a document", "exec"), self.names)
            self.printed = output.getvalue()
        elif block.language == "console":
            return "".join(line + "\n" for line in self._console(block))
        elif block.language == "text":
            if printed is None:
                raise BlockError("a block of text follows a block of Python, whose output it shows")
            return "".join(line + "\n" for line in shown(printed, block.text.splitlines()))
        elif block.language == "sh":
            for folder in _INSTALLED.findall(block.text):
                if self.metadata is not None and Path(folder, "pyproject.toml").is_file():
                    install_editable(Path(folder), self.metadata)
        elif block.language != "yaml":
            raise BlockError(f"a block of {block.language} is not run; give it a title if it is a file")
        return block.text

    def _console(self, block: Block) -> Iterator[str]:
        for command, expected in block.commands:
            code, printed = self.run(command)
            promised = [CODES[word] for line in expected for word in CODES if line.startswith(word)]
            if code != (promised or [0])[0]:
                raise BlockError(f"`{command}` exits with {code}:\n{printed}")
            yield f"$ {command}"
            if expected:
                yield from shown(printed, expected)


def shown(printed: str, expected: list[str]) -> list[str]:
    """The lines of an output that stand in the place of the expected ones: all, or as many as there are before `MORE`."""
    lines = [line.rstrip() for line in printed.rstrip().splitlines()]
    if expected[-1:] != [MORE]:
        return lines
    if len(lines) < len(expected):
        raise BlockError(f"{MORE!r} after {len(expected) - 1} lines, and there are {len(lines)} in all")
    return [*lines[: len(expected) - 1], MORE]


def executed(document: str, session: Session | None = None) -> str:
    """The document with what its blocks print, run in the current folder."""
    session = session or Session()
    parts, end = [], 0
    with installations() as session.metadata:
        for block in blocks(document):
            parts += [document[end : block.start], session.ran(block)]
            end = block.start + len(block.text)
    return "".join([*parts, document[end:]])


def write_outputs(names: tuple[str, ...] = DOCUMENTS) -> None:
    """Write what their blocks print into the documents; each is run in a folder of its own."""
    for name in names:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        if lacking(text):
            print(
                f"{name} is left as it is: without {', '.join(lacking(text))} it cannot be run",
                file=sys.stderr,
            )
            continue
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            os.environ.setdefault("NO_COLOR", "1")
            write_atomically(path, executed(text))
