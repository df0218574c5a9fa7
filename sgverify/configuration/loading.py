"""From files, `--set` options and keywords to one validated `Configuration`."""

from __future__ import annotations

import difflib
import json
import math
import os
import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from sgverify.configuration.model import Configuration, TargetTable
from sgverify.errors import ConfigurationError, UnknownNameError, shown
from sgverify.keeping.files import each_once, read_text
from sgverify.named_code import named_in, refuse_unasked
from sgverify.schemes.adapting import AdapterSettings
from sgverify.targets.data_files import content_hash
from sgverify.targets.registry import build_target, declares_constants
from sgverify.values import NearlyWhole

ALIASES = {
    "h": "schedule.step",
    "step": "schedule.step",
    "eta": "schedule.step",
    "T": "temperature",
    "D": "friction",
    "L": "steps",
    "batch": "gradient.batch",
    "n": "gradient.batch",
    "N": "target.size",
    "d": "target.dim",
}
"""Common names in papers for the most used keys."""

_LEAD = re.compile(r"^(Value error, |Input should be |(List|String) should have )")


_FILE_NAME = re.compile(r"\.[A-Za-z]\w*$")
"""The end of a text that is the name of a file, and not a number."""


def load_configuration(
    source: Configuration | Mapping[str, Any] | str | Path | None = None,
    settings: Iterable[str] = (),
    **overrides: Any,
) -> Configuration:
    """The configuration from a file or mapping, then `key=value` settings, then keywords; the last wins.

    Keywords may be dotted (`**{"gradient.kind": "iid"}`), use a double underscore for the dot
    (`gradient__kind="iid"`) or give a whole table (`gradient={"kind": "iid"}`).
    Raises `ConfigurationError` (unknown key with the nearest one, wrong type, out of range, NaN), and `UserError` for a file that
    names code which was not asked for (`sgverify.named_code`).
    """
    try:
        return _load(source, settings, overrides)
    except RecursionError:
        raise ConfigurationError(
            "the configuration is nested too deeply; expected tables in tables of at most two levels; mend it"
        ) from None


def _load(
    source: Configuration | Mapping[str, Any] | str | Path | None,
    settings: Iterable[str],
    overrides: Mapping[str, Any],
) -> Configuration:
    tree: dict[str, Any] = {}
    of_file: dict[str, str] = {}
    if isinstance(source, Configuration):
        tree = source.model_dump(exclude_unset=True)
    elif isinstance(source, Mapping):
        _merge(tree, source)
    elif source is not None:
        _merge(tree, read_tables(Path(source)))
        _settle_file(tree, Path(source).parent)
        of_file = named_in(tree)
    for setting in settings:
        key, value = _read_setting(setting)
        _assign(tree, key, value)
    for key, value in overrides.items():
        _assign(tree, key.replace("__", "."), value)
    _settle_file(tree, Path())
    configuration = _validate(tree)
    kept = {key: reference for key, reference in named_in(tree).items() if of_file.get(key) == reference}
    refuse_unasked(f"config={str(source)!r}", kept)
    if configuration.target.file is None or configuration.target.sha256 is not None:
        return configuration
    tree["target"]["sha256"] = content_hash(configuration.target.file)
    return _validate(tree)


def adapter_settings(configuration: Configuration) -> AdapterSettings | None:
    """The settings of adapters; None where none was given. Raises `DefinitionError` where one does not parse."""
    table, data = configuration.adapter, _data_numbers(configuration)
    return (
        None
        if table is None and not data
        else AdapterSettings(**(table.model_dump() if table else {}), data=data)
    )


def _data_numbers(configuration: Configuration) -> dict[str, float]:
    """N, of data that are configured, and n, of minibatches that are."""
    size = build_target(configuration.target).size if "target" in configuration.model_fields_set else None
    if size is None:
        return {}
    gradient = configuration.gradient
    drawn = "gradient" in configuration.model_fields_set and gradient.estimator.draws_data
    return {"N": float(size), **({"n": float(min(gradient.batch, size))} if drawn else {})}


