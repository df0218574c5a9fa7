"""Values for keys and options: valid ones from a JSON schema, and hostile ones as texts of TOML and JSON."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

LONG = 20_000

NUMBERS = (
    *(
        "0",
        "-0.0",
        "1",
        "-1",
        "2",
        "0.5",
        "1e-9",
        "1e308",
        "-1e308",
        "5e-324",
        "1e-400",
        "1e400",
        "1e12",
        "1e13",
        "10000000000001",
    ),
    *(
        "9223372036854775808",
        "18446744073709551616",
        "1" * 400,
        "-" + "9" * 5000,
        "0.1000000000000000055511151231257827",
    ),
    *("1.7976931348623157e308", "2.2250738585072014e-308", "4.9e-324", "123456789012345678901234567890"),
)
"""Numbers that both TOML and JSON have."""

TEXTS = (
    *(
        '""',
        '" "',
        '"nan"',
        '"1"',
        '"full"',
        '"theta"',
        '"theta**2"',
        '"theta**2**99"',
        '"theta/0"',
        '"1/theta"',
        '"theta**-1"',
    ),
    *(
        '"theta**10000000000"',
        '"9**9**9**9"',
        '"(" * 3'.replace(" * 3", ""),
        '"theta[99]"',
        '"p"',
        "\"__import__('os').system('true')\"",
    ),
    *(
        '"lambda: 0"',
        '"[x for x in ().__class__.__bases__]"',
        "\"exec('1')\"",
        '"\\u0000"',
        '"\\n\\r\\t"',
        '"\\u001b[31mred"',
    ),
    *(
        '"\\u202e\\u200f"',
        '"\\ud83d\\ude00"',
        '"ä"',
        '"/dev/zero"',
        '"/dev/stdin"',
        '"/"',
        '"."',
        '""',
        '"~"',
        '"/etc/passwd"',
    ),
    *(
        '"missing.csv"',
        '"no.py:thing"',
        '"os:system"',
        '"json:loads"',
        '":"',
        '"a:"',
        '":a"',
        '"a.py"',
        '"../../../.."',
        '"cuda:99"',
    ),
    *('"float16"', '"%s%n{}{0}"', '"$(true)"', '"cpu:7"', '"meta"', '"theta+" + "1"'.replace('" + "', "")),
    json.dumps("x" * LONG),
    json.dumps("(" * 3000),
    json.dumps("theta" + "+theta" * 3000),
    json.dumps("-" * 5000 + "1"),
)
"""Texts that both TOML and JSON have, in quotes."""

SHAPES = (
    *(
        "true",
        "false",
        "[]",
        "[[]]",
        "[1]",
        "[1,2]",
        "[[1,0],[0,1]]",
        "[[1,2],[3]]",
        '["q","r"]',
        '[1,"a"]',
        "[0,0]",
        "[-1,1]",
    ),
    *(
        "[1e308,1e308]",
        "[" + ",".join(["1"] * 3000) + "]",
        "[" * 60 + "]" * 60,
        "[" * 3000 + "]" * 3000,
        "[" * 200_000,
    ),
)
"""Lists and truth values that both TOML and JSON have."""

OF_TOML = (
    *(
        "nan",
        "inf",
        "-inf",
        "+nan",
        "0x1F",
        "0o17",
        "0b1",
        "1_000",
        "1__0",
        "01",
        ".5",
        "5.",
        "+1",
        "1979-05-27",
        "07:32:00",
    ),
    *(
        "1979-05-27T07:32:00Z",
        "'''a\nb'''",
        '"""x"""',
        "{}",
        "{a=1}",
        "{kind='iid'}",
        "{a={b={c=1}}}",
        "'",
        '"',
        "=",
        "#",
        "1 # 2",
    ),
    *(
        "",
        " ",
        "bare",
        "two words",
        "1\nseed=7",
        "[1,",
        "{",
        "\x00",
        "\ufeff1",
        "é",
        "a.b",
        "[nan]",
        "[inf, 1]",
        "[true]",
        '"\\x"',
    ),
)
"""Values as `--set` and TOML take them."""

OF_JSON = (
    *(
        "null",
        "NaN",
        "Infinity",
        "-Infinity",
        "{}",
        '{"a": 1}',
        '{"kind": "iid"}',
        '{"": 1}',
        "[null]",
        "[NaN]",
        '{"a": {"a": {}}}',
    ),
    *(
        '{"a": 1, "a": 2}',
        "01",
        "1.",
        ".5",
        "'a'",
        "undefined",
        "tru",
        '"\\ud800"',
        '"\\u0000"',
        "{}" * 2,
        '{"__proto__": 1}',
    ),
    '{"a":' * 200 + "1" + "}" * 200,
    '{"a":' * 100_000,
)
"""Values as JSON takes them."""


def hostile(draw: random.Random, of: tuple[str, ...]) -> str:
    """A hostile literal; `of` are those of the notation."""
    return draw.choice(draw.choice((NUMBERS, TEXTS, SHAPES, of)))


def valid(schema: Mapping[str, Any], root: Mapping[str, Any], draw: random.Random, depth: int = 0) -> Any:
    """A value that a JSON schema of a key allows, often at an end of what it allows; None where the schema says too little."""
    if "$ref" in schema:
        return valid(root["$defs"][schema["$ref"].rpartition("/")[2]], root, draw, depth)
    for union in ("anyOf", "oneOf"):
        if union in schema:
            options = [item for item in schema[union] if item.get("type") != "null"]
            return valid(
                {**{k: v for k, v in schema.items() if k != union}, **draw.choice(options)}, root, draw, depth
            )
    if "enum" in schema:
        return draw.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type")
    make: dict[str, Callable[[], Any]] = {
        "boolean": lambda: draw.random() < 0.5,
        "integer": lambda: _number(schema, draw, whole=True),
        "number": lambda: _number(schema, draw, whole=False),
        "string": lambda: draw.choice(("theta**2", "theta", "q", "x" * 30)),
        "array": lambda: _array(schema, root, draw, depth),
        "object": lambda: (
            {} if depth else {"theta": valid(schema.get("additionalProperties", {}), root, draw, 1)}
        ),
    }
    return make[str(kind)]() if str(kind) in make else None


def _number(schema: Mapping[str, Any], draw: random.Random, *, whole: bool) -> Any:
    """A number within the bounds of a schema; both the schema's words and pydantic's, which `Annotated` types print, count."""
    low = next((schema[name] for name in ("minimum", "ge", "exclusiveMinimum", "gt") if name in schema), None)
    high = next(
        (schema[name] for name in ("maximum", "le", "exclusiveMaximum", "lt") if name in schema), None
    )
    open_low, open_high = (
        ({"exclusiveMinimum", "gt"} & schema.keys()),
        ({"exclusiveMaximum", "lt"} & schema.keys()),
    )
    if whole:
        least = int(low or 0) + bool(open_low) if low is not None else 0
        most = int(high) - bool(open_high) if high is not None else least + 40
        return draw.choice((least, least + 1, min(most, least + draw.randrange(40)), most))
    least, most = (0.0 if low is None else float(low)), (None if high is None else float(high))
    width = 3.0 if most is None else most - least
    inside = [least + width * share for share in (0.125, 0.25, 0.5, 0.75)]
    ends = ([] if open_low else [least]) + ([] if open_high or most is None else [most])
    return draw.choice([*inside, *inside, *ends])


def _array(schema: Mapping[str, Any], root: Mapping[str, Any], draw: random.Random, depth: int) -> list[Any]:
    least = schema.get("minItems", schema.get("min_length", 1))
    return [
        valid(schema.get("items", {"type": "number"}), root, draw, depth + 1)
        for _ in range(least + draw.randrange(2))
    ]


def spelled(value: Any) -> str:
    """A valid value as a text of TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {spelled(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(spelled, value)) + "]"
    return json.dumps(value)
