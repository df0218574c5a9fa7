"""Files of every format that is read, broken in every way: in their bytes, and in what they say."""

from __future__ import annotations

import gzip
import json
import random
import struct
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from sgverify.cli.main import cli
from tests.fuzz.arrays import arrays, other_array
from tests.fuzz.case import Case
from tests.fuzz.literals import NUMBERS, OF_JSON, SHAPES, TEXTS, hostile

TOML = b"""\
temperature = 1.5
steps = 100
chains = 4
[target]
name = "gaussian"
dim = 2
precision = [1.0, 2.0]
[gradient]
kind = "additive"
covariance = 0.5
[schedule]
step = 0.1
"""

TABLE = "x,dose,ill\n" + "".join(f"{k},{k / 7:.3f},{k % 2}\n" for k in range(1, 25))

ROW = {
    "schema": "sgverify/regression/1",
    "scheme": "sgld-euler",
    "claim": "sgverify/stated-order",
    "check": "local-order",
    "configuration": {"friction": 3.0},
    "reason": "it violated",
}

BASELINE = {
    "schema": "sgverify/baseline/1",
    "violations": [
        {
            **{key: ROW[key] for key in ("scheme", "claim", "check", "configuration", "reason")},
            "found": {"exponent": 0, "low": 0, "high": 0},
        }
    ],
}


@cache
def evidence() -> dict[str, Any]:
    """A document of evidence about a scheme of the catalogue."""
    import sgverify
    from sgverify.evidence.published import Provenance
    from sgverify.evidence.storage import documented, encode

    results = sgverify.verify("sgld-euler", checks=["local-order", "stationary-bias"], friction=3.0)
    found = encode(documented(results, Provenance.gather(command="sgverify verify", seconds=1.0)))
    return dict(json.loads(json.dumps(found)))


@cache
def store() -> bytes:
    """A store that holds two answers."""
    from sgverify.keeping.identity import key_of
    from sgverify.keeping.store import Store

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "s.sqlite"
        with Store(place) as made:
            for friction in (1.0, 2.0):
                key = key_of("verify-case", {"scheme": "sgld-euler", "friction": friction})
                made.keep(key, [evidence()["evidence"][0]], 0.5)
        return place.read_bytes()


CAMPAIGN = b"""\
title = "two schemes"
schemes = ["sgld-euler", "sghmc-aboba"]
targets = ["gaussian", { name = "gaussian-mean", size = 20 }]
gradients = ["full", { kind = "iid", batch = 5 }]
checks = ["local-order"]
[grid]
temperature = [0.5, 2.0]
[settings]
friction = 2.5
"""


Reader = tuple[str, str, Callable[[], bytes], tuple[str, ...]]

DOCUMENTS = range(1, 25)

UCI = f"{len(DOCUMENTS)}\n7\n{2 * len(DOCUMENTS)}\n" + "".join(
    f"{d} {d % 3 + 1} 2\n{d} {d % 7 + 1} 1\n" for d in DOCUMENTS
)

LDA_C = "".join(f"2 {d % 3}:2 {d % 7}:1\n" for d in DOCUMENTS)

IDX = struct.pack(">BBBB3I", 0, 0, 8, 3, 6, 3, 4) + bytes(k * 7 % 256 for k in range(6 * 3 * 4))
"""Six images of 3 x 4 pixels."""

TOPICS = (
    *("app", "lda", "--quick", "--batch", "4", "--held-out", "8", "--topics", "2", "--out", "out"),
    "--corpus",
)
IMAGES = ("app", "sbn", "--quick", "--hidden", "2", "--batch", "2", "--out", "out")


def corpora() -> list[Reader]:
    """The files that the applications read, plain and packed."""
    images = (*IMAGES, "--train", "i.idx", "--test", "i.idx")
    return [
        ("corpus of UCI", "u.txt", lambda: UCI.encode(), (*TOPICS, "u.txt")),
        ("corpus of LDA-C", "l.txt", lambda: LDA_C.encode(), (*TOPICS, "l.txt")),
        ("packed corpus", "u.gz", lambda: gzip.compress(UCI.encode(), mtime=0), (*TOPICS, "u.gz")),
        ("IDX", "i.idx", lambda: IDX, images),
        (
            "packed IDX",
            "i.gz",
            lambda: gzip.compress(IDX, mtime=0),
            tuple("i.gz" if word == "i.idx" else word for word in images),
        ),
        (
            "identity of an unfinished run",
            "out/unfinished/run.json",
            lambda: _json({"seed": 0, "edits": []}),
            IMAGES,
        ),
    ]


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


DATA = (
    "verify",
    "sgld-euler",
    "--checks",
    "stationary-bias",
    "--set",
    "target.name=logistic-regression",
    "--set",
)


