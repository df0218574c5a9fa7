"""Configurations, drawn from the model of the configuration: valid, extreme, misplaced, misspelt and hostile values of any key."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from sgverify.configuration import Configuration, known_keys
from sgverify.targets.registry import TARGETS
from tests.fuzz.case import Case
from tests.fuzz.literals import OF_JSON, OF_TOML, hostile, spelled, valid

QUICK = ("steps=64", "chains=4")
"""Settings under which what computes is done at once."""

OPTIMIZER = """\
import torch


class Other(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad, alpha=-group["lr"]).add_(torch.randn_like(p), alpha=(2 * group["lr"]) ** 0.5)
"""

OWN = """\
import torch
import sgverify


@sgverify.log_density(dim=1)
def density(theta):
    return -(theta**2).sum(-1) / 2
"""

SCHEMES: Mapping[str, tuple[str, ...]] = {
    "exchange": ("resgld", "vr-resgld"),
    "partition": ("awsgld", "csgld"),
    "adapter": ("other.py:Other", "sgld-euler"),
}
"""The schemes whose configurations have a table; every other table is read by all."""


@cache
def schema() -> dict[str, Any]:
    """The JSON schema of a configuration."""
    return Configuration.model_json_schema()


@cache
def names() -> tuple[str, ...]:
    """Every key of the model."""
    return tuple(known_keys(Configuration))


def schema_of(key: str) -> dict[str, Any]:
    """The JSON schema of one key."""
    found: dict[str, Any] = schema()
    for step in key.split("."):
        found = _resolved(found)["properties"][step]
    return found


def _resolved(node: dict[str, Any]) -> dict[str, Any]:
    for option in (node, *node.get("anyOf", ()), *node.get("allOf", ())):
        if "$ref" in option:
            node = schema()["$defs"][option["$ref"].rpartition("/")[2]]
    return node


def cases(draw: random.Random) -> Iterator[Case]:
    """One case after another, without end; every key is the first key of one in turn."""
    order: list[str] = []
    while True:
        order = order or draw.sample(names(), len(names()))
        yield draw.choice((_hostile, _hostile, _valid, _valid, _misplaced, _several))(order.pop(), draw)


def _command(key: str, draw: random.Random) -> tuple[str, ...]:
    table = key.partition(".")[0]
    scheme = draw.choice(SCHEMES.get(table, ("sgld-euler", "sghmc-aboba", "sgld-euler", "sgnht")))
    if table in SCHEMES:
        return draw.choice((("verify", scheme), ("sample", scheme)))
    if table == "target" and draw.random() < 0.15:
        return ("advise", draw.choice(("gaussian", "gaussian-mean")))
    return draw.choice(
        (
            ("verify", scheme),
            ("verify", scheme, "--checks", draw.choice(("local-order", "stationary-bias", "mse"))),
            ("rate", scheme, "--quantity", draw.choice(("local-order", "stationary-bias", "bias", "mse"))),
            ("sample", scheme),
            ("identify", scheme),
        )
    )


def _files(words: tuple[str, ...]) -> dict[str, bytes]:
    return {"other.py": OPTIMIZER.encode()} if "other.py:Other" in words else {}


def _told(
    draw: random.Random, words: tuple[str, ...], literals: Mapping[str, str], notation: str, **other: Any
) -> Case:
    """The case in which literals are given for keys in one notation: `--set`, a TOML file or a JSON file."""
    files = _files(words)
    if notation == "set":
        given = tuple(part for key, text in literals.items() for part in ("--set", f"{key}={text}"))
        return Case("key by --set", (*words, *given), files, **other)
    if notation == "toml":
        text = "\n".join(f"{key} = {text}" for key, text in literals.items())
        return Case(
            "key in TOML", (*words, "--config", "c.toml"), {**files, "c.toml": text.encode()}, **other
        )
    text = _nested(literals)
    return Case(
        "key in JSON",
        (*words, "--config", "c.json"),
        {**files, "c.json": text.encode(errors="replace")},
        **other,
    )


def _nested(literals: Mapping[str, str]) -> str:
    """JSON text with tables for dots; literals stand as they are."""
    tables: dict[str, dict[str, str]] = {}
    for key, text in literals.items():
        table, _, name = key.rpartition(".")
        tables.setdefault(table, {})[name] = text
    parts = [f"{json.dumps(name)}: {text}" for name, text in tables.pop("", {}).items()]
    for table, inside in tables.items():
        parts.append(
            f"{json.dumps(table)}: {{{', '.join(f'{json.dumps(n)}: {t}' for n, t in inside.items())}}}"
        )
    return "{" + ", ".join(parts) + "}"


def _hostile(key: str, draw: random.Random) -> Case:
    notation = draw.choice(("set", "set", "toml", "json"))
    literal = hostile(draw, OF_JSON if notation == "json" else OF_TOML)
    return _told(draw, _command(key, draw), {key: literal}, notation, computes=draw.random() < 0.05)


def _valid(key: str, draw: random.Random) -> Case:
    value = valid(schema_of(key), schema(), draw)
    notation = draw.choice(("set", "toml", "json"))
    text = json.dumps(value) if notation == "json" else spelled(value)
    words = _command(key, draw)
    if draw.random() < 0.35 and words[0] != "advise":
        words = (*words, *(part for item in QUICK for part in ("--set", item)))
        return _told(draw, words, {key: text}, notation, computes=draw.random() < 0.7)
    recorded = {key: value} if words[0] != "advise" else {}
    return _told(draw, words, {key: text}, notation, recorded=recorded)


def _misplaced(key: str, draw: random.Random) -> Case:
    """A misspelt key, or one in another table; both must be refused."""
    table, _, name = key.rpartition(".")
    other = draw.choice([*Configuration.model_fields, "targets", "x.y", "target.name.x", ""])
    place = draw.randrange(len(name))
    wrong = draw.choice(
        (
            f"{other}.{name}",
            f"{table}.{name[:place]}{name[place + 1 :]}".lstrip("."),
            f"{table}.{name[:place]}{draw.choice('aäZ_0-')}{name[place:]}".lstrip("."),
            key.upper(),
            f"{key}.{name}",
        )
    )
    known = set(names()) | {f"target.{own}" for kind in TARGETS.shipped.values() for own in kind.keys}
    inside = wrong.rpartition(".")[0]
    if (
        wrong in known
        or wrong in Configuration.model_fields
        or inside in ("adapter.map", "adapter.state", "target.averages")
    ):
        return _hostile(key, draw)
    value = spelled(valid(schema_of(key), schema(), draw))
    command = draw.choice(
        (("verify", "sgld-euler"), ("sample", "sgld-euler"), ("rate", "sgld-euler", "--quantity", "bias"))
    )
    quoted = ".".join(
        part if part.isascii() and part.replace("_", "a").isalnum() else json.dumps(part)
        for part in wrong.split(".")
    )
    notation = draw.choice(("set", "toml"))
    return _told(draw, command, {wrong if notation == "set" else quoted: value}, notation, must="be refused")


def _several(key: str, draw: random.Random) -> Case:
    """Some keys at once, mostly valid, of one target or composite."""
    words = _command(key, draw)
    chosen = {key, *draw.sample(names(), draw.randrange(1, 4))}
    literals = {}
    for name in sorted(chosen):
        literals[name] = (
            hostile(draw, OF_TOML) if draw.random() < 0.2 else spelled(valid(schema_of(name), schema(), draw))
        )
    if draw.random() < 0.5:
        literals["target.name"] = json.dumps(draw.choice(list(TARGETS.shipped)))
    if draw.random() < 0.5:
        literals["gradient.kind"] = json.dumps(draw.choice(schema_of("gradient.kind")["enum"]))
    if draw.random() < 0.3:
        literals["schedule.kind"] = json.dumps(draw.choice(schema_of("schedule.kind")["enum"]))
    return _told(draw, words, literals, draw.choice(("set", "toml")))
