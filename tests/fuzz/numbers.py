"""Numbers as they come, for every key and option: any float of 64 bits, and decimals of many digits. Each case computes."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import click

from sgverify.cli.main import cli
from sgverify.configuration.model import SCHEDULE_KINDS
from sgverify.gradients import ESTIMATORS, READERS
from sgverify.targets.registry import TARGETS
from tests.fuzz.case import Case
from tests.fuzz.keys import names, schema, schema_of
from tests.fuzz.literals import spelled, valid

QUICK = ("--set", "steps=64", "--set", "chains=4")
"""Settings under which what is drawn is drawn at once."""

LINES: tuple[tuple[str, ...], ...] = (
    ("verify", "sgld-euler", "--checks", "local-order", "--quiet"),
    ("verify", "sghmc-aboba", "--checks", "local-order", "--quiet"),
    ("verify", "sgld-euler", "--checks", "stationary-bias", "--quiet", "--set", "target.name=gaussian"),
    ("rate", "sghmc-baoab", "--quantity", "stationary-bias", "--set", "target.name=gaussian"),
    ("rate", "sgld-euler", "--quantity", "bias", "--set", "target.name=gaussian"),
    ("rate", "sgld-euler", "--quantity", "mse", "--set", "gradient.kind=iid"),
    ("rate", "sghmc-aboba", "--quantity", "wasserstein-2", "--set", "target.name=gaussian"),
    ("sample", "sgld-euler", *QUICK),
    ("sample", "sghmc-aboba", *QUICK, "--set", "target.name=double-well"),
    ("identify", "sgld-euler"),
    ("advise", "gaussian"),
    ("width", "gaussian-mean", "sgld-euler", "--step", "0.001"),
    ("design", "kinetic", "--letters", "AB"),
)
"""Command lines that answer within a second or two, to which keys are added."""

TABLES: Mapping[str, tuple[str, ...]] = {
    "exchange": ("sample", "resgld", *QUICK),
    "annealing": ("sample", "resgld", *QUICK),
    "partition": ("sample", "awsgld", *QUICK),
    "target": ("sample", "sgld-euler", *QUICK),
    "adapter": ("verify", "sgld-euler", "--checks", "local-order", "--quiet"),
}
"""The command line on which the keys of a table are read, where that is one of a composite."""

CORE = (
    "temperature",
    "friction",
    "schedule.step",
    "start",
    "level",
    "temperature",
    "friction",
    "schedule.step",
)
"""The keys that nearly every computation reads: they are drawn more often, and beside others."""

BOTH = ("--checks", "local-order,stationary-bias")

NUMBERS = [
    ("verify", "sghmc-aboba", *BOTH, "--set", "friction=2.3949436547772383"),
    ("verify", "sgld-euler", "--set", "steps=2.0000000000000000000000000000000001"),
    ("advise", "gaussian", "--error", "1e-300"),
]
"""The first cases: those that once failed."""


EDGES = (
    *("nan", "inf", "-inf", "0", "-0.0", "5e-324", "2.2250738585072014e-308", "1.7976931348623157e308"),
    *("1e100", "1e-100", "9007199254740993", "1e16", "4.0", "0.30000000000000004"),
)
"""Numbers at the ends of what floats are, and of what a configuration takes."""


def number(draw: random.Random, low: float = 0.0, high: float = 100.0) -> str:
    """A number as a file has it: mostly one between the ends, with all digits or more, of any size that may be followed."""
    chance = draw.random()
    if chance < 0.45:
        return repr(low + (high - low) * draw.random() ** draw.choice((1, 3)))
    if chance < 0.6:
        # Of any size that a configuration takes.
        size = draw.uniform(1.0, 10.0) * 10.0 ** draw.randrange(-100, 100)
        return repr(min(low + size, high) if high < 100 else low + size)
    if chance < 0.92:
        digits = "".join(draw.choices("0123456789", k=draw.choice((17, 20, 34, 60))))
        return (
            f"0.{digits}"
            if high <= 1
            else f"{1 + draw.randrange(9)}.{digits}{draw.choice(('', 'e-3', 'e2', 'e-40'))}"
        )
    return draw.choice(EDGES) if chance < 0.95 else repr(struct.unpack("<d", draw.randbytes(8))[0])


def cases(draw: random.Random) -> Iterator[Case]:
    """One case after another, without end: the keys that hold numbers in turn, then the options that do."""
    yield from (Case("number", words, computes=True) for words in NUMBERS)
    keys = [key for key in names() if _holds_numbers(schema_of(key))]
    while True:
        for key in draw.sample([*keys, *12 * CORE], len(keys) + 12 * len(CORE)):
            yield _of_keys(draw, key)
        for words in LINES:
            for option in cli.commands[words[0]].params:
                if isinstance(option.type, click.types.FloatParamType):
                    given = f"{option.opts[0]}={number(draw, 0, 1)}"
                    yield Case("number of an option", (*words, given), computes=True)


def _of_keys(draw: random.Random, key: str) -> Case:
    """A case of a key, where it is read: on a target, gradient and schedule that have it; often with keys that all read."""
    table, _, own = key.rpartition(".")
    words = TABLES.get(table) or draw.choice(LINES[:-1])
    literals = {key: _literal(draw, schema_of(key))}
    if key == "schedule.step" and draw.random() < 0.7:
        # Below the stability limits of the targets.
        literals[key] = number(draw, 0.0, 0.001)
    for other in CORE[:3]:
        if draw.random() < 0.2:
            literals.setdefault(other, _literal(draw, schema_of(other)))
    if table == "target":
        # On other targets than Gaussians a rate takes grids, and more than the time of a case.
        words = draw.choice(
            (TABLES["target"], TABLES["target"], ("rate", "sgld-euler", "--quantity", "local-order"))
        )
        having = [name for name, kind in TARGETS.shipped.items() if own in kind.keys] or ["gaussian-mean"]
        literals["target.name"] = spelled(draw.choice(having))
    if table == "gradient":
        literals["gradient.kind"] = spelled(draw.choice(READERS.get(own, tuple(ESTIMATORS))))
    if table == "schedule":
        literals["schedule.kind"] = spelled(draw.choice(SCHEDULE_KINDS.get(own, ("fixed",))))
    given = [part for name, text in literals.items() for part in ("--set", f"{name}={text}")]
    return Case("number of a key", (*words, *given), computes=True)


def _literal(draw: random.Random, found: Mapping[str, Any]) -> str:
    """A number that a JSON schema allows, mostly, or a list of these of a length that it allows."""
    options = [item for item in found.get("anyOf", [found]) if item.get("type") != "null"]
    chosen = draw.choice(options)
    if chosen.get("type") == "array":
        entries = valid(chosen, schema(), draw) or [1.0]
        inner = chosen.get("items", {})
        return "[" + ", ".join(_literal(draw, inner) for _ in entries) + "]"
    if chosen.get("type") == "integer":
        return f"{valid(chosen, schema(), draw)}{draw.choice(('', '', '', '.0', '.0000000000000000000000000000001'))}"
    if chosen.get("type") != "number":
        return spelled(valid(chosen, schema(), draw))
    merged = {**found, **chosen}
    low = next(
        (merged[name] for name in ("minimum", "ge", "exclusiveMinimum", "gt") if name in merged),
        draw.choice((0.0, 0.0, -100.0)),
    )
    high = next(
        (merged[name] for name in ("maximum", "le", "exclusiveMaximum", "lt") if name in merged), 100.0
    )
    return number(draw, float(low), float(high))


def _holds_numbers(found: object) -> bool:
    """Whether numbers are among what a JSON schema allows."""
    if isinstance(found, Mapping):
        return found.get("type") in ("number", "integer") or any(map(_holds_numbers, found.values()))
    return isinstance(found, list) and any(map(_holds_numbers, found))
