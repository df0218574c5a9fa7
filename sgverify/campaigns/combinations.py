"""Which combinations does a campaign ask about, in which order, and which of them cannot be asked at all?"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sgverify.campaigns.drawing import drawn
from sgverify.campaigns.file import Campaign
from sgverify.configuration import load_configuration
from sgverify.configuration.loading import settings_of, tree_of
from sgverify.errors import ConfigurationError, UserError
from sgverify.gradients import ESTIMATORS
from sgverify.targets.registry import DEFAULT_TARGET, TARGETS

MOST = 1_000_000
"""The most combinations of one campaign, which are all held in memory."""


@dataclass(frozen=True)
class CampaignQuestion:
    """A scheme under the settings of one point of a campaign, and what is asked (`selected`; () for all that applies).

    `settings` are the keys that were given, as a tree. `misfit` says why they do not go together by what they declare, so that
    nothing is asked, and `refused` why they are no configuration; both are empty otherwise.
    """

    scheme: str
    settings: dict[str, Any]
    selected: tuple[str, ...] = ()
    misfit: str = ""
    refused: str = ""

    @cached_property
    def title(self) -> str:
        """The scheme and its settings in one line."""
        try:
            return " ".join((self.scheme, *settings_of(load_configuration(self.settings))))
        except UserError:
            return " ".join((self.scheme, json.dumps(self.settings)))

    @property
    def identity(self) -> str:
        """The same text for combinations that ask the same."""
        return json.dumps([self.scheme, self.settings, self.selected], sort_keys=True)


def combinations_of(campaign: Campaign) -> list[CampaignQuestion]:
    """The combinations of a campaign, each once, in an order that depends on the file alone.

    Raises `ConfigurationError` where there are more than `MOST`.
    """
    _refuse_too_many(campaign)
    found = {combination.identity: combination for combination in _all(campaign)}
    return list(found.values())


def _refuse_too_many(campaign: Campaign) -> None:
    count = campaign.sample or len(campaign.cases) + len(campaign.schemes) * math.prod(
        len(entries) for entries in campaign.axes.values()
    )
    if count > MOST:
        raise ConfigurationError(
            f"campaign of {count} combinations; expected at most {MOST}; draw some of them with sample = {MOST}, or cut it in "
            "several files"
        )


def _all(campaign: Campaign) -> Iterator[CampaignQuestion]:
    axes = campaign.axes
    if campaign.sample is not None:
        for number in range(campaign.sample):
            scheme, settings = drawn(campaign, axes, number)
            yield _combined(campaign, scheme, settings)
        return
    common = campaign.located(campaign.settings)
    for scheme in campaign.schemes:
        for entries in itertools.product(*axes.values()):
            yield _combined(campaign, scheme, common, *entries)
    for case in campaign.cases:
        made = _combined(campaign, case.scheme, common, campaign.located(case.settings))
        yield made if case.checks is None else replace(made, selected=tuple(case.checks))


def _combined(campaign: Campaign, scheme: str, *trees: Mapping[str, Any]) -> CampaignQuestion:
    """The combination of trees of settings, each over those before it."""
    merged: dict[str, Any] = {}
    try:
        for tree in trees:
            merged = tree_of(load_configuration(merged, **tree))
    except UserError as error:
        given = {key: value for tree in trees for key, value in tree.items()}
        return CampaignQuestion(scheme, given, campaign.selected, refused=str(error))
    return CampaignQuestion(scheme, merged, campaign.selected, misfit_of(merged))


def misfit_of(settings: Mapping[str, Any]) -> str:
    """Why a gradient estimator cannot be had for a target, by what both declare; empty where it can."""
    gradient = ESTIMATORS[settings.get("gradient", {}).get("kind", "full")]
    target = settings.get("target", {}).get("name", DEFAULT_TARGET)
    # Targets of users declare nothing until their code runs.
    if gradient.draws_data and target in TARGETS and not TARGETS[target].has_data:
        return f"gradient.kind={gradient.name} draws data, and target.name={target} has none"
    return ""


__all__ = ["MOST", "CampaignQuestion", "combinations_of", "misfit_of"]
