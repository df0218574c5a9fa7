"""Command lines, drawn from the tree of the commands: every command with every option, valid, doubled, missing and hostile."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import cache
from typing import cast

import click

from reports.applications.__main__ import applications
from sgverify.cli.main import cli
from tests.fuzz.case import Case
from tests.fuzz.documents import DEFINITION

APPLICATIONS = "app"
"""The first word of a command line of `python -m reports.applications`; other lines are those of sgverify."""

ARGUMENTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "verify": (("sgld-euler",), ("mine.py:euler",), ("resgld",)),
    "rate": (("sgld-euler", "--quantity", "local-order"), ("mine.py:euler", "--quantity", "bias")),
    "sample": (("sgld-euler",), ("mine.py:euler",)),
    "identify": (("sgld-euler",), ("mine.py:euler",)),
    "advise": (("gaussian-mean",), ("gaussian", "sgld-euler")),
    "bch": (("ABA",), ("ABCBA", "--degree", "3")),
    "list": (("schemes",), ("claims",)),
    "schema": ((), ("evidence",)),
    "new": (("scheme", "mine-new"), ("target", "their-target")),
    "replay": (("none.json",), ("none.jsonl",)),
    "diff": (("none.json", "none.json"),),
    "campaign": (("none.toml",),),
    "app lda": (("--quick",), ("--quick", "--documents", "60", "--words", "30", "--out", "out")),
    "app sbn": (("--quick",), ("--quick", "--hidden", "2", "--out", "out")),
}
"""Arguments with which a command runs; other commands need none."""

COSTLY = frozenset({"report", "errata", "doctor", "campaign", "app lda", "app sbn", "app classifier"})
"""The commands whose every run takes long: they never compute here."""

WORDS = (
    *(
        "",
        " ",
        "-",
        "--",
        "---",
        "-h",
        "--help",
        "0",
        "1",
        "-1",
        "1.5",
        "nan",
        "1e999",
        "9" * 400,
        "sgld-euler",
        "sgld",
        "mine.py:euler",
    ),
    *(
        "mine.py",
        "mine.py:",
        ":x",
        "mine.py:nothing",
        "no.py:x",
        "os:system",
        "json:loads",
        "sgverify:verify",
        "numpy:pi",
        "mine.py:sqrt",
    ),
    *(
        "/",
        ".",
        "..",
        "/dev/null",
        "/dev/zero",
        "/proc/self/mem",
        "no/such/folder/file.json",
        "n" * 300 + ".json",
        "n" * 20_000,
    ),
    *(
        "out.json",
        "out.svg",
        "out.html",
        "out.txt",
        "out.nc",
        "out.zarr",
        "out",
        "ä\u202e.json",
        "a\nb",
        "\x1b[31m",
        "\ud800",
        "a\x00b",
    ),
    *(
        "A" * 60,
        "ABA",
        "ABCDEFGHIJ",
        "AAAA",
        "A1",
        "äö",
        "sghmc-ABCD",
        "sghmc-" + "AB" * 40,
        "sghmc-nogin-1e400",
        "psgld-1e400-0",
    ),
    *(
        "1/2,1,1/2",
        "1/0",
        "1e400,1",
        "nan",
        "1/2" * 2000,
        ",",
        "local-order,",
        "local-order,local-order",
        "%s{}",
        "'; rm -rf /; '",
    ),
    *(
        "friction=3",
        "friction",
        "=",
        "a.b.c=1",
        "friction=3=4",
        "steps=64",
        "github",
        "text",
        "chen2015",
        "evidence/9",
        "claims",
    ),
)
"""Words for arguments and values."""

FIGURES = (
    *("0", "1", "2", "3", "7", "64", "1000", "-1", "0.5", "1e-9", "1e9", "1e308", "1e-400", "inf", "nan"),
    *(
        "1000000",
        "1000000000",
        "9223372036854775807",
        "9223372036854775808",
        "9" * 400,
        "9" * 5000,
        "1_0",
        "0x10",
    ),
)
"""Words for numbers."""


@cache
def commands() -> Mapping[str, click.Command]:
    """Every command by its words; a group and each command of it."""
    found: dict[str, click.Command] = {}
    for name, command in {**cli.commands, APPLICATIONS: applications}.items():
        found[name] = command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for inner in command.list_commands(context):
                found[f"{name} {inner}"] = cast("click.Command", command.get_command(context, inner))
    return found


def cases(draw: random.Random) -> Iterator[Case]:
    """One case after another, without end; every option of every command in turn."""
    while True:
        for name, command in commands().items():
            for parameter in command.params:
                yield _with_parameter(draw, name, parameter)
            yield _random_words(draw, name)
            yield _misspelt(draw, name, command)
        yield Case("command", (draw.choice(WORDS), *draw.sample(WORDS, draw.randrange(3))))


def _base(draw: random.Random, name: str) -> tuple[str, ...]:
    return (*name.split(), *draw.choice(ARGUMENTS.get(name, ((),))))


def _files() -> dict[str, bytes | None]:
    return {"mine.py": DEFINITION.encode(), "folder": None}


def _with_parameter(draw: random.Random, name: str, parameter: click.Parameter) -> Case:
    base = _base(draw, name)
    if isinstance(parameter, click.Argument):
        return Case(
            "argument",
            (*name.split(), *draw.sample(WORDS, draw.choice((0, 1, 1, 2)))),
            _files(),
            computes=_computes(draw, name, 0.3),
        )
    option = draw.choice([*parameter.opts, *parameter.secondary_opts])
    number = isinstance(parameter.type, click.types.FloatParamType | click.types.IntParamType)
    words = FIGURES if number and draw.random() < 0.7 else WORDS
    if getattr(parameter, "is_flag", False):
        given: tuple[str, ...] = draw.choice(
            ((option,), (option, option), (f"{option}=1",), (option, draw.choice(WORDS)))
        )
    else:
        given = tuple(
            part
            for _ in range(draw.choice((1, 1, 1, 2)))
            for part in draw.choice(
                (
                    (option, draw.choice(words)),
                    (f"{option}={draw.choice(words)}",),
                    (option, "folder"),
                    (option,),
                )
            )
        )
    return Case("option", (*base, *given), _files(), computes=_computes(draw, name, 0.15))


def _computes(draw: random.Random, name: str, share: float) -> bool:
    return draw.random() < share and name not in COSTLY


def _random_words(draw: random.Random, name: str) -> Case:
    return Case("words", (*_base(draw, name), *draw.sample(WORDS, draw.randrange(1, 4))), _files())


def _misspelt(draw: random.Random, name: str, command: click.Command) -> Case:
    """An option that no command has must be refused."""
    known = [
        text for parameter in command.params if isinstance(parameter, click.Option) for text in parameter.opts
    ]
    option = draw.choice(known or ["--help"])
    wrong = draw.choice(
        (
            f"{option}x",
            f"--{option}",
            f"--{option[2:].replace('-', '_')}_",
            option.upper(),
            "--no-such-option",
        )
    )
    if wrong in known or any(text.startswith(wrong) for text in known):
        wrong = "--no-such-option"
    return Case("option", (*_base(draw, name), wrong), _files(), must="be refused")
