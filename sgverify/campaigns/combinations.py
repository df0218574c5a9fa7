"""The combinations of a campaign, in their order: listed, or drawn under a number, and those that cannot be asked.

Under one number every machine draws the same scheme and settings.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.campaigns.file import Campaign
from sgverify.configuration import TargetTable, load_configuration
from sgverify.configuration.loading import settings_of, tree_of
from sgverify.errors import ConfigurationError, UserError
from sgverify.gradients import ESTIMATORS
from sgverify.schemes import Scheme
from sgverify.schemes.loading import load_step
from sgverify.strategies import configurations, schedules, schemes
from sgverify.targets.registry import DEFAULT_TARGET, TARGETS

Axes = Mapping[str, Sequence[dict[str, Any]]]

Drawn = tuple[str, dict[str, Any]]
"""The reference of a scheme, and settings as a tree."""


def drawn(campaign: Campaign, axes: Axes, number: int) -> Drawn:
    """The combination with this number, of the campaign's seed.

    Entries of lists are equally likely; what no list has is drawn by strategies: schemes and words of the catalogue, temperature,
    friction, start, target, gradient and test function. The step is left open, which is half the stability limit, unless
    schedules are listed or drawn.
    """
    made: list[Drawn] = []
    own_seed = int.from_bytes(hashlib.sha256(f"{campaign.seed}/{number}".encode()).digest())
    # Entries of lists are drawn without Hypothesis, which avoids values that it has seen.
    chance = random.Random(own_seed)
    reference = chance.choice(campaign.schemes) if campaign.schemes else None
    entries = {name: chance.choice(trees) for name, trees in axes.items()}

    # A seed for each: the examples of one run are mutants of one another. The first of a run is the simplest there is.
    @seed(own_seed)
    @settings(
        max_examples=2,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_cases(campaign, reference, entries))
    def draw(case: Drawn) -> None:
        made.append(case)

    draw()
    return made[-1]


@st.composite
def _cases(
    draw: Any, campaign: Campaign, reference: str | None, entries: Mapping[str, dict[str, Any]]
) -> Drawn:
    # A second example differs from the first in its first draw; of what follows nothing is excluded.
    draw(st.integers(0, 2**62))
    scheme: Scheme | None
    if reference is None:
        scheme = chosen = draw(_schemes(campaign))
        reference = chosen.reference or chosen.name
    else:
        scheme = _scheme(reference)
    options = campaign.draw.model_dump(
        exclude_none=True, exclude={"dynamics", "longest_word", "schedules", "kinds"}
    )
    kinds: Sequence[str] | None = campaign.draw.kinds
    target = None
    if "targets" in entries:
        target = st.just(TargetTable(**entries["targets"]["target"]))
    if "gradients" in entries:
        # Of the target that is drawn, data are asked where the gradient needs them; a listed one is as it is.
        kinds = ["full"] if target is not None else [entries["gradients"]["gradient"].get("kind", "full")]
    steps = schedules(kinds=campaign.draw.schedules) if campaign.draw.schedules else None
    configuration = draw(configurations(scheme=scheme, kinds=kinds, target=target, schedule=steps, **options))
    tree = tree_of(load_configuration(configuration, **campaign.located(campaign.settings)))
    for entry in entries.values():
        # A table of a list is meant as a whole.
        tree.update({key: value for key, value in entry.items() if isinstance(value, dict)})
        tree = tree_of(
            load_configuration(tree, **{k: v for k, v in entry.items() if not isinstance(v, dict)})
        )
    return reference, tree


def _schemes(campaign: Campaign) -> SearchStrategy[Scheme]:
    options: dict[str, Any] = {"dynamics": campaign.draw.dynamics, "most": campaign.draw.longest_word}
    return schemes(**{key: value for key, value in options.items() if value is not None})


@cache
def _scheme(reference: str) -> Scheme | None:
    """The scheme, whose state decides which test functions are drawn; None for torch code, composites and what cannot be loaded."""
    try:
        found = load_step(reference)
    except UserError:
        return None
    return found if isinstance(found, Scheme) else None


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
