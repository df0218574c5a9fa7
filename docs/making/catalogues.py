"""The pages of the catalogues: what `sgverify list` lists, as tables."""

from __future__ import annotations

from docs.making.markdown import page, plain, table
from docs.making.words import KEYS, also
from sgverify.cli.listing import items_of

TABLES = {
    "": "At the top",
    "target": "The target",
    "gradient": "The gradient estimator",
    "schedule": "The step sizes",
    "sweep": "Step sizes and lengths that a rate is read from",
    "sampling": "Sampled rates",
    "annealing": "Changes along a run",
    "exchange": "Replica exchange",
    "partition": "Adaptive weights",
    "adapter": "Samplers of other libraries",
}
"""The headings of the tables of a configuration; a table that is not here is headed by its name."""

CONFIGURATION = """\
# Configuration keys

All {count} keys, as `sgverify list config` lists them. Every key has a default that works for every scheme of the catalogue.
A file is TOML or JSON, `--config FILE`; `--set KEY=VALUE` goes over it, and the last one wins. A key that does not exist is
refused with the nearest one that does, exit code 2.

```toml
temperature = 1.0
steps = 10000

[target]
name = "gaussian-mean"
size = 1000

[gradient]
kind = "iid"
batch = 10
```"""

CATALOGUE = """\
# Schemes, targets, gradients, schedules

What `sgverify list schemes`, `list targets`, `list gradients` and `list schedules` print. A scheme of your own needs no
entry here: `sgverify verify mine.py:name`."""

LIMITS = """\
# What a definition cannot say

What `sgverify list face` prints: what the function that states one step may not contain, and what to do instead. It is
refused when the definition is made, by file and line."""


def configuration_page() -> str:
    """Every configuration key, by table."""
    items = items_of("config")
    parts = [CONFIGURATION.format(count=len(items))]
    tables = dict.fromkeys(item["name"].rpartition(".")[0] for item in items)
    for name in tables:
        rows = []
        for item in items:
            home, _, _ = item["name"].rpartition(".")
            if home == name:
                said, _, default = item["summary"].rstrip(".").rpartition("; by default ")
                meaning, _, kind = said.rpartition(": ")
                rows.append(
                    [
                        f"`{item['name']}`",
                        plain(meaning) + also(KEYS, item["name"]),
                        plain(kind),
                        f"`{default}`",
                        plain(item["source"]),
                    ]
                )
        parts += [
            f"## {TABLES.get(name, name)}",
            table(["key", "what it is", "value", "default", "read by"], rows),
        ]
    return page(*parts)


def catalogue_page() -> str:
    """Schemes, targets, gradient estimators and schedules."""
    parts = [CATALOGUE]
    for kind in ("schemes", "targets", "gradients", "schedules"):
        parts += [f"## {kind.capitalize()}", _listed(kind)]
    return page(*parts)


def limits_page() -> str:
    """What no definition can say."""
    return page(LIMITS, _listed("face"))


def _listed(kind: str) -> str:
    rows = [[f"`{item['name']}`", plain(item["summary"]), plain(item["source"])] for item in items_of(kind)]
    return table(["name", "what it is", "source"], rows)