def readers() -> list[Reader]:
    """(format, name of the file, its valid content, the command that reads it) of every format."""
    found: list[Reader] = [
        ("configuration TOML", "c.toml", lambda: TOML, ("verify", "sgld-euler", "--config", "c.toml")),
        (
            "configuration JSON",
            "c.json",
            lambda: _json(_tree()),
            ("sample", "sgld-euler", "--config", "c.json"),
        ),
        ("evidence", "e.json", lambda: _json(evidence()), ("replay", "e.json")),
        ("evidence to compare", "d.json", lambda: _json(evidence()), ("diff", "d.json", "d.json")),
        ("store", "s.sqlite", store, ("diff", "s.sqlite", "s.sqlite")),
        ("regression rows", "rows.jsonl", lambda: _json(ROW) + b"\n", ("replay", "rows.jsonl")),
        ("baseline", "b.json", lambda: _json(BASELINE), ("verify", "sgld-euler", "--baseline", "b.json")),
        (
            "baseline to write",
            "b.json",
            lambda: _json(BASELINE),
            ("verify", "sgld-euler", "--write-baseline", "b.json"),
        ),
        ("CSV", "t.csv", lambda: TABLE.encode(), (*DATA, "target.file=t.csv")),
        ("TSV", "t.tsv", lambda: TABLE.replace(",", "\t").encode(), (*DATA, "target.file=t.tsv")),
        (
            "definition",
            "mine.py",
            lambda: DEFINITION.encode(),
            ("verify", "mine.py:euler", "--checks", "local-order"),
        ),
        (
            "suite",
            "s.py",
            lambda: b'suite = [{"scheme": "sgld-euler", "settings": {"friction": 3.0}}]\n',
            ("report", "--suite", "s.py:suite"),
        ),
    ]
    if "campaign" in cli.commands:
        found.append(("campaign", "camp.toml", lambda: CAMPAIGN, ("campaign", "camp.toml")))
    found += corpora()
    for name in arrays():
        found.append(
            (name.partition(".")[2], name, lambda name=name: arrays()[name], (*DATA, f"target.file={name}"))
        )  # type: ignore[misc]
    return found


DEFINITION = """\
from sgverify import scheme, sqrt
from sgverify.schemes import langevin


@scheme(langevin, order=1)
def euler(theta, *, h, grad, noise, T):
    return theta - h*grad(theta) + sqrt(2*T*h)*noise()
"""


def _tree() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(TOML.decode())


def cases(draw: random.Random) -> Iterator[Case]:
    """One case after another, without end; every format in turn."""
    while True:
        for label, name, content, words in readers():
            if draw.random() < 0.08:
                yield _elsewhere(draw, label, name, content(), words)
            yield _broken(draw, label, name, content(), words)


def _broken(draw: random.Random, label: str, name: str, content: bytes, words: tuple[str, ...]) -> Case:
    made = breaking(draw, name, content)
    return Case(label, words, {name: made}, must="anything", computes=made == content or draw.random() < 0.1)


def breaking(draw: random.Random, name: str, content: bytes) -> bytes:
    """The content of a file, broken in one of the ways that its name allows; sometimes as it was."""
    if not content:
        return draw.choice((b"", b"\x00", b"{}"))
    ways: list[Callable[[bytes, random.Random], bytes]] = [
        _flipped,
        _cut,
        _doubled,
        _inserted,
        _encoded,
        _nothing,
    ]
    if name.endswith((".json", ".jsonl")):
        ways += [_changed_tree] * 6 + [_literal] * 3 + [_double_key]
    elif name.endswith((".csv", ".tsv", ".toml", ".py", ".txt")):
        ways += [_changed_line] * 5
    elif name.endswith((".npy", ".npz")):
        ways += [other_array] * 4
    return draw.choice(ways)(content, draw)


def _elsewhere(draw: random.Random, label: str, name: str, content: bytes, words: tuple[str, ...]) -> Case:
    """A file that is missing, is a folder, or has an extreme name."""
    stem, suffix = name.split(".", 1)
    other = draw.choice(
        (
            f"{'n' * 300}.{suffix}",
            f"no/such/{name}",
            f"{stem}\n.{suffix}",
            f".{suffix}",
            f"{name}/",
            f"ä b'\".{suffix}",
            f"{stem}\x00.{suffix}",
        )
    )
    kind = draw.random()
    if kind < 0.3:
        return Case(label, words, {name: None}, must="be refused")
    if kind < 0.5 and "/" not in name and "to write" not in label:
        if kind < 0.4:
            return Case(label, words, pipes=(name,), must="be refused")
        device = draw.choice(("/dev/zero", "/dev/full", "/dev/random"))
        return Case(label, tuple(device if word == name else word for word in words), must="anything")
    told = tuple(word.replace(name, other) for word in words)
    there = {other: content} if all(sign not in other for sign in "\x00/") and len(other) < 200 else {}
    free = there or "to write" in label or not any(name in word for word in words)
    must = "anything" if free else "be refused"
    return Case(label, told, there, must=must)


