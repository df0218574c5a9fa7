"""A campaign file says which schemes are judged, under which targets, gradients, schedules and further settings.

```toml
title = "Splittings under minibatches"
schemes = ["sghmc-aboba", "sghmc-baoab", "mine.py:heun"]
targets = ["gaussian", { name = "gaussian-mean", size = 20 }]
gradients = ["full", { kind = "iid", batch = 5 }]
schedules = ["fixed"]
claims = ["chen2015/theorem-4"]             # `checks` too; all that apply where both are left out
[grid]                                      # further keys of a configuration, each with a list of values
temperature = [0.5, 2.0]
[settings]                                  # keys of every configuration
friction = 2.5
```

All combinations are asked, or with `sample = 500` so many that are drawn: from the lists, and what no list has by
`sgverify.strategies`, under the options of `[draw]`. `[[cases]]` are combinations that are written out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sgverify.checks.registry import CHECKS
from sgverify.claims import claims
from sgverify.configuration import load_configuration
from sgverify.configuration.loading import read_tables
from sgverify.errors import ConfigurationError, UnknownNameError, UserError
from sgverify.named_code import named_in, refuse_unasked
from sgverify.schemes.loading import load_step
from sgverify.values import Count, Positive, Whole

LISTS = {"targets": ("target", "name"), "gradients": ("gradient", "kind"), "schedules": ("schedule", "kind")}
"""The lists of tables: the table of a configuration that an entry is, and the key that a bare text stands for."""


class _CampaignTable(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DrawTable(_CampaignTable):
    """Options of `sgverify.strategies`: of `configurations`, `schemes` (dynamics, longest_word) and `schedules`."""

    dims: Annotated[list[Count], Field(min_length=1)] | None = None
    sizes: Annotated[list[Count], Field(min_length=1)] | None = None
    names: Annotated[list[str], Field(min_length=1)] | None = None
    kinds: Annotated[list[str], Field(min_length=1)] | None = None
    condition: Positive | None = None
    averaging: bool = False
    dtypes: Annotated[list[str], Field(min_length=1)] | None = None
    dynamics: Annotated[list[str], Field(min_length=1)] | None = None
    schedules: Annotated[list[str], Field(min_length=1)] | None = None
    longest_word: Annotated[Whole, Field(ge=0)] | None = None


class CampaignCase(_CampaignTable):
    """One combination that is written out: a scheme, its settings, and what is asked where that is not what all are asked."""

    scheme: str
    settings: dict[str, Any] = {}
    checks: list[str] | None = None


class Campaign(_CampaignTable):
    """The contents of a campaign file; `folder` is the folder that it is in."""

    title: str = ""
    schemes: list[str] = []
    targets: list[str | dict[str, Any]] = []
    gradients: list[str | dict[str, Any]] = []
    schedules: list[str | dict[str, Any]] = []
    claims: list[str] = []
    checks: list[str] = []
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}
    settings: dict[str, Any] = {}
    cases: list[CampaignCase] = []
    sample: Count | None = None
    seed: Annotated[Whole, Field(ge=0)] = 0
    draw: DrawTable = DrawTable()
    folder: Path = Field(default=Path(), exclude=True)

    @property
    def selected(self) -> tuple[str, ...]:
        """The ids of checks and claims that are asked; () for all that apply."""
        return tuple(dict.fromkeys([*self.claims, *self.checks]))

    @property
    def axes(self) -> dict[str, list[dict[str, Any]]]:
        """Every list of the file by its name, each entry as a tree of configuration keys."""
        found: dict[str, list[dict[str, Any]]] = {}
        for name, (table, key) in LISTS.items():
            entries = getattr(self, name)
            if entries:
                found[name] = [
                    {table: {key: entry} if isinstance(entry, str) else entry} for entry in entries
                ]
        for key, values in self.grid.items():
            found[f"grid.{key}"] = [_tree(key, value) for value in values]
        return {name: [self.located(tree) for tree in trees] for name, trees in found.items()}

    def located(self, tree: Mapping[str, Any]) -> dict[str, Any]:
        """The tree with `target.file` as seen from the folder of the file."""
        target = tree.get("target")
        if isinstance(target, Mapping) and isinstance(target.get("file"), str):
            return {
                **tree,
                "target": {**target, "file": str(self.folder / Path(target["file"]).expanduser())},
            }
        return dict(tree)


TABLES: Mapping[str, type[BaseModel]] = {"draw": DrawTable, "cases": CampaignCase}
"""The tables of a campaign file whose keys are given."""


def read_campaign(path: str | Path) -> Campaign:
    """The campaign of a TOML file.

    Raises `ConfigurationError`, before anything is computed, for unknown keys (with the nearest one), wrong values, unknown
    schemes, checks and claims. Whether values go together is seen when they are combined.
    """
    path = Path(path)
    given = read_tables(path, "campaign")
    where = f"campaign={str(path)!r}"
    _refuse_unknown(where, given, Campaign, "")
    try:
        campaign = Campaign.model_validate({**given, "folder": path.parent})
    except ValidationError as error:
        raise _wrong(where, error) from None
    if not (campaign.schemes or campaign.cases or campaign.sample):
        raise ConfigurationError(
            f'{where}: names no scheme; expected schemes = ["sghmc-aboba", ...], [[cases]], or sample = 500'
        )
    if campaign.draw.model_fields_set and campaign.sample is None:
        raise ConfigurationError(
            f"{where}: [draw] without sample; expected sample = 500, of which [draw] has the options"
        )
    if campaign.cases and campaign.sample is not None:
        raise ConfigurationError(f"{where}: [[cases]] beside sample; expected one of them; leave one out")
    _refuse_wrong_entries(where, campaign)
    _refuse_unasked_code(where, campaign)
    return campaign


def _refuse_unasked_code(where: str, campaign: Campaign) -> None:
    """Raise for code that the file names, unless it was asked for (`sgverify.named_code`)."""
    trees = [
        campaign.settings,
        *(case.settings for case in campaign.cases),
        *(tree for entries in campaign.axes.values() for tree in entries),
    ]
    for reference in dict.fromkeys([*campaign.schemes, *(case.scheme for case in campaign.cases)]):
        refuse_unasked(where, {"scheme": reference})
    for tree in trees:
        refuse_unasked(where, named_in(load_configuration(tree).as_dict()))


def _refuse_wrong_entries(where: str, campaign: Campaign) -> None:
    """Raise for an entry that is wrong by itself, whatever it is combined with."""
    known = [*claims(), *CHECKS]
    names = [*campaign.selected, *(name for case in campaign.cases for name in case.checks or ())]
    for name in names:
        if name not in known:
            raise UnknownNameError(f"check or claim of {where}", name, known)
    try:
        for reference in dict.fromkeys([*campaign.schemes, *(case.scheme for case in campaign.cases)]):
            if ":" not in reference:
                # Code of users is loaded when its first question is asked: what is wrong with it ends its questions alone.
                load_step(reference)
        load_configuration(campaign.located(campaign.settings))
        for trees in campaign.axes.values():
            for tree in trees:
                load_configuration(tree)
        for case in campaign.cases:
            load_configuration(campaign.located(case.settings))
    except UserError as error:
        raise ConfigurationError(f"{where}: {error}") from None


def _refuse_unknown(where: str, given: Mapping[str, Any], table: type[BaseModel], prefix: str) -> None:
    for key, value in given.items():
        if key not in table.model_fields or key == "folder":
            known = [f"{prefix}{name}" for name in table.model_fields if name != "folder"]
            raise UnknownNameError(f"key of {where}", f"{prefix}{key}", known)
        inner = TABLES.get(key)
        for entry in value if isinstance(value, Sequence) and not isinstance(value, str) else [value]:
            if inner is not None and isinstance(entry, Mapping):
                _refuse_unknown(where, entry, inner, f"{prefix}{key}.")


def _wrong(where: str, error: ValidationError) -> ConfigurationError:
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    said = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return ConfigurationError(f"{where}: {key}={str(first['input'])[:100]!r}: expected {said}; mend the file")


def _tree(key: str, value: Any) -> dict[str, Any]:
    """{"target": {"dim": 2}} of the key target.dim."""
    *tables, last = key.split(".")
    tree: dict[str, Any] = {last: value}
    for name in reversed(tables):
        tree = {name: tree}
    return tree