def settings_of(configuration: Configuration) -> list[str]:
    """The `key=value` settings that rebuild `configuration` from the defaults; used by replay commands."""
    return [f"{key}={text}" for key, text in _flatten(tree_of(configuration), "", bare=True)]


def toml_of(configuration: Configuration) -> str:
    """The TOML file of the keys that were set, empty where all have their defaults.

    >>> print(toml_of(load_configuration(friction=3.0, gradient={"kind": "iid"})), end="")
    friction = 3.0
    gradient.kind = "iid"
    """
    return "".join(f"{key} = {text}\n" for key, text in _flatten(tree_of(configuration), "", bare=False))


def tree_of(configuration: Configuration) -> dict[str, Any]:
    """The keys that were set, as a tree of tables; `load_configuration` makes the same configuration of it."""
    return configuration.model_dump(exclude_unset=True, exclude_none=True)


def _flatten(tree: Mapping[str, Any], prefix: str, bare: bool) -> Iterable[tuple[str, str]]:
    for key, value in tree.items():
        if isinstance(value, Mapping) and not all(name.isidentifier() for name in value):
            # A table by test function: its keys may hold dots.
            pairs = ", ".join(f"{json.dumps(name)} = {json.dumps(entry)}" for name, entry in value.items())
            yield f"{prefix}{key}", f"{{{pairs}}}"
        elif isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.", bare)
        else:
            plain = bare and isinstance(value, str) and _read_value(value) == value
            # JSON numbers, strings and arrays are TOML values too.
            yield f"{prefix}{key}", value if plain else json.dumps(value, ensure_ascii=False)


def _settle_file(tree: dict[str, Any], base: Path) -> None:
    """Make `target.file` absolute."""
    table = tree.get("target")
    if isinstance(table, dict) and isinstance(table.get("file"), str):
        try:
            table["file"] = os.path.realpath(base / Path(table["file"]).expanduser())
        except (ValueError, RuntimeError):
            # A name that no file can have is told where the file is read; a home that is not known is a part of it.
            return


