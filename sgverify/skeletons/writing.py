"""Which files has a new distribution that adds a scheme, a target, a check, a paper or an adapter?"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from sgverify.errors import UserError, find_named
from sgverify.keeping.files import put, replacing
from sgverify.plugins import plugins

LONGEST = 100
"""The most characters of a name, which names files too."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Skeleton:
    """The files of a kind, {path: template}, of which PACKAGE stands for the package; `attribute` is what the entry point names."""

    attribute: str
    files: Mapping[str, str]
    packages: tuple[str, ...] = ("PACKAGE",)
    article: str = "a"


SKELETONS: Mapping[str, Skeleton] = {
    "scheme": Skeleton("step", {"PACKAGE/__init__.py": "scheme/package"}),
    "target": Skeleton("KIND", {"PACKAGE/__init__.py": "target/package"}),
    "check": Skeleton(
        "CHECK",
        {
            "PACKAGE/__init__.py": "check/package",
            "PACKAGE/at_rest.py": "check/at_rest",
            "PACKAGE/cards/NAME/at-rest.toml": "check/card",
        },
    ),
    "paper": Skeleton(
        "PAPER",
        {
            "PACKAGE/__init__.py": "paper/package",
            "PACKAGE/suite.py": "paper/suite",
            "PACKAGE/cards/NAME/theorem-1.toml": "paper/card",
            "PACKAGE/errata/__init__.py": "paper/errata_init",
            "PACKAGE/errata/variance.py": "paper/variance",
            "PACKAGE/errata/printed.toml": "paper/printed",
        },
        packages=("PACKAGE", "PACKAGE.errata"),
    ),
    "adapter": Skeleton(
        "ADAPTER",
        {
            "PACKAGE/__init__.py": "adapter/package",
            "PACKAGE/sampler.py": "adapter/sampler",
        },
        article="an",
    ),
}
"""What is written for each kind, besides pyproject.toml and the test."""


def write_skeleton(kind: str, name: str, parent: Path) -> list[Path]:
    """Write a distribution NAME that adds an item NAME of a kind, as the folder NAME below `parent`; returns the files.

    The folder is new: nothing is overwritten. Raises `UserError` for another kind, a folder that exists already, and a name that is
    no name, or taken by a module or another item.
    """
    skeleton = find_named("kind", kind, SKELETONS)
    folder = parent / name
    check_name(kind, name)
    if folder.exists():
        raise UserError(
            f"{str(folder)!r} exists already; expected a new folder, as nothing is overwritten; choose another name, or move it"
        )
    package = name.replace("-", "_")
    values = {
        "name": name,
        "package": package,
        "kind": kind,
        "article": skeleton.article,
        "attribute": skeleton.attribute,
        "packages": "["
        + ", ".join(f'"{part.replace("PACKAGE", package)}"' for part in skeleton.packages)
        + "]",
    }
    files = {
        "pyproject.toml": "pyproject",
        **skeleton.files,
        "tests/test_PACKAGE.py": f"{kind}/test",
    }
    written = []
    try:
        with replacing(folder) as beside:
            for path, template in files.items():
                place = Path(path.replace("PACKAGE", package).replace("NAME", name))
                (beside / place).parent.mkdir(parents=True, exist_ok=True)
                put(beside / place, _text(template, values))
                written.append(folder / place)
    except OSError as error:
        raise UserError(
            f"{str(folder)!r}: cannot be written ({error.strerror}); expected a folder that can be"
        ) from None
    return written


def check_name(kind: str, name: str) -> None:
    """Raise `UserError` for a name that no distribution may have, or that is taken."""
    given = f"{kind} {name!r}"
    if not _NAME.fullmatch(name):
        raise UserError(
            f"{given}: expected small letters, digits and single hyphens, beginning with a letter, such as my-{kind}"
        )
    if len(name) > LONGEST:
        raise UserError(f"{given}: {len(name)} characters; expected at most {LONGEST}, as a file is named so")
    package = name.replace("-", "_")
    if iskeyword(package) or package == "tests":
        why = (
            "a word of Python, which no import can name" if iskeyword(package) else "the folder of its tests"
        )
        raise UserError(f"{given}: {package!r} is {why}; expected another name, such as my-{name}")
    if (
        name.split("-")[0] == "sgverify"
        or package in sys.stdlib_module_names
        or find_spec(package) is not None
    ):
        raise UserError(
            f"{given}: a module {package!r} is there already; expected a name of its own; choose another one"
        )
    if name in plugins(f"{kind}s") or name in _taken(kind):
        raise UserError(f"{given}: there is one already (see `sgverify list {kind}s`); choose another name")


def _taken(kind: str) -> set[str]:
    """The names of this kind that ship; for a check or a paper the beginnings of their claims' ids too."""
    from sgverify.claims.loading import shipped_claims

    prefixes = {id.partition("/")[0] for id in shipped_claims()}
    if kind == "scheme":
        from sgverify.schemes.catalogue import NAMED
        from sgverify.schemes.composites import COMPOSITES

        return {*NAMED, *COMPOSITES}
    if kind == "target":
        from sgverify.targets.registry import TARGETS

        return {*TARGETS.shipped}
    if kind == "check":
        from sgverify.checks.registry import SHIPPED

        return {*SHIPPED, *prefixes}
    if kind == "adapter":
        from sgverify.schemes.adapting import shipped_adapters

        return {adapter.name for adapter in shipped_adapters()}
    return prefixes


def _text(template: str, values: Mapping[str, str]) -> str:
    source = resources.files(__package__).joinpath("templates", f"{template}.jinja").read_text("utf-8")
    made = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    return made.from_string(source).render(values)