def _flipped(content: bytes, draw: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 3, 20))):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def _cut(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content))]


def _doubled(content: bytes, draw: random.Random) -> bytes:
    start = draw.randrange(len(content))
    part = content[start : start + draw.randrange(1, 200)]
    return content[:start] + part * draw.choice((1, 2, 50)) + content[start:]


def _inserted(content: bytes, draw: random.Random) -> bytes:
    part = draw.choice(
        (
            b"\x00",
            b"\xff\xfe",
            b"\n",
            b'"',
            b"}",
            b"]",
            b"\xed\xa0\x80",
            "é".encode("latin-1"),
            b"1e999",
            b"," * 200_000,
        )
    )
    start = draw.randrange(len(content) + 1)
    return content[:start] + part + content[start:]


def _encoded(content: bytes, draw: random.Random) -> bytes:
    text = content.decode("utf-8", errors="replace")
    return text.encode(draw.choice(("utf-16", "utf-32", "utf-8-sig", "utf-7", "cp500")), errors="replace")


def _nothing(content: bytes, draw: random.Random) -> bytes:
    return draw.choice(
        (
            b"",
            b" ",
            b"\n" * 1000,
            b"\x00" * 1000,
            b"null",
            b"[]",
            b"{}",
            b"0",
            b"PK\x03\x04",
            b"\x80\x04\x95",
            content,
        )
    )


def _literal(content: bytes, draw: random.Random) -> bytes:
    """A value of a JSON text replaced by a hostile literal."""
    tree, mark = json.loads(content), "\x01MARK\x01"
    if not tree:
        return hostile(draw, OF_JSON).encode(errors="replace")
    place = draw.choice(list(_places(tree)))
    text = json.dumps(_with(tree, place, mark))
    return text.replace(json.dumps(mark), hostile(draw, OF_JSON)).encode(errors="replace")


def _double_key(content: bytes, draw: random.Random) -> bytes:
    tree = json.loads(content)
    if not tree:
        return b"{"
    key = draw.choice(list(tree))
    return (json.dumps(tree)[:-1] + f", {json.dumps(key)}: {json.dumps(tree[key])}}}").encode()


def _changed_tree(content: bytes, draw: random.Random) -> bytes:
    """A JSON document with a key or an entry removed, added, renamed or moved."""
    tree = json.loads(content)
    for _ in range(draw.choice((1, 1, 2)) if tree else 0):
        place = draw.choice(list(_places(tree)))
        holder = _at(tree, place[:-1])
        match draw.randrange(5):
            case 0:
                del holder[place[-1]]
            case 1 if isinstance(holder, dict):
                holder[f"{place[-1]}{draw.choice('sx ')}"] = holder[place[-1]]
            case 2 if isinstance(holder, dict):
                holder[f"{place[-1]}e"] = holder.pop(place[-1])
            case 3:
                other = draw.choice(list(_places(tree)))
                holder[place[-1]] = json.loads(json.dumps(_at(tree, other)))
            case _:
                holder[place[-1]] = draw.choice(
                    (None, True, 0, -1, 0.5, 10**30, "", "x", [], {}, [[]], {"a": 1}, "sgverify/evidence/9")
                )
        if not tree:
            break
    return json.dumps(tree).encode()


def _places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in inside:
        yield (*path, key)
        yield from _places(value, (*path, key))


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        tree = tree[step]
    return tree


def _with(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    _at(tree, path[:-1])[path[-1]] = value
    return tree


def _changed_line(content: bytes, draw: random.Random) -> bytes:
    """A text with a line removed, repeated, or an entry of it replaced."""
    lines = content.decode().split("\n")
    place = draw.randrange(len(lines))
    separator = next((sign for sign in ("\t", ",", "=", " ") if sign in lines[place]), ",")
    match draw.randrange(5):
        case 0:
            del lines[place]
        case 1:
            lines.insert(draw.randrange(len(lines)), lines[place])
        case 2:
            lines[place] += draw.choice((separator, f"{separator}1", '"', "#", "\\", "\x00", "'"))
        case _:
            entries = lines[place].split(separator)
            entries[draw.randrange(len(entries))] = draw.choice(
                (*NUMBERS, *TEXTS, *SHAPES[:10], "", "nan", "inf", "x" * 200_000)
            )
            lines[place] = separator.join(entries)
    return "\n".join(lines).encode(errors="replace")