def read_tables(path: Path, key: str = "config") -> Mapping[str, Any]:
    """The tables of a TOML or JSON file, which messages name `key`; raises `ConfigurationError` where it holds none."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise ConfigurationError(
            f"{key}={str(path)!r}: cannot be read ({reason}); give a TOML or JSON file"
        ) from None
    try:
        if path.suffix == ".json":
            tree = json.loads(text, parse_float=_read_float, object_pairs_hook=each_once)
        else:
            tree = tomllib.loads(text, parse_float=_read_float)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise ConfigurationError(f"{key}={str(path)!r}: not valid {kind} ({error}); mend the file") from None
    if not isinstance(tree, Mapping):
        raise ConfigurationError(
            f"{key}={str(path)!r}: holds a {type(tree).__name__}; expected a table of keys"
        )
    given = Counter(_paths(tree))
    repeated = next((key for key, times in given.items() if times > 1), None)
    if repeated is not None:
        raise ConfigurationError(
            f"{key}={str(path)!r}: the key {repeated!r} is given twice, in a table and with a dot; expected it once; leave one out"
        )
    return tree


def _paths(tree: Mapping[str, Any], prefix: str = "") -> Iterable[str]:
    for key, value in tree.items():
        if isinstance(value, Mapping) and all(name.isidentifier() for name in value):
            yield from _paths(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _read_float(text: str) -> float:
    """The float of a literal; one that is not 0 and would be read as 0 is refused, and one that is not quite whole says so."""
    value = float(text)
    if value == 0 and re.search("[1-9]", re.split("[eE]", text)[0]):
        raise ValueError(f"{text} is smaller than any float and would be read as 0")
    whole = math.isfinite(value) and value == int(value)
    return NearlyWhole(text) if whole and Fraction(text).denominator != 1 else value


def _read_setting(setting: str) -> tuple[str, Any]:
    key, equals, text = setting.partition("=")
    if not equals or not key.strip():
        raise ConfigurationError(f"--set {setting!r}: expected key=value, e.g. --set gradient.kind=iid")
    return key.strip(), _read_value(text)


def _read_value(text: str) -> Any:
    """A TOML value, else the bare string; text that holds more than one line of TOML is a string too."""
    try:
        table = tomllib.loads(f"value = {text}", parse_float=_read_float)
    except tomllib.TOMLDecodeError:
        return text.strip()
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"--set ...={text.strip()[:40]}: {error}; expected a value of TOML that can be held"
        ) from None
    return table["value"] if len(table) == 1 else text.strip()


def _assign(tree: dict[str, Any], key: str, value: Any) -> None:
    path, last = [], key
    while "." in last and last.partition(".")[0].isidentifier():
        # A text that is no name, such as the test function 0.5*theta, is one key with its dots.
        step, _, last = last.partition(".")
        path.append(step)
    for step in path:
        below = tree.setdefault(step, {})
        if not isinstance(below, dict):
            raise ConfigurationError(f"key {key!r}: {step!r} was already given as a value, not as a table")
        tree = below
    if isinstance(value, Mapping) and isinstance(tree.get(last), dict):
        _merge(tree[last], value)
    else:
        tree[last] = dict(value) if isinstance(value, Mapping) else value


def _merge(tree: dict[str, Any], other: Mapping[str, Any]) -> None:
    for key, value in other.items():
        _assign(tree, str(key), value)


def _validate(tree: dict[str, Any]) -> Configuration:
    _refuse_unknown(tree, Configuration, "")
    try:
        return Configuration.model_validate(tree)
    except ValidationError as error:
        # A union reports one line per alternative; the line about a value is the most specific.
        lines = error.errors(include_url=False)
        first = next((line for line in lines if line["type"] == "value_error"), lines[0])
        path = [part for part in first["loc"] if isinstance(part, str) and part.isidentifier()]
        key = ".".join(path)
        given = _given(tree, path)
        expected = _LEAD.sub("", first["msg"]).replace(" after validation", "")
        mend = "mend the configuration or the --set"
        if isinstance(given, str) and given[:1] in ("[", "{"):
            # A value that is no TOML is taken for a bare string; most often a string in a list lacks its quotes.
            mend = f"""words inside of brackets need quotes, as in --set '{key}=["q", "r"]'"""
        elif key == "target.data" and isinstance(given, str) and _FILE_NAME.search(given):
            mend = f"target.file names a file, as in --set {shlex.quote(f'target.file={given}')}"
        raise ConfigurationError(f"{key}={shown(given)}: expected {expected}; {mend}") from None


def _given(tree: Any, path: list[str]) -> Any:
    for step in path:
        if not isinstance(tree, Mapping) or step not in tree:
            break
        tree = tree[step]
    return tree


def _refuse_unknown(tree: Mapping[str, Any], model: type[BaseModel], prefix: str) -> None:
    for key, value in tree.items():
        field = model.model_fields.get(key)
        if field is None and model is TargetTable and declares_constants(tree.get("name")):
            continue
        if field is None:
            everywhere = known_keys(Configuration)
            same_end = [name for name in everywhere if name.endswith("." + key)]
            beside = difflib.get_close_matches(key, model.model_fields, n=1, cutoff=0.75)
            near = [prefix + name for name in beside] or same_end or everywhere
            known_as = ALIASES.get(key)
            raise UnknownNameError("configuration key", prefix + key, [known_as] if known_as else near)
        table = _table(field.annotation)
        if table is not None:
            if not isinstance(value, Mapping):
                raise ConfigurationError(
                    f"{prefix}{key}={shown(value)}: expected a table with the keys {', '.join(table.model_fields)}"
                )
            _refuse_unknown(value, table, f"{prefix}{key}.")


def known_keys(model: type[BaseModel]) -> list[str]:
    """Every key of a table, dotted."""
    keys: list[str] = []
    for name, field in model.model_fields.items():
        table = _table(field.annotation)
        keys += [f"{name}.{below}" for below in known_keys(table)] if table else [name]
    return keys


def _table(annotation: Any) -> type[BaseModel] | None:
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None
