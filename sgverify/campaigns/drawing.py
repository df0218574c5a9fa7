"""Which scheme and settings does the sample of a campaign draw under a number? The same ones on every machine."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.campaigns.file import Campaign
from sgverify.configuration import TargetTable, load_configuration
from sgverify.configuration.loading import tree_of
from sgverify.errors import UserError
from sgverify.schemes import Scheme
from sgverify.schemes.loading import load_step
from sgverify.strategies import configurations, schedules, schemes

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


__all__ = ["drawn"]
