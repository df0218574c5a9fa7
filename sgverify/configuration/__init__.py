"""The validated configuration of a run.

`model` has the keys, `loading` reads files and `--set`, `keys` lists them with their meanings and defaults,
`overrides` types them as keywords.
"""

from sgverify.configuration.loading import known_keys, load_configuration, settings_of, toml_of, tree_of
from sgverify.configuration.model import (
    Configuration,
    ExchangeTable,
    GradientTable,
    ScheduleTable,
    SweepTable,
    TargetTable,
)

__all__ = [
    "Configuration",
    "ExchangeTable",
    "GradientTable",
    "ScheduleTable",
    "SweepTable",
    "TargetTable",
    "known_keys",
    "load_configuration",
    "settings_of",
    "toml_of",
    "tree_of",
]
